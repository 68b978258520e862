// Document: a job file and its overrides as a flat list of values, each with the dotted path of its
// key and its position in the file. It knows TOML and the names of sections, not the meaning of
// keys.
#pragma once

#include <toml++/toml.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/schema.h"

namespace motley {

// A parsed TOML text: a job file, or one `--set key=value`.
struct Source {
  std::string name;  // "job.toml", or "--set train.batch=3"
  bool has_lines = false;
  bool overrides = false;  // a flag, which takes precedence over files
  toml::table root = {};
};

struct Entry {
  std::string path;
  const toml::node* value = nullptr;
  const Source* source = nullptr;
};

// `text` as a TOML string, in quotes.
std::string quote(std::string_view text);

class Document {
 public:
  // Fails if the text is not TOML, is larger than kMaxBytes or is nested too deeply, or if an
  // override is not `key=value` in UTF-8. An override replaces the value of the same path; `flag`
  // is the command-line flag that it came from, for messages.
  // The schema says which tables are sections. It must outlive the document.
  static Result<Document> parse(const JobSchema& schema, std::string_view text,
                                const std::string& file_name,
                                std::span<const std::string> overrides,
                                std::string_view flag = "--set");

  // The options that a program has set in its code, as TOML. They have no line numbers.
  static Result<Document> of_program(const JobSchema& schema, std::string_view text);
  // This document, completed with the entries of `below` that it does not have.
  Document over(const Document& below) const;

  const JobSchema& schema() const { return *schema_; }

  // All values in the order of the file, overrides last. A table that is not a section is one
  // entry.
  std::vector<const Entry*> entries() const;
  // nullptr if the key is not given.
  const Entry* find(std::string_view path) const;

  // Removes the entry of `path` and returns it.
  std::optional<Entry> extract(std::string_view path);
  // This document changed by `changes`, a table of its file. Overrides still take precedence over
  // it. The nodes of `changes` must outlive the result.
  Document with(const toml::table& changes, const Source& source) const;

  // "job.toml:12: message" for a value of `entry`, or "--set key=value: message".
  static Error error(const Entry& entry, const toml::node& value, std::string_view message);
  // The same for the first of these paths that is given; at the top of the file if none is.
  Error error_at(std::span<const std::string_view> paths, std::string_view message) const;
  Error error_at(std::initializer_list<std::string_view> paths, std::string_view message) const {
    return error_at(std::span(paths.begin(), paths.size()), message);
  }

  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

 private:
  explicit Document(const JobSchema& schema) : schema_(&schema) {}
  static Result<Document> read(const JobSchema& schema, Source source, std::string_view text);
  Status apply(std::string_view assignment, std::string_view flag);
  void set_value(const std::string& path, const toml::node& value, const Source& source);
  void set_table(const toml::table& table, const std::string& prefix, const Source& source);

  const JobSchema* schema_;
  std::vector<std::shared_ptr<const Source>> sources_;  // the file first
  std::map<std::string, Entry, std::less<>> entries_;   // by path
};

}  // namespace motley
