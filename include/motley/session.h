// Session: this process's place among the processes that train together.
//
//   int main(int argc, char** argv) {
//     motley::Session session(argc, argv);
//     ... session.rank() of session.size() ...
//     return session.exit_code();
//   }
//
// The same program runs alone, under `motley launch`, torchrun, mpirun and srun: rank and size are
// read from what the launcher sets in the environment (docs/launch.md). Without a launcher it is a
// world of one.
//
// Its flags begin with --motley- and are taken out of argc and argv, so that the program's own
// parsing does not see them:
//   --motley-job FILE           a job file: changes what the program's Options say
//   --motley-set KEY=VALUE      one key of it; may be given several times
//   --motley-out DIR            rank 0 keeps what there is to see of the run there
//   --motley-progress           rank 0 shows the run on stderr while it goes
//   --motley-join-timeout SECONDS   how long to wait for the others (default 60)
//
// Failure. An exception that nobody catches (motley::Refused, motley::RunFailed, or any of the
// program's own) ends the process in order: the other ranks are told, one line says why, and the
// exit code is 2 for Refused, else 1. SIGINT and SIGTERM, to any rank, end the run in order, some
// steps later; a second one ends the process at once.
#pragma once

#include <memory>

#include "motley/base/failure.h"

namespace motley {

class Session {
 public:
  // Throws Refused when flags or environment make no sense. One per process at a time, otherwise
  // std::logic_error.
  Session(int& argc, char** argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const;        // 0 .. size()-1
  int size() const;        // how many processes train together
  int local_rank() const;  // among those on this machine
  bool is_main() const { return rank() == 0; }
  bool shares_machine() const;  // with other processes of this run, as far as is known

  // What main() should return: 0, or 130 / 143 when SIGINT / SIGTERM came or, to whichever rank it
  // came, ended the run.
  int exit_code() const;

  class Impl;
  Impl& impl() { return *impl_; }  // for the library itself

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
