#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "job/suggest.h"

namespace motley {
namespace {

bool is_option(const std::string& word) { return word.starts_with("-"); }

std::string unknown(std::string_view kind, std::string_view word,
                    const std::vector<std::string>& names) {
  const std::vector<std::string_view> all(names.begin(), names.end());
  return fmt::format("unknown {} \"{}\"{}", kind, word, did_you_mean(nearest(word, all)));
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

// No word of the command line is a command.
std::string without_command(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> names = command_names(app);
  if (words.empty()) {
    return fmt::format("expected a command: {}", fmt::join(names, ", "));
  }
  return is_option(words.front()) ? unknown("option", words.front(), option_names(app))
                                  : unknown("command", words.front(), names);
}

// `extra`: the words that CLI11 could not place. An unknown option makes the words behind it extra,
// too, so it is named first.
std::string unplaced(const CLI::App& command, const std::vector<std::string>& extra) {
  const auto option = std::ranges::find_if(extra, is_option);
  if (option == extra.end()) {
    return fmt::format("unexpected argument \"{}\"", extra.front());
  }
  const std::vector<std::string> names = option_names(command);
  return std::ranges::find(names, *option) != names.end()
             ? fmt::format("put {} after {}", *option, command.get_name())
             : unknown("option", *option, names);
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& words) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) {
    return without_command(app, words) + " (see motley --help)";
  }
  const CLI::App& command = *chosen.front();
  const std::vector<std::string> extra = app.remaining(true);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) && !extra.empty();
  const std::string& name = command.get_name();
  return fmt::format("{}: {} (see motley {} --help)", name,
                     is_extra ? unplaced(command, extra) : error.what(), name);
}

}  // namespace motley
