#include "motley/state/kept_state.h"

#include "state/state.h"

namespace motley {

KeptState::KeptState() : state_(std::make_unique<State>()) {}
KeptState::KeptState(State state) : state_(std::make_unique<State>(std::move(state))) {}
KeptState::~KeptState() = default;

void KeptState::clear() { *state_ = {}; }
bool KeptState::empty() const { return state_->empty(); }

}  // namespace motley
