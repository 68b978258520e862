// JobSchema: every key that a job file may have: those of motley itself (keys.cc) and those of the
// methods that it is handed.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "motley/job/method_schema.h"

namespace motley {

class JobSchema {
 public:
  // The schemas outlive it.
  explicit JobSchema(std::vector<const MethodSchema*> methods);
  JobSchema(const JobSchema&) = delete;  // keys refer to its list of methods
  JobSchema& operator=(const JobSchema&) = delete;

  // In the order they are printed. Keys of one section are neighbours, and lists of tables come
  // last in theirs, as TOML wants it.
  std::span<const Key<Job>> keys() const { return keys_; }
  // nullptr when there is none of that name.
  const Key<Job>* find(std::string_view name) const;
  // True for a table of the job file that holds keys, as "train".
  bool is_section(std::string_view name) const;
  // The key or section that was probably meant; empty when none is near.
  std::string_view nearest(std::string_view name) const;

  // The names that strategy.sync may have, with their summaries.
  std::span<const Choice> methods() const { return choices_; }
  // nullptr when there is none of that name.
  const MethodSchema* method(std::string_view name) const;
  const MethodSchema& method_of(const Job& job) const { return *method(job.strategy.sync); }

  // Whether a key means something in this job.
  bool applies(const Key<Job>& key, const Job& job) const;

 private:
  void add(Key<Job> key);

  const std::vector<const MethodSchema*> methods_;
  std::vector<Choice> choices_;
  std::vector<Key<Job>> keys_;
};

}  // namespace motley
