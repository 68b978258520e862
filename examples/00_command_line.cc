// A program that is its own `motley`: every subcommand, and worker processes that are this program
// too. One with a model or a method of its own registers it before the call.
//
//   $ build-examples/00_command_line strategies
#include <motley/command_line.h>

int main(int argc, char** argv) { return motley::command_line(argc, argv); }
