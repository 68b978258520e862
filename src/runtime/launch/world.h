// World: which process of a run this is and where the processes meet, according to the environment
// that the launcher has set.
//
//   auto world = world_from(std::getenv);      // Result<World>: an incomplete environment is an
//   error world->rank, world->size, world->master
//
// Variables are read in this order; the first group that is present decides:
//   RANK, WORLD_SIZE               of torchrun; `motley launch` and users set the same
//   OMPI_COMM_WORLD_RANK, _SIZE    of Open MPI's mpirun
//   SLURM_PROCID, SLURM_STEP_ID    of srun; a batch script by itself counts as a single process
//   none of them                   a single process
//
// Pure: it opens no socket and resolves no name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fabric/fabric.h"
#include "motley/base/ids.h"

namespace motley {

struct World {
  Rank rank = 0;
  int size = 1;
  int local_rank = 0;  // on this machine
  int local_size = 1;  // processes on this machine, as far as known
  Endpoint master;     // rank 0's rendezvous; port 0: a single process, any port
  // For messages: "none", "environment" (set by hand), "motley launch", "torchrun", "mpirun",
  // "srun".
  std::string launcher = "none";
  std::string token;  // shared by the run's processes; "" if unknown
};

// The file in which a process started by `motley launch` says why it failed
// (runtime/launch/launcher.h).
inline constexpr const char* kErrorFileVariable = "MOTLEY_ERROR_FILE";
// The file in which it says what its loss would mean (runtime/launch/lost_ranks.h).
inline constexpr const char* kElasticFileVariable = "MOTLEY_ELASTIC_FILE";

using Environment = std::function<const char*(const char* name)>;  // like std::getenv
Result<World> world_from(const Environment& get);

// The first host of a list in Slurm's notation: "node[03-07,9],other" -> "node03",
// "rack[1-2]n[1-4]" -> "rack1n1". The error says what is wrong with the list.
Result<std::string> first_host(std::string_view list);

// A port derived from the name of a job: the same in all processes of the job, rarely that of
// another job, and below the range that Linux gives out by itself (32768 and up).
std::uint16_t port_of_job(std::string_view name);

}  // namespace motley
