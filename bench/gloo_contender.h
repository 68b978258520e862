// Gloo's all-reduce over TCP on the loopback interface, as a contender.
#pragma once

#include <memory>
#include <string>

#include "contender.h"

namespace motley::bench {

// Call it once in each of `size` processes; returns when all are connected. `rendezvous_dir` is an
// empty directory that they share, used by this contender only.
std::unique_ptr<Contender> make_gloo_contender(int rank, int size, std::string rendezvous_dir);

}  // namespace motley::bench
