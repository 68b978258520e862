#include "job/print.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "job/difference.h"
#include "job/document.h"
#include "job/keys.h"
#include "job/value.h"

namespace motley {
namespace {

// A value as TOML; empty if there is nothing to print.
template <class Number>
requires std::is_arithmetic_v<Number> std::string as_toml(Number number, const Rule& rule) {
  if (std::holds_alternative<CountOrAuto>(rule) && number == static_cast<Number>(kAutoValue)) {
    return quote(kAuto);
  }
  return fmt::format("{}", number);  // doubles: the shortest text that reads back the same
}

std::string as_toml(const std::string& text, const Rule&) {
  return text.empty() ? "" : quote(text);
}

template <class T>
std::string as_toml(const std::optional<T>& value, const Rule& rule) {
  return value ? as_toml(*value, rule) : "";
}

template <class Number>
requires std::is_arithmetic_v<Number> std::string as_toml(const std::vector<Number>& list,
                                                          const Rule& rule) {
  const bool all_equal = std::ranges::adjacent_find(list, std::not_equal_to{}) == list.end();
  const auto* per_worker = std::get_if<PerWorker>(&rule);
  if ((!per_worker || per_worker->or_one_for_all) && all_equal && !list.empty()) {
    return as_toml(list.front(), rule);
  }
  return list.empty() ? "" : fmt::format("[{}]", fmt::join(list, ", "));
}

std::string as_toml(const Latency& latency, const Rule& rule) {
  const std::span<const Seconds> values = latency.values();
  if (latency.form() == Latency::Form::kNumber) {
    return as_toml(values.front(), rule);
  }
  if (latency.form() == Latency::Form::kPerWorker) {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::vector<std::string> rows;
  const auto workers = static_cast<std::size_t>(latency.workers());
  for (std::size_t row = 0; row < workers; ++row) {
    rows.push_back(fmt::format("[{}]", fmt::join(values.subspan(row * workers, workers), ", ")));
  }
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

std::string as_toml(const std::vector<Edge>& edges, const Rule&) {
  std::vector<std::string> texts;
  for (const auto& [from, to] : edges) {
    texts.push_back(fmt::format("[{}, {}]", from, to));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

template <class Place>
constexpr bool is_table_list = false;
template <class Record>
constexpr bool is_table_list<std::vector<RandomSlowdown>& (*)(Record&)> = true;
template <class Record>
constexpr bool is_table_list<std::vector<ClusterEvent>& (*)(Record&)> = true;

bool exists(const Key<Job>& key, const Job& job) {
  return !key.belongs.exists || key.belongs.exists(job);
}
template <class Record>
bool exists(const Key<Record>&, const Record&) {
  return true;
}

// The value of `key` in `record`; empty for a list of tables, which is not a single value, and
// for a value that is not there.
template <class Record>
std::string value_of(Record& record, const Key<Record>& key) {
  if (!exists(key, record)) {
    return {};
  }
  return std::visit(
      [&]<class Place>(Place place) -> std::string {
        if constexpr (std::is_same_v<Place, std::monostate>) {
          return as_toml(std::string(std::get<OneOf>(key.rule).choices.front().name), key.rule);
        } else if constexpr (std::is_same_v<Place, EnumPlace<Record>>) {
          const auto choices = std::get<OneOf>(key.rule).choices;
          const auto chosen = std::ranges::find(choices, place.get(record), &Choice::value);
          // A program may have set a number that no name stands for: it is refused when it is read.
          return as_toml(chosen == choices.end() ? fmt::format("({})", place.get(record))
                                                 : std::string(chosen->name),
                         key.rule);
        } else if constexpr (is_table_list<Place>) {
          return {};
        } else {
          return as_toml(place(record), key.rule);
        }
      },
      key.place);
}

// [[cluster.event]] for every event; empty for a key that is not a list of tables.
std::string tables_of(Job& job, const Key<Job>& key) {
  std::string text;
  const auto append = [&]<class Record>(std::vector<Record>& list) {
    for (Record& record : list) {
      text += fmt::format("\n[[{}]]\n", key.name);
      for (const Key<Record>& inner : keys<Record>()) {
        const std::string value = value_of(record, inner);
        const Key<Record>* other = find_key<Record>(inner.belongs.instead_of);
        const bool is_other = other && inner.belongs.needed && !value_of(record, *other).empty();
        if (applies(inner, record) && !value.empty() && !is_other) {
          text += fmt::format("{} = {}\n", inner.name, value);
        }
      }
    }
  };
  std::visit(
      [&]<class Place>(Place place) {
        if constexpr (is_table_list<Place>) {
          append(place(job));
        }
      },
      key.place);
  return text;
}

// The job as a job file that contains the `wanted` keys.
template <class Wanted>
std::string text_of(const JobSchema& schema, Job job,
                    const Wanted& wanted) {  // a copy, because a Place gives mutable access
  std::string text;
  std::string_view section;
  for (const Key<Job>& key : schema.keys()) {
    const std::string value = value_of(job, key);
    if (!exists(key, job) || !wanted(key, value)) {
      continue;
    }
    if (section_of(key.name) != section) {
      section = section_of(key.name);
      text += fmt::format("\n[{}]\n", section);
    }
    if (!value.empty()) {
      text += fmt::format("{} = {}\n", last_part(key.name), value);
    }
    text += tables_of(job, key);
  }
  return text;
}

// Describes the allowed values of this key in words, as Markdown.
template <class Record>
std::string kind_of_value(const Key<Record>& key) {
  if (const auto* range = std::get_if<Range>(&key.rule)) {
    const bool is_number = std::holds_alternative<double& (*)(Record&)>(key.place) ||
                           std::holds_alternative<std::optional<double>& (*)(Record&)>(key.place);
    return fmt::format("{} {}", is_number ? "number" : "integer", describe(*range));
  }
  if (const auto* count = std::get_if<CountOrAuto>(&key.rule)) {
    return fmt::format("integer {}, or `\"{}\"`", describe(count->range), kAuto);
  }
  if (const auto* list = std::get_if<PerWorker>(&key.rule)) {
    const bool are_integers = !std::holds_alternative<std::vector<double>& (*)(Record&)>(key.place);
    return fmt::format("{}one {} per worker, each {}",
                       !list->or_one_for_all ? ""
                       : are_integers        ? "an integer, or "
                                             : "a number, or ",
                       are_integers ? "integer" : "number", describe(list->range));
  }
  if (const auto* list = std::get_if<PerServer>(&key.rule)) {
    return fmt::format("an integer, or one integer per server, each {}", describe(list->range));
  }
  if (const auto* link = std::get_if<PerLink>(&key.rule)) {
    return fmt::format("a number, one number per worker, or a matrix of them, each {}",
                       describe(link->range));
  }
  if (const auto* one_of = std::get_if<OneOf>(&key.rule)) {
    if (!one_of->listed_by.empty()) {
      return std::string(one_of->listed_by);
    }
    std::vector<std::string> names;
    for (const Choice& choice : one_of->choices) {
      names.push_back(fmt::format("`\"{}\"`", choice.name));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }
  if (std::holds_alternative<YesOrNo>(key.rule)) {
    return "`true` or `false`";
  }
  if (std::holds_alternative<Edges>(key.rule)) {
    return "list of pairs of ranks";
  }
  return std::holds_alternative<Tables>(key.rule) ? "list of tables" : "string";
}

template <class Record>
std::string default_of(Record& defaults, const Key<Record>& key) {
  if (key.belongs.needed) {
    return {};
  }
  if (const auto* list = std::get_if<PerWorker>(&key.rule)) {
    return list->otherwise ? fmt::format("all `{}`", *list->otherwise) : "";
  }
  const std::string value = value_of(defaults, key);
  return value.empty() ? "" : fmt::format("`{}`", value);
}

std::string row(std::string_view name, std::string_view kind, std::string_view otherwise,
                std::string_view help) {
  return fmt::format("| `{}` | {} | {} | {} |\n", name, kind, otherwise, help);
}

// Rows for the keys inside a list of tables.
template <class Record>
std::string inner_rows(std::string_view list) {
  std::string text;
  Record defaults;
  for (const Key<Record>& key : keys<Record>()) {
    const std::string_view kind = key.belongs.kind;
    text +=
        row(fmt::format("{}[].{}", list, key.name), kind_of_value(key), default_of(defaults, key),
            kind.empty() ? std::string(key.help)
                         : fmt::format("{}; needed for kind = \"{}\"", key.help, kind));
  }
  return text;
}

}  // namespace

std::string to_toml(const JobSchema& schema, const Job& job) {
  return text_of(schema, job,
                 [&](const Key<Job>& key, const std::string&) { return schema.applies(key, job); });
}

std::string changes_to_toml(const JobSchema& schema, const Job& job) {
  Job defaults = schema.default_job();
  return text_of(schema, job, [&](const Key<Job>& key, const std::string& value) {
    return value != value_of(defaults, key) || std::holds_alternative<Tables>(key.rule);
  });
}

std::string describe_keys(const JobSchema& schema, std::string_view method) {
  Job defaults = schema.default_job();
  std::string text = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const Key<Job>& key : schema.keys()) {
    if (key.method != method) {
      continue;
    }
    std::string help(key.help);
    if (!key.belongs.to.empty()) {
      const std::string_view how = key.belongs.needed          ? "needed for"
                                   : key.belongs.may_be_unused ? "for"
                                                               : "only for";
      help += fmt::format("; {} {}", how, key.belongs.to);
    }
    text += row(key.name, kind_of_value(key), default_of(defaults, key), help);
    std::visit(
        [&]<class Place>(Place) {
          if constexpr (std::is_same_v<Place, std::vector<RandomSlowdown>& (*)(Job&)>) {
            text += inner_rows<RandomSlowdown>(key.name);
          } else if constexpr (std::is_same_v<Place, std::vector<ClusterEvent>& (*)(Job&)>) {
            text += inner_rows<ClusterEvent>(key.name);
          }
        },
        key.place);
  }
  return text;
}

std::vector<KeyDifference> differences(const JobSchema& schema, const Job& first,
                                       const Job& second) {
  Job a = first;  // copies, because a Place gives mutable access
  Job b = second;
  const auto shown = [&](Job& job, const Key<Job>& key) {
    return schema.applies(key, job) ? value_of(job, key) : "";
  };
  std::vector<KeyDifference> found;
  for (const Key<Job>& key : schema.keys()) {
    KeyDifference each{std::string(key.name), shown(a, key), shown(b, key)};
    if (each.first != each.second) {
      found.push_back(std::move(each));
    }
  }
  return found;
}

}  // namespace motley
