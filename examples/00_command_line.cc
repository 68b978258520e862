// A program that is its own `motley`: it has every subcommand, and its worker processes run this
// program too. Register your own models or methods before the call.
//
//   $ build-examples/00_command_line strategies
#include <motley/command_line.h>

int main(int argc, char** argv) { return motley::command_line(argc, argv); }
