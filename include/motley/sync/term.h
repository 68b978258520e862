// Term: a part of a run during which neither the members nor the method change. It ends with the
// run, when a checkpoint is due, when a member comes or leaves, or when one is lost: then it is cut
// off wherever it is. The objects of a method live for one term: they are made when it begins, from
// what was kept of the term before (Strategy::state(), ServiceContext::kept), and are gone when it
// ends.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "motley/allocate/ledger.h"

namespace motley {

struct Term {
  std::int64_t number = 0;  // counts the terms of the run from 0
  std::int64_t begin = 0;   // samples used before it
  // It ends with the first step that reaches this many samples, or with the run.
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  // Samples before the newest ones dealt that nobody has used, because the term in which they were
  // dealt was cut off. They come first.
  std::vector<SampleRange> owed = {};
};

// The seed of a term's random generators. They begin anew in every term, so their state need not
// survive. In the first term it is the run's own.
std::uint64_t seed_of(std::uint64_t run_seed, const Term& term);

}  // namespace motley
