// JobSchema: all keys that a job file may have: motley's own (keys.cc) and those of the given
// methods.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "motley/job/method_schema.h"

namespace motley {

class JobSchema {
 public:
  // The schemas must outlive it.
  explicit JobSchema(std::vector<const MethodSchema*> methods);
  JobSchema(const JobSchema&) = delete;  // keys refer to its list of methods
  JobSchema& operator=(const JobSchema&) = delete;

  // In the order in which they are printed. Keys of one section are adjacent, and lists of tables
  // come last in their section, as TOML requires.
  std::span<const Key<Job>> keys() const { return keys_; }
  // nullptr if there is no key of that name.
  const Key<Job>* find(std::string_view name) const;
  // True for a table of the job file that contains keys, such as "train".
  bool is_section(std::string_view name) const;
  // The key or section that was probably meant; empty if none is similar.
  std::string_view nearest(std::string_view name) const;

  // The names that strategy.sync may have, with their summaries.
  std::span<const Choice> methods() const { return choices_; }
  // nullptr if there is no method of that name.
  const MethodSchema* method(std::string_view name) const;
  const MethodSchema& method_of(const Job& job) const;
  // The defaults of all keys. Lists with one entry per worker are not filled in yet.
  Job default_job() const;

  // True if the key has a meaning in this job.
  bool applies(const Key<Job>& key, const Job& job) const;

 private:
  void add(Key<Job> key);

  const std::vector<const MethodSchema*> methods_;
  std::vector<Choice> choices_;
  std::vector<Key<Job>> keys_;
};

}  // namespace motley
