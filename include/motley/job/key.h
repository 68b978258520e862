// Key: describes one key of a job file: its name, where its value is stored, which values are
// allowed, and one line of help. Parsing, checking, printing and the documentation all use this
// description, so a new key needs only one new Key.
//
// A method lists the keys of its options struct:
//
//   Key<Job>{"strategy.pairs.rounds", option<&PairsOptions::rounds>, Range{1, 100},
//            "averages in a step"}
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "motley/job/job.h"

namespace motley {

// One of the names that a key accepts as its value.
struct Choice {
  std::string_view name;
  std::string_view summary = {};  // one line for `motley strategies`
  int value = 0;                  // of the enum, if the key is stored in one
};

// A choice that stands for a value of an enum.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr Choice choice(std::string_view name, Enum value, std::string_view summary = {}) {
  return {name, summary, static_cast<int>(value)};
}

// The rules say which values are allowed.
struct Range {  // an integer or a number, depending on the Place; infinity means no bound
  double min;
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  // min itself is not allowed
};
struct CountOrAuto {  // an integer, or "auto", which is stored as -1
  Range range;
};
struct PerWorker {  // numbers or integers, one per worker, depending on the Place
  Range range;
  std::optional<double> otherwise;  // for every worker if the key is not given; none: no list
  bool or_one_for_all;              // a single number for all workers is allowed too
};
struct PerServer {  // integers, one per server, or a single one for all
  Range range;
};
struct PerLink {  // a number, one per worker, or a matrix of them: a row for every sender
  Range range;
};
struct OneOf {
  std::string_view noun;  // with its article: "a graph"
  std::span<const Choice> choices;
  std::string_view listed_by = {};  // for the docs: replaces the list of choices, if set
};
struct YesOrNo {};        // true or false
struct AnyPath {};        // a string that is not empty
struct DirectoryName {};  // a string that can be the name of a directory
struct Edges {};          // pairs of ranks
struct Tables {};         // an array of tables, each with its own keys
using Rule = std::variant<Range, CountOrAuto, PerWorker, PerServer, PerLink, OneOf, YesOrNo,
                          AnyPath, DirectoryName, Edges, Tables>;

// Stores an enum. The value is passed as a number, as in Choice.
template <class Record>
struct EnumPlace {
  int (*get)(const Record& record);
  void (*set)(Record& record, int value);
};

// Where a value is stored. std::monostate: the value is checked but not stored.
template <class Record>
using Place =
    std::variant<std::monostate, EnumPlace<Record>, std::string& (*)(Record&), int& (*)(Record&),
                 std::int64_t& (*)(Record&), std::uint64_t& (*)(Record&), double& (*)(Record&),
                 bool& (*)(Record&), std::optional<std::int64_t>& (*)(Record&),
                 std::optional<double>& (*)(Record&), std::vector<double>& (*)(Record&),
                 std::vector<int>& (*)(Record&), std::vector<std::int64_t>& (*)(Record&),
                 Latency& (*)(Record&), std::vector<Edge>& (*)(Record&),
                 std::vector<RandomSlowdown>& (*)(Record&),
                 std::vector<ClusterEvent>& (*)(Record&)>;

struct MethodSchema;  // method_schema.h

// In which jobs a key applies. In other jobs it is an error, unless it may be unused. A key of a
// method may always be given in a job that chooses another method.
struct Belongs {
  bool (*applies)(const Job& job, const MethodSchema& method) = nullptr;  // null means always
  std::string_view to = {};    // the condition in words; begins with a key, which errors point at
  bool needed = false;         // required wherever it applies
  bool may_be_unused = false;  // allowed where it does not apply, because a variant may need it
  std::string_view kind = {};  // inside a list of tables: only for entries of this kind
  // Inside a list of tables: an entry has either this key or that one.
  std::string_view instead_of = {};
  // False while the part of the job that has the value is not given; then the key has no value.
  // The Place makes the part. Null: the value is always there.
  bool (*exists)(const Job& job) = nullptr;
};

template <class Record>
struct Key {
  std::string_view name;  // the full dotted name; inside a list of tables, relative to the table
  Place<Record> place;
  Rule rule;
  std::string_view help;
  Belongs belongs = {};
  std::string_view method = {};  // the method it belongs to; filled in by JobSchema
};

namespace detail {

template <class Member>
struct MemberTraits;
template <class Owner, class Value>
struct MemberTraits<Value Owner::*> {
  using Struct = Owner;
  using Type = Value;
};

template <auto Member>
auto& option_of(Job& job) {
  return job.strategy.of<typename MemberTraits<decltype(Member)>::Struct>().*Member;
}

template <auto Member>
constexpr Place<Job> option_place() {
  using Type = typename MemberTraits<decltype(Member)>::Type;
  if constexpr (std::is_enum_v<Type>) {
    return EnumPlace<Job>{
        [](const Job& job) {
          using Struct = typename MemberTraits<decltype(Member)>::Struct;
          return static_cast<int>(job.strategy.of<Struct>().*Member);
        },
        [](Job& job, int value) { option_of<Member>(job) = static_cast<Type>(value); }};
  } else {
    return &option_of<Member>;
  }
}

}  // namespace detail

// The Place of one member of a method's options struct.
template <auto Member>
inline constexpr Place<Job> option = detail::option_place<Member>();

}  // namespace motley
