// One value of a job file into its place: the right type, inside its range, a known name.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <tl/expected.hpp>

#include "job/keys.h"

namespace motley {

// What is wrong with a value, and which part of it.
struct Problem {
  const toml::node* value;
  std::string message;
};
using Stored = tl::expected<void, Problem>;

// Puts `value` where `key` of `record` wants it; `label` is the key's name in messages. A list of
// tables is stored with all its entries, whose keys are all needed.
// On a problem the record is left half changed: throw it away.
template <class Record>
Stored store(Record& record, const Key<Record>& key, const toml::node& value,
             const std::string& label);

// "unknown key "train.bach"; did you mean "train.batch"?"
std::string unknown_key(std::string_view name, std::string_view suggestion);
// "train.batch is a string, but should be an integer".
std::string wrong_type(std::string_view label, const toml::node& value, std::string_view wanted);

// "at least 1", "above 0 and at most 1", "from 1 to 65536", "finite".
std::string describe(const Range& range);

}  // namespace motley
