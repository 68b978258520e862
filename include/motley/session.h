// Session: this process's place among the processes that train together.
//
//   int main(int argc, char** argv) {
//     motley::Session session(argc, argv);
//     ... session.rank() of session.size() ...
//     return session.exit_code();
//   }
//
// The same program runs alone, under `motley launch`, torchrun, mpirun and srun: rank and size are
// read from the environment variables of the launcher (docs/launch.md). Without a launcher, the
// process trains alone.
//
// Its flags begin with --motley- and are taken out of argc and argv, so that the program's own
// parsing does not see them:
//   --motley-job FILE           a job file, whose keys override the program's Options
//   --motley-set KEY=VALUE      overrides one key; may be given several times
//   --motley-out DIR            rank 0 writes the report and records of the run there
//   --motley-resume DIR         goes on from the newest checkpoint of the run in DIR, or from the
//                               checkpoint DIR
//   --motley-no-trace           without trace.json, which may be large
//   --motley-progress           rank 0 shows progress on stderr
//   --motley-join-timeout SECONDS   how long to wait for the other ranks (default 60)
//
// Failure: after an uncaught exception (motley::Refused, motley::RunFailed, or any of the program's
// own), the other ranks are told, one line says why, and the process exits with code 2 for Refused,
// otherwise 1. SIGINT to any rank, or SIGTERM to rank 0, ends the run in order, some steps later.
// SIGTERM to another rank makes that rank leave the run in order, and the others go on; if the run
// is not elastic (cluster.elastic), it ends too. A second signal ends the process at once.
#pragma once

#include "motley/base/cxx20.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "motley/base/failure.h"

namespace motley {

class Session {
 public:
  // Throws Refused if flags or environment are invalid. A process can have one session at a time; a
  // second throws std::logic_error.
  Session(int& argc, char** argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const;        // 0 .. size()-1
  int size() const;        // number of processes that train together
  int local_rank() const;  // rank among the processes on this machine
  bool is_main() const { return rank() == 0; }
  // The part of `count` things, such as the samples of a test set, that falls to this rank: those
  // from first to before second. The parts of all ranks are all of them, each once.
  std::pair<std::int64_t, std::int64_t> part_of(std::int64_t count) const {
    return {count * rank() / size(), count * (rank() + 1) / size()};
  }
  bool shares_machine() const;  // true if other processes of this run are known to be here

  // Adds up numbers over all ranks: afterwards `numbers` holds the sums, the same on every rank.
  // Every rank has to call it, with as many numbers and at the same place in the order of its runs;
  // for example after a run, when each rank has tested a part of the data. Whole numbers are exact
  // up to 2^36, others as a 32-bit float. It is a rendezvous of all ranks, so it takes as long as
  // beginning a run; Trainer::count() is for numbers during one. Throws RunFailed if a rank is
  // missing or sums something else, std::logic_error while a run goes on. motley/trainer.h has a
  // sum() for tensors.
  void sum(std::span<double> numbers);

  // What main() should return: 0 if this rank has left a run that goes on; 130 or 143 if this
  // process received SIGINT or SIGTERM, or if such a signal to any rank ended the run; otherwise 0.
  int exit_code() const;

  class Impl;
  Impl& impl() { return *impl_; }  // for the library itself

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
