// What is wrong with a command line, in one line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace motley {

// Names the wrong word and the nearest valid one, and says which --help to read:
//
//   unknown command "simulat"; did you mean "simulate"? (see motley --help)
//   train: unknown option "--ou"; did you mean "--out"? (see motley train --help)
//
// `words` are the arguments of the program, without its name.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& words);

}  // namespace motley
