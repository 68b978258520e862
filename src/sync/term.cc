#include "motley/sync/term.h"

#include "base/random.h"

namespace motley {
namespace {

constexpr std::uint64_t kTermStream = 0x7e4d0000;

}  // namespace

std::uint64_t seed_of(std::uint64_t run_seed, const Term& term) {
  return term.number == 0
             ? run_seed
             : Random(run_seed, kTermStream + static_cast<std::uint64_t>(term.number)).next();
}

}  // namespace motley
