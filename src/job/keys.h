// The keys of a job file that do not belong to a method; keys.cc lists them (motley/job/key.h).
#pragma once

#include <span>
#include <string_view>

#include "motley/job/method_schema.h"

namespace motley {

// The keys that are printed before and after the methods' keys. The choices of strategy.sync are
// still empty; JobSchema fills them in.
std::span<const Key<Job>> keys_before_methods();
std::span<const Key<Job>> keys_after_methods();

// All keys of a slowdown or an event, in the order they are printed.
template <class Record>
std::span<const Key<Record>> keys();
template <>
std::span<const Key<RandomSlowdown>> keys();
template <>
std::span<const Key<ClusterEvent>> keys();

// nullptr if there is no key of that name.
template <class Record>
const Key<Record>* find_key(std::string_view name) {
  for (const Key<Record>& key : keys<Record>()) {
    if (key.name == name) {
      return &key;
    }
  }
  return nullptr;
}

// "train" of "train.batch"; empty for a key at the top.
std::string_view section_of(std::string_view name);
// "batch" of "train.batch".
std::string_view last_part(std::string_view name);

}  // namespace motley
