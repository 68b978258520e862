// The `motley` command as a function. A program of your own that has registered a method can be
// its own motley, with every subcommand and all that they write:
//
//   int main(int argc, char** argv) {
//     motley::register_method(...);
//     return motley::command_line(argc, argv);
//   }
//
// Worker processes are the same program, started again with the subcommand `worker`: what is
// registered before this call is there in every one of them.
#pragma once

namespace motley {

// The exit code: 0 done, 1 the run failed, 2 bad usage or input, 130 / 143 stopped by SIGINT /
// SIGTERM after saving.
int command_line(int argc, char** argv);

}  // namespace motley
