#include "job/document.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "job/keys.h"

namespace motley {
namespace {

// The most dots in one key. toml++ limits the nesting of values but not of keys, and it destroys
// its tree recursively: a key of 100,000 parts would overflow the stack.
constexpr int kMaxKeyDots = 16;

// The position after the string that begins at text[begin], with any kind of TOML quotes.
std::size_t skip_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string_view rest = text.substr(begin);
  const bool multi_line = rest.size() >= 3 && rest[1] == quote && rest[2] == quote;
  const std::size_t marks = multi_line ? 3 : 1;
  std::size_t i = begin + marks;
  while (i < text.size()) {
    if (text[i] == '\\' && quote == '"') {
      i += 2;
    } else if (text[i] == '\n' && !multi_line) {
      return i;
    } else if (text.substr(i, marks) == rest.substr(0, marks)) {
      return i + marks;
    } else {
      ++i;
    }
  }
  return text.size();
}

// The line of the first key with more than kMaxKeyDots dots, not counting strings and comments.
std::optional<int> line_of_deep_key(std::string_view text) {
  int line = 1;
  int dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = skip_string(text, i);
      line += static_cast<int>(std::ranges::count(text.substr(i, end - i), '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '.' && ++dots > kMaxKeyDots) {
      return line;
    }
    if (c == '\n' || c == ',' || c == '=' || c == '[' || c == '{') {
      dots = 0;
    }
    line += c == '\n' ? 1 : 0;
    ++i;
  }
  return std::nullopt;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Escapes control characters, so that the message is always one line.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (is_control(c)) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

Error make_error(const Source& source, unsigned line, std::string_view message) {
  // Longer messages, which quote very long names, are cut off here.
  constexpr std::size_t kMaxLength = 1000;
  std::string text = source.has_lines ? fmt::format("{}:{}: {}", source.name, line, message)
                                      : fmt::format("{}: {}", source.name, message);
  text = one_line(text);
  if (text.size() > kMaxLength) {
    std::size_t end = kMaxLength;
    while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
      --end;  // not in the middle of a UTF-8 character
    }
    text = text.substr(0, end) + "...";
  }
  return Error{std::move(text)};
}

// Fills source.root. Only here can toml++ throw.
Status read_toml(std::string_view text, Source& source) {
  if (text.size() > Document::kMaxBytes) {
    return tl::unexpected(make_error(source, 1, "larger than 1 MiB"));
  }
  if (const auto line = line_of_deep_key(text)) {
    return tl::unexpected(make_error(source, static_cast<unsigned>(*line),
                                     "not valid TOML for a job: a key has too many parts"));
  }
  try {
    source.root = toml::parse(text);
    return {};
  } catch (const toml::parse_error& error) {
    std::string reason(error.description());
    reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
    return tl::unexpected(
        make_error(source, error.source().begin.line, "not valid TOML: " + reason));
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// The value after `=`. If it is not TOML it is taken as a string, so that no second pair of quotes
// is needed in a shell.
Status read_override_value(std::string_view text, Source& set) {
  if (read_toml(fmt::format("value = {}", text), set) && set.root.size() == 1) {
    return {};
  }
  return read_toml(fmt::format("value = {}", quote(text)), set);
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// A quoted key keeps its quotes, so that "train.batch" differs from train.batch.
std::string join(const std::string& prefix, std::string_view key) {
  const std::string part = is_bare_key(key) ? std::string(key) : fmt::format("'{}'", key);
  return prefix.empty() ? part : prefix + "." + part;
}

}  // namespace

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (is_control(c)) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

Result<Document> Document::parse(const JobSchema& schema, std::string_view text,
                                 const std::string& file_name,
                                 std::span<const std::string> overrides, std::string_view flag) {
  Result<Document> document = read(schema, {.name = file_name, .has_lines = true}, text);
  if (!document) {
    return document;
  }
  for (const std::string& assignment : overrides) {
    if (auto status = document->apply(assignment, flag); !status) {
      return tl::unexpected(status.error());
    }
  }
  return document;
}

Result<Document> Document::of_program(const JobSchema& schema, std::string_view text) {
  return read(schema, {.name = "the program's options"}, text);
}

Result<Document> Document::read(const JobSchema& schema, Source source, std::string_view text) {
  const auto kept = std::make_shared<Source>(std::move(source));
  if (auto status = read_toml(text, *kept); !status) {
    return tl::unexpected(status.error());
  }
  Document document(schema);
  document.set_table(kept->root, "", *kept);
  document.sources_.push_back(kept);
  return document;
}

Document Document::over(const Document& below) const {
  Document both = below;
  both.sources_.insert(both.sources_.end(), sources_.begin(), sources_.end());
  for (const auto& [path, entry] : entries_) {
    both.entries_.insert_or_assign(path, entry);
  }
  return both;
}

Status Document::apply(std::string_view assignment, std::string_view flag) {
  auto set = std::make_shared<Source>();
  set->name = fmt::format("{} {}", flag, assignment);
  set->overrides = true;
  const auto equals = assignment.find('=');
  const std::string path(trim(assignment.substr(0, equals)));
  if (equals == assignment.npos || path.empty()) {
    return tl::unexpected(make_error(*set, 0, "should be key=value"));
  }
  if (auto status = read_override_value(trim(assignment.substr(equals + 1)), *set); !status) {
    return status;
  }
  set_value(path, *set->root.get("value"), *set);
  sources_.push_back(std::move(set));
  return {};
}

std::vector<const Entry*> Document::entries() const {
  std::vector<const Entry*> ordered;
  for (const auto& [path, entry] : entries_) {
    ordered.push_back(&entry);
  }
  std::ranges::stable_sort(ordered, {}, [](const Entry* entry) {
    return std::pair(entry->source->overrides, entry->value->source().begin.line);
  });
  return ordered;
}

const Entry* Document::find(std::string_view path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<Entry> Document::extract(std::string_view path) {
  const auto found = entries_.find(path);
  if (found == entries_.end()) {
    return std::nullopt;
  }
  Entry entry = std::move(found->second);
  entries_.erase(found);
  return entry;
}

Document Document::with(const toml::table& changes, const Source& source) const {
  Document changed = *this;
  changed.set_table(changes, "", source);
  for (const auto& [path, entry] : entries_) {
    if (entry.source->overrides) {
      changed.entries_.insert_or_assign(path, entry);
    }
  }
  return changed;
}

Error Document::error(const Entry& entry, const toml::node& value, std::string_view message) {
  return make_error(*entry.source, value.source().begin.line, message);
}

Error Document::error_at(std::span<const std::string_view> paths, std::string_view message) const {
  for (std::string_view path : paths) {
    if (const Entry* entry = find(path)) {
      return error(*entry, *entry->value, message);
    }
  }
  return make_error(*sources_.front(), 1, message);
}

void Document::set_value(const std::string& path, const toml::node& value, const Source& source) {
  if (value.is_table() && schema_->is_section(path)) {
    set_table(*value.as_table(), path, source);
  } else {
    entries_.insert_or_assign(path, Entry{path, &value, &source});
  }
}

void Document::set_table(const toml::table& table, const std::string& prefix,
                         const Source& source) {
  for (auto&& [key, value] : table) {
    set_value(join(prefix, key.str()), value, source);
  }
}

}  // namespace motley
