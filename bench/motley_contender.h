// motley's own all-reduce (motley/sync/collective.h over the real Node and fabric/) as a contender.
#pragma once

#include <memory>
#include <string>

#include "contender.h"

namespace motley::bench {

// Call it once in each of `size` processes; returns when all are connected. `rendezvous_dir` is an
// empty directory that they share, used by this contender only.
std::unique_ptr<Contender> make_motley_contender(int rank, int size, std::string rendezvous_dir);

}  // namespace motley::bench
