// The keys of a job file, one line each in keys.cc: name, where the value goes, what it may be, one
// line of help. Parsing, checking, printing and the documentation all read this table, so that
// adding a key is adding a line.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "job/choices.h"
#include "motley/job/job.h"

namespace motley {

// What a value may be.
struct Range {  // an integer or a number, by its place; infinities mean no bound
  double min;
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  // min itself is refused
};
struct PerWorker {  // numbers, one per worker
  Range range;
  double otherwise;     // for every worker when the key is not given
  bool or_one_for_all;  // a single number is good too
};
struct OneOf {
  std::string_view noun;  // with its article: "a strategy"
  std::span<const Choice> (*choices)();
};
struct YesOrNo {};        // true or false
struct AnyPath {};        // a string, not empty
struct DirectoryName {};  // a string fit to name a directory
struct Edges {};          // pairs of ranks
struct Tables {};         // an array of tables, which have keys of their own
using Rule = std::variant<Range, PerWorker, OneOf, YesOrNo, AnyPath, DirectoryName, Edges, Tables>;

// Where a value goes. Nothing: the value is checked and says nothing more (a kind of one kind).
template <class Record>
using Place =
    std::variant<std::monostate, std::string& (*)(Record&), int& (*)(Record&),
                 std::int64_t& (*)(Record&), std::uint64_t& (*)(Record&), double& (*)(Record&),
                 bool& (*)(Record&), std::optional<std::int64_t>& (*)(Record&),
                 std::optional<double>& (*)(Record&), std::vector<double>& (*)(Record&),
                 std::vector<Edge>& (*)(Record&), std::vector<RandomSlowdown>& (*)(Record&),
                 std::vector<SpeedEvent>& (*)(Record&)>;

// When a key means something: given elsewhere it is refused, not ignored.
struct Belongs {
  bool (*applies)(const Job& job) = nullptr;  // null: always
  std::string_view to = {};                   // that condition in words
  bool needed = false;                        // and there it must be given
  bool may_rest = false;  // and elsewhere it may stand unused: what a variant may choose to use
};

template <class Record>
struct Key {
  std::string_view name;  // dotted, from the top of the job; inside a list, from its entry
  Place<Record> place;
  Rule rule;
  std::string_view help;
  Belongs belongs = {};

  bool applies(const Job& job) const { return !belongs.applies || belongs.applies(job); }
};

// All keys of a job, a slowdown or an event, in the order they are printed. Keys of one section
// are neighbours and lists of tables come last in theirs, as TOML wants it.
template <class Record>
std::span<const Key<Record>> keys();
template <>
std::span<const Key<Job>> keys();
template <>
std::span<const Key<RandomSlowdown>> keys();
template <>
std::span<const Key<SpeedEvent>> keys();

// nullptr when there is none of that name.
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
// True for a table of the job file that holds keys, as "train".
bool is_section(std::string_view name);

// The key or section that was probably meant; empty when none is near.
std::string_view nearest_key(std::string_view name);

// Defaults of every key, before the lists are filled to one entry per worker.
Job default_job();

}  // namespace motley
