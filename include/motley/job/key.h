// Key: one line of a job file: its name, where the value goes, what it may be, one line of help.
// Parsing, checking, printing and the documentation all read these, so adding a key is adding one.
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

// One of the names that a key may have as its value.
struct Choice {
  std::string_view name;
  std::string_view summary = {};  // one line for `motley strategies`
  int value = 0;                  // of the enum, where the place is one
};

// A choice that stands for a value of an enum.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr Choice choice(std::string_view name, Enum value, std::string_view summary = {}) {
  return {name, summary, static_cast<int>(value)};
}

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
  std::string_view noun;  // with its article: "a graph"
  std::span<const Choice> choices;
};
struct YesOrNo {};        // true or false
struct AnyPath {};        // a string, not empty
struct DirectoryName {};  // a string fit to name a directory
struct Edges {};          // pairs of ranks
struct Tables {};         // an array of tables, which have keys of their own
using Rule = std::variant<Range, PerWorker, OneOf, YesOrNo, AnyPath, DirectoryName, Edges, Tables>;

// An enum's place: its value as a number, as in Choice.
template <class Record>
struct EnumPlace {
  int (*get)(const Record& record);
  void (*set)(Record& record, int value);
};

// Where a value goes. std::monostate: the value is checked and then dropped.
template <class Record>
using Place =
    std::variant<std::monostate, EnumPlace<Record>, std::string& (*)(Record&), int& (*)(Record&),
                 std::int64_t& (*)(Record&), std::uint64_t& (*)(Record&), double& (*)(Record&),
                 bool& (*)(Record&), std::optional<std::int64_t>& (*)(Record&),
                 std::optional<double>& (*)(Record&), std::vector<double>& (*)(Record&),
                 std::vector<Edge>& (*)(Record&), std::vector<RandomSlowdown>& (*)(Record&),
                 std::vector<SpeedEvent>& (*)(Record&)>;

struct MethodSchema;  // method_schema.h

// When a key means something. Elsewhere it is refused, unless it may rest there.
struct Belongs {
  bool (*applies)(const Job& job, const MethodSchema& method) = nullptr;  // null: always
  std::string_view to = {};                                               // that condition in words
  bool needed = false;    // where it applies it must be given
  bool may_rest = false;  // where it does not apply it may stand unused: a variant may choose it
};

template <class Record>
struct Key {
  std::string_view name;  // dotted, from the top of the job; inside a list, from its entry
  Place<Record> place;
  Rule rule;
  std::string_view help;
  Belongs belongs = {};
  std::string_view method = {};  // whose key it is; filled in for a method's own keys
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

// The place of a member of a method's options struct.
template <auto Member>
inline constexpr Place<Job> option = detail::option_place<Member>();

}  // namespace motley
