#include "job/edit.h"

#include <toml++/toml.h>

#include <optional>
#include <sstream>

namespace motley {
namespace {

// The byte offset of a position of toml++, which counts lines and code points from 1.
std::size_t offset_of(std::string_view text, const toml::source_position& place) {
  std::size_t at = 0;
  for (toml::source_index line = 1; line < place.line && at < text.size(); ++line) {
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  const auto continues = [&](std::size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  for (toml::source_index column = 1; column < place.column && at < text.size(); ++column) {
    ++at;
    while (continues(at)) {
      ++at;
    }
  }
  return at;
}

// The offset of the line after the one that contains this position.
std::size_t next_line(std::string_view text, const toml::source_position& place) {
  const std::size_t end = text.find('\n', offset_of(text, place));
  return end == text.npos ? text.size() : end + 1;
}

bool is_header(std::string_view text, const toml::table& table, std::string_view section) {
  const auto at = offset_of(text, table.source().begin);
  return text.substr(at).starts_with(fmt::format("[{}]", section));
}

// The text with one setting applied; nullopt if the section cannot be edited.
std::optional<std::string> with_setting(std::string text, std::string_view section,
                                        const Setting& setting) {
  const toml::table root = toml::parse(text);
  const toml::table* table = root[section].as_table();
  if (const toml::node* value = table ? table->get(setting.key) : nullptr) {
    const std::size_t begin = offset_of(text, value->source().begin);
    const std::size_t end = offset_of(text, value->source().end);
    return text.replace(begin, end - begin, setting.value);
  }
  const std::string line = fmt::format("{} = {}\n", setting.key, setting.value);
  const bool ends = text.empty() || text.ends_with('\n');
  if (!table) {
    return text + (ends ? "" : "\n") + fmt::format("\n[{}]\n{}", section, line);
  }
  if (!is_header(text, *table, section)) {
    return std::nullopt;
  }
  const std::size_t at = next_line(text, table->source().begin);
  return text.insert(at, (at == text.size() && !ends ? "\n" : "") + line);
}

toml::table merged(const toml::table& root, std::string_view section,
                   const std::vector<Setting>& settings) {
  toml::table copy = root;
  copy.insert(section, toml::table{});
  for (const Setting& setting : settings) {
    const toml::table value = toml::parse("value = " + setting.value);
    copy[section].as_table()->insert_or_assign(setting.key, *value.get("value"));
  }
  return copy;
}

}  // namespace

Result<std::string> with_settings(std::string_view text, const std::string& file_name,
                                  std::string_view section, const std::vector<Setting>& settings) {
  std::string by_hand;
  for (const Setting& setting : settings) {
    by_hand += fmt::format("{}{} = {}", by_hand.empty() ? "" : ", ", setting.key, setting.value);
  }
  const auto give_up = [&] {
    return fail("{}: [{}] cannot be edited automatically; set by hand: {}", file_name, section,
                by_hand);
  };
  try {
    std::string edited(text);
    for (const Setting& setting : settings) {
      auto next = with_setting(edited, section, setting);
      if (!next) {
        return give_up();
      }
      edited = std::move(*next);
    }
    // Checks the result, because a mistake here would damage the user's file.
    if (toml::parse(edited) != merged(toml::parse(text), section, settings)) {
      return give_up();
    }
    return edited;
  } catch (const toml::parse_error&) {
    return give_up();
  }
}

}  // namespace motley
