// The keys of a job file that do not belong to a method; keys.cc lists them (motley/job/key.h).
#pragma once

#include <span>
#include <string_view>

#include "job/choices.h"
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

// The kind of an entry in a list of tables, as it stands in a job file.
template <class Record>
std::string_view kind_of(const Record& entry) {
  const Key<Record>& key = *find_key<Record>("kind");
  const auto* place = std::get_if<EnumPlace<Record>>(&key.place);
  const auto choices = std::get<OneOf>(key.rule).choices;
  return place ? name_in(choices, place->get(entry)) : choices.front().name;
}

// Whether an entry in a list of tables has this key, which depends on the entry's kind.
template <class Record>
bool applies(const Key<Record>& key, const Record& entry) {
  return key.belongs.kind.empty() || key.belongs.kind == kind_of(entry);
}

// "train" of "train.batch"; empty for a key at the top.
std::string_view section_of(std::string_view name);
// "batch" of "train.batch".
std::string_view last_part(std::string_view name);

}  // namespace motley
