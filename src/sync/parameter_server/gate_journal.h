// GateJournal: writes the decisions of a server's gate into the journal, but not too often.
//
// A worker's commits may alternate between waiting and not waiting for the whole run. The first
// eight changes of each worker are written, then the 16th, the 32nd, the 64th and so on.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "motley/record/journal.h"
#include "motley/sync/parameter_server/commit_gate.h"

namespace motley {

class GateJournal {
 public:
  GateJournal(Journal& journal, int workers)
      : journal_(journal), changes_(static_cast<std::size_t>(workers), 0) {}

  void write(const GateDecision& decision, Seconds now) {
    if (decision.reason.empty()) {
      return;
    }
    const std::uint64_t count = ++changes_[static_cast<std::size_t>(decision.worker)];
    if (count > kAll && !std::has_single_bit(count)) {
      return;
    }
    journal_.add({now, decision.applied ? "released" : "held",
                  fmt::format("worker {}'s commits {}{}", decision.worker,
                              decision.applied ? "are applied at once" : "wait",
                              count > kAll ? fmt::format(" (change {})", count) : ""),
                  decision.reason});
  }

 private:
  static constexpr std::uint64_t kAll = 8;

  Journal& journal_;
  std::vector<std::uint64_t> changes_;  // by worker
};

}  // namespace motley
