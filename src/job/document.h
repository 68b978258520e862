// A job file and its overrides as a flat list of values: each with the dotted path of its key and
// the place it was written at. Knows TOML and the names of sections, not what keys mean.
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

// A TOML text that was read: a job file, or one `--set key=value`.
struct Source {
  std::string name;  // "job.toml", or "--set train.batch=3"
  bool has_lines = false;
  bool overrides = false;  // a flag: wins over what files say
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
  // Fails on text that is not TOML, is larger than kMaxBytes or nests too deep, and on an override
  // that is not `key=value` in UTF-8. An override replaces the value of the same path; `flag` is
  // what a person wrote before it.
  // The schema, which outlives the document, says which tables are sections.
  static Result<Document> parse(const JobSchema& schema, std::string_view text,
                                const std::string& file_name,
                                std::span<const std::string> overrides,
                                std::string_view flag = "--set");

  // What a program has set in its code, as TOML. Nothing in it has a line to point at.
  static Result<Document> of_program(const JobSchema& schema, std::string_view text);
  // This document, and what it does not say, from `below`.
  Document over(const Document& below) const;

  const JobSchema& schema() const { return *schema_; }

  // All values in the order of the file, overrides last. A table that is no section is one entry.
  std::vector<const Entry*> entries() const;
  // nullptr when the key was not given.
  const Entry* find(std::string_view path) const;

  // Takes the entry of `path` out.
  std::optional<Entry> extract(std::string_view path);
  // This document with what `changes`, a table of its file, sets instead. An override still wins:
  // a file sets, a flag overrides. The nodes of `changes` must outlive the result.
  Document with(const toml::table& changes, const Source& source) const;

  // "job.toml:12: message" for a value of `entry`, or "--set key=value: message".
  static Error error(const Entry& entry, const toml::node& value, std::string_view message);
  // The same at the first of these paths that was given, else at the top of the file.
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
