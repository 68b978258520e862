// motley's own all-reduce (motley/sync/collective.h over the real Node and fabric/) as a contender.
#pragma once

#include <memory>
#include <string>

#include "contender.h"

namespace motley::bench {

// Called once in each of `size` processes; returns when all of them are connected.
// `rendezvous_dir` is an empty directory that they share and this contender has to itself.
std::unique_ptr<Contender> make_motley_contender(int rank, int size, std::string rendezvous_dir);

}  // namespace motley::bench
