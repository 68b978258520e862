// World: which of a run's processes this one is, and where they come together, as whoever started
// them says it in the environment.
//
//   auto world = world_from(std::getenv);      // Result<World>: a half-set environment is an error
//   world->rank, world->size, world->master
//
// Read in this order; the first that is there decides:
//   RANK, WORLD_SIZE               torchrun's; `motley launch` and people set the same
//   OMPI_COMM_WORLD_RANK, _SIZE    mpirun of Open MPI
//   SLURM_PROCID, SLURM_STEP_ID    srun; a batch script alone is no step, and so one process
//   nothing                        a process alone
//
// Pure: it touches no socket and resolves no name.
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
  int local_size = 1;  // processes on this machine, as far as is known
  Endpoint master;     // where rank 0's rendezvous is; port 0: this process alone, any port
  // For messages: "none", "environment" (set by hand), "motley launch", "torchrun", "mpirun",
  // "srun".
  std::string launcher = "none";
  std::string token;  // shared by the run's processes; "" when nothing is known
};

// A process that `motley launch` started says there why it failed (runtime/launch/launcher.h).
inline constexpr const char* kErrorFileVariable = "MOTLEY_ERROR_FILE";

using Environment = std::function<const char*(const char* name)>;  // as std::getenv
Result<World> world_from(const Environment& get);

// The first host of a list as Slurm writes it: "node[03-07,9],other" -> "node03",
// "rack[1-2]n[1-4]" -> "rack1n1". The error says what is wrong with the list.
Result<std::string> first_host(std::string_view list);

// A port below those that Linux gives out by itself (32768 and up), from the name of a job: the
// same in all processes of the job, and seldom that of another one.
std::uint16_t port_of_job(std::string_view name);

}  // namespace motley
