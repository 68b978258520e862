#include "job/check_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <type_traits>

#include "job/keys.h"

namespace motley {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool contains(const Range& range, double value) {
  return value <= range.max && (range.above_min ? value > range.min : value >= range.min);
}

// The rest of a sentence about a key whose rule does not fit its place.
std::string misfit(std::string_view rule, std::string_view places) {
  return fmt::format("has the rule {}, which is for {}", rule, places);
}

std::optional<std::string> check_range(const Range& range, const Place<Job>& place) {
  Job defaults;
  return std::visit(
      [&]<class P>(const P& at) -> std::optional<std::string> {
        if constexpr (std::is_invocable_v<P, Job&>) {
          using Value = std::remove_cvref_t<std::invoke_result_t<P, Job&>>;
          if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
            const auto value = static_cast<double>(at(defaults));
            return contains(range, value)
                       ? std::nullopt
                       : std::optional(fmt::format("has the default {}, outside its range", value));
          } else if constexpr (std::is_same_v<Value, std::optional<std::int64_t>> ||
                               std::is_same_v<Value, std::optional<double>>) {
            return std::nullopt;
          }
        }
        return misfit("Range", "numbers");
      },
      place);
}

std::optional<std::string> check_choices(const OneOf& rule, const Place<Job>& place) {
  if (rule.choices.empty()) {
    return "has no choices";
  }
  if (const auto* at = std::get_if<EnumPlace<Job>>(&place)) {
    const int value = at->get(Job{});
    const bool is_listed = std::ranges::count(rule.choices, value, &Choice::value) > 0;
    return is_listed ? std::nullopt
                     : std::optional(
                           fmt::format("has a default, {}, that is not among its choices", value));
  }
  const bool is_text = std::holds_alternative<std::string& (*)(Job&)>(place);
  return is_text ? std::nullopt : std::optional(misfit("OneOf", "enums and strings"));
}

template <class Value>
std::optional<std::string> expect_place(const Place<Job>& place, std::string_view rule,
                                        std::string_view places) {
  return std::holds_alternative<Value& (*)(Job&)>(place) ? std::nullopt
                                                         : std::optional(misfit(rule, places));
}

std::optional<std::string> check_rule(const Key<Job>& key) {
  if (const auto* range = std::get_if<Range>(&key.rule)) {
    return check_range(*range, key.place);
  }
  if (const auto* one_of = std::get_if<OneOf>(&key.rule)) {
    return check_choices(*one_of, key.place);
  }
  if (std::holds_alternative<YesOrNo>(key.rule)) {
    return expect_place<bool>(key.place, "YesOrNo", "bools");
  }
  if (std::holds_alternative<PerWorker>(key.rule)) {
    const bool is_integers =
        std::holds_alternative<std::vector<std::int64_t>& (*)(Job&)>(key.place);
    return is_integers
               ? std::nullopt
               : expect_place<std::vector<double>>(key.place, "PerWorker", "lists of numbers");
  }
  if (std::holds_alternative<Edges>(key.rule)) {
    return expect_place<std::vector<Edge>>(key.place, "Edges", "lists of edges");
  }
  if (std::holds_alternative<Tables>(key.rule) || std::holds_alternative<PerServer>(key.rule) ||
      std::holds_alternative<PerLink>(key.rule)) {
    return "has the rule Tables, PerServer or PerLink, which are not for methods";
  }
  return expect_place<std::string>(key.place, "AnyPath or DirectoryName", "strings");
}

std::optional<std::string> check_key(const Key<Job>& key, const JobSchema& known) {
  const std::string_view section = section_of(key.name);
  if (!section.starts_with("strategy.") || !is_name(last_part(section)) ||
      !is_name(last_part(key.name))) {
    return "should be named strategy.<section>.<key>";
  }
  if (known.find(key.name)) {
    return "exists already";
  }
  return check_rule(key);
}

}  // namespace

std::optional<std::string> problem_of(const MethodSchema& method, const JobSchema& known) {
  if (!is_name(method.name)) {
    return "needs a name of lower-case letters, digits and underscores";
  }
  if (known.method(method.name)) {
    return "is registered already";
  }
  std::set<std::string_view> names;
  for (const Key<Job>& key : method.keys) {
    const bool is_new = names.insert(key.name).second;
    if (const auto problem = is_new ? check_key(key, known) : "is listed twice") {
      return fmt::format("has a key {} that {}", key.name, *problem);
    }
  }
  return std::nullopt;
}

}  // namespace motley
