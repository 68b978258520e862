// Stores one value of a job file in its Place, after checking its type, range or name.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "job/keys.h"

namespace motley {

// The word that stands for no number where CountOrAuto allows it, and how it is stored.
inline constexpr std::string_view kAuto = "auto";
inline constexpr std::int64_t kAutoValue = -1;

// What is wrong with a value, and the part of the value that is wrong.
struct Problem {
  const toml::node* value;
  std::string message;
};
using Stored = tl::expected<void, Problem>;

// Stores `value` as `key` of `record`; `label` is the key's name in messages. A list of tables is
// stored with all its entries; each entry must have all of its keys.
// After a problem the record may be partly changed: discard it.
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
