#include "motley/command_line.h"

int main(int argc, char** argv) { return motley::command_line(argc, argv); }
