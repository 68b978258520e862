// The `motley` command as a function. A program that has registered a method of its own can offer
// every motley subcommand itself:
//
//   int main(int argc, char** argv) {
//     motley::register_method(...);
//     return motley::command_line(argc, argv);
//   }
//
// Worker processes are started from the same executable, with the subcommand `worker`. What main()
// registers before this call is therefore registered in every worker too.
#pragma once

#include "motley/base/cxx20.h"

namespace motley {

// Returns the exit code: 0 success, 1 the run failed, 2 bad usage or input, 130 or 143 stopped by
// SIGINT or SIGTERM after saving.
int command_line(int argc, char** argv);

}  // namespace motley
