#include "job/value.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "job/suggest.h"

namespace motley {
namespace {

std::string_view type_of(const toml::node& value) {
  switch (value.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

tl::unexpected<Problem> problem(const toml::node& value, std::string message) {
  return tl::unexpected(Problem{&value, std::move(message)});
}

template <class Number>
Stored check_range(Number number, const toml::node& value, const std::string& label,
                   const Range& range) {
  const auto x = static_cast<double>(number);
  const bool inside =
      std::isfinite(x) && x <= range.max && (range.above_min ? x > range.min : x >= range.min);
  if (!inside) {
    return problem(value, fmt::format("{} is {}, but must be {}", label, number, describe(range)));
  }
  return {};
}

template <std::integral Integer>
requires(!std::same_as<Integer, bool>) Stored
    read(Integer& place, const toml::node& value, const std::string& label, const Rule& rule) {
  const auto* or_auto = std::get_if<CountOrAuto>(&rule);
  const auto* text = value.as_string();
  if (or_auto && text && text->get() == kAuto) {
    place = static_cast<Integer>(kAutoValue);
    return {};
  }
  const auto* integer = value.as_integer();
  if (!integer) {
    const std::string wanted = or_auto ? fmt::format("an integer or \"{}\"", kAuto) : "an integer";
    return problem(value, or_auto && text
                              ? fmt::format("{} = \"{}\" should be {}", label, text->get(), wanted)
                              : wrong_type(label, value, wanted));
  }
  place = static_cast<Integer>(integer->get());
  return check_range(integer->get(), value, label,
                     or_auto ? or_auto->range : std::get<Range>(rule));
}

Stored read(double& place, const toml::node& value, const std::string& label, const Rule& rule) {
  if (const auto* number = value.as_floating_point()) {
    place = number->get();
  } else if (const auto* integer = value.as_integer()) {
    place = static_cast<double>(integer->get());
  } else {
    return problem(value, wrong_type(label, value, "a number"));
  }
  return check_range(place, value, label, std::get<Range>(rule));
}

Stored read(bool& place, const toml::node& value, const std::string& label, const Rule&) {
  const auto* boolean = value.as_boolean();
  if (!boolean) {
    return problem(value, wrong_type(label, value, "a boolean"));
  }
  place = boolean->get();
  return {};
}

template <class T>
Stored read(std::optional<T>& place, const toml::node& value, const std::string& label,
            const Rule& rule) {
  return read(place.emplace(), value, label, rule);
}

// Appends the numbers of the list.
template <class Number>
Stored read_list(std::vector<Number>& place, const toml::array& list, const std::string& label,
                 const Range& range) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const toml::node& item = *list.get(i);
    if (!read(place.emplace_back(), item, label, range)) {
      // Reads the item again for the message: building a label for every item of a long list would
      // cost more than reading the list.
      return read(place.back(), item, fmt::format("{}[{}]", label, i), range);
    }
  }
  return {};
}

// Which numbers a list has, and whether a number may stand for all of them.
struct ListRule {
  Range range;
  bool or_one_for_all;
  std::string_view each;
};

ListRule list_rule(const Rule& rule) {
  if (const auto* per_server = std::get_if<PerServer>(&rule)) {
    return {per_server->range, true, "server"};
  }
  const auto& per_worker = std::get<PerWorker>(rule);
  return {per_worker.range, per_worker.or_one_for_all, "worker"};
}

// A single number for all is stored as a list of one; fill_lists() in parse.cc, which knows the
// number of workers and servers, expands it.
template <class Number>
requires std::is_arithmetic_v<Number> Stored read(std::vector<Number>& place,
                                                  const toml::node& value, const std::string& label,
                                                  const Rule& rule) {
  const auto& [range, or_one_for_all, each] = list_rule(rule);
  place.clear();
  if (const auto* list = value.as_array()) {
    return read_list(place, *list, label, range);
  }
  constexpr bool kIntegers = std::is_integral_v<Number>;
  if (value.is_number() && or_one_for_all) {
    return read(place.emplace_back(), value, label, range);
  }
  return problem(value, wrong_type(label, value,
                                   fmt::format("{}an array of {}, one per {}",
                                               !or_one_for_all ? ""
                                               : kIntegers     ? "an integer, or "
                                                               : "a number, or ",
                                               kIntegers ? "integers" : "numbers", each)));
}

// A list of one number per worker, or of one list per worker.
Stored read_latencies(Latency& place, const toml::array& list, const std::string& label,
                      const Range& range) {
  std::vector<Seconds> values;
  if (list.empty() || !list.get(0)->is_array()) {
    Stored stored = read_list(values, list, label, range);
    place = Latency::per_worker(std::move(values));
    return stored;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string row_label = fmt::format("{}[{}]", label, i);
    const toml::node& item = *list.get(i);
    const toml::array* row = item.as_array();
    if (!row) {
      return problem(item, wrong_type(row_label, item, "an array: a row of the matrix"));
    }
    if (row->size() != list.size()) {
      return problem(item,
                     fmt::format("{} has {} entries, but {} has {} rows: a matrix needs a row "
                                 "and a column for every worker",
                                 row_label, row->size(), label, list.size()));
    }
    if (Stored stored = read_list(values, *row, row_label, range); !stored) {
      return stored;
    }
  }
  place = Latency::matrix(static_cast<int>(list.size()), std::move(values));
  return {};
}

Stored read(Latency& place, const toml::node& value, const std::string& label, const Rule& rule) {
  const Range& range = std::get<PerLink>(rule).range;
  if (const toml::array* list = value.as_array()) {
    return read_latencies(place, *list, label, range);
  }
  if (!value.is_number()) {
    return problem(value, wrong_type(label, value,
                                     "a number, an array of numbers, one per worker, or a matrix"));
  }
  Seconds of_every_message = 0;
  Stored stored = read(of_every_message, value, label, range);
  place = of_every_message;
  return stored;
}

Stored read(Rank& place, const toml::node& value, const std::string& label) {
  return read(place, value, label, Range{0, 65535});
}

Stored read(std::vector<Edge>& place, const toml::node& value, const std::string& label,
            const Rule&) {
  const auto* list = value.as_array();
  if (!list) {
    return problem(value, wrong_type(label, value, "an array of edges, [from, to] each"));
  }
  place.clear();
  for (const toml::node& item : *list) {
    const std::string item_label = fmt::format("{}[{}]", label, place.size());
    const auto* pair = item.as_array();
    if (!pair || pair->size() != 2) {
      return problem(item, fmt::format("{} should be an edge, [from, to]", item_label));
    }
    Edge& edge = place.emplace_back();
    Stored stored = read(edge.from, *pair->get(0), item_label);
    stored = stored ? read(edge.to, *pair->get(1), item_label) : stored;
    if (!stored) {
      return stored;
    }
    if (edge.from == edge.to) {
      return problem(item, fmt::format("{} is from worker {} to itself; such edges are implicit",
                                       item_label, edge.from));
    }
  }
  return {};
}

std::string unknown_choice(std::string_view label, std::string_view name, const OneOf& one_of) {
  std::vector<std::string_view> all;
  std::ranges::transform(one_of.choices, std::back_inserter(all), &Choice::name);
  return fmt::format("{} = \"{}\" is not {}{} (available: {})", label, name, one_of.noun,
                     did_you_mean(nearest(name, all)), fmt::join(all, ", "));
}

// What is wrong with a text; empty if it is valid.
std::string check_text(std::string_view label, std::string_view text, const Rule& rule) {
  if (const auto* one_of = std::get_if<OneOf>(&rule)) {
    const auto choices = one_of->choices;
    const auto found = std::ranges::find(choices, text, &Choice::name);
    return found != choices.end() ? "" : unknown_choice(label, text, *one_of);
  }
  if (text.empty()) {
    return fmt::format("{} is empty", label);
  }
  if (text.find('\0') != text.npos) {
    return fmt::format("{} contains a zero byte", label);
  }
  if (std::holds_alternative<DirectoryName>(rule)) {
    const bool is_printable = std::ranges::none_of(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (text.find('/') != text.npos || text[0] == '.' || text.size() > 100 || !is_printable) {
      return fmt::format(
          "{} = \"{}\" cannot be a directory name: it must be printable, contain no '/', not "
          "begin with '.' and have at most 100 bytes",
          label, text.substr(0, 100));
    }
  }
  return {};
}

Stored read(std::string& place, const toml::node& value, const std::string& label,
            const Rule& rule) {
  const auto* text = value.as_string();
  if (!text) {
    return problem(value, wrong_type(label, value, "a string"));
  }
  if (std::string message = check_text(label, text->get(), rule); !message.empty()) {
    return problem(value, std::move(message));
  }
  place = text->get();
  return {};
}

// Reads the name of a choice and stores its value in the enum.
template <class Record>
Stored store_choice(Record& record, const EnumPlace<Record>& place, const toml::node& value,
                    const std::string& label, const Rule& rule) {
  std::string name;
  if (auto stored = read(name, value, label, rule); !stored) {
    return stored;
  }
  place.set(record, std::ranges::find(std::get<OneOf>(rule).choices, name, &Choice::name)->value);
  return {};
}

// Checks that an entry in a list of tables has the keys of its kind and no others.
template <class Record>
Stored check_keys(const Record& record, const toml::table& table, const std::string& label) {
  for (const Key<Record>& key : keys<Record>()) {
    const toml::node* given = table.get(key.name);
    if (given && !applies(key, record)) {
      return problem(*given, fmt::format("{0}.{1} is only for kind = \"{2}\", but the kind is "
                                         "\"{3}\": remove {1}, or set kind = \"{2}\"",
                                         label, key.name, key.belongs.kind, kind_of(record)));
    }
  }
  for (const Key<Record>& key : keys<Record>()) {
    const std::string_view other = key.belongs.instead_of;
    const bool has_other = !other.empty() && table.contains(other);
    if (has_other && table.contains(key.name)) {
      return problem(*table.get(other), fmt::format("{} has both \"{}\" and \"{}\": remove one",
                                                    label, key.name, other));
    }
    if (key.belongs.needed && applies(key, record) && !table.contains(key.name) && !has_other) {
      return problem(table, fmt::format("{} needs \"{}\"{}", label, key.name,
                                        other.empty() ? "" : fmt::format(" or \"{}\"", other)));
    }
  }
  return {};
}

template <class Record>
Stored read_table(Record& record, const toml::table& table, const std::string& label) {
  for (auto&& [name, value] : table) {
    const Key<Record>* key = find_key<Record>(name.str());
    const std::string value_label = fmt::format("{}.{}", label, name.str());
    if (!key) {
      std::vector<std::string_view> names;
      std::ranges::transform(keys<Record>(), std::back_inserter(names), &Key<Record>::name);
      return problem(value, unknown_key(value_label, nearest(name.str(), names)));
    }
    if (auto stored = store(record, *key, value, value_label); !stored) {
      return stored;
    }
  }
  return check_keys(record, table, label);
}

template <class Record>
requires std::is_class_v<Record> Stored read(std::vector<Record>& place, const toml::node& value,
                                             const std::string& label, const Rule&) {
  const auto* list = value.as_array();
  if (!list) {
    return problem(value, wrong_type(label, value, fmt::format("a list of tables, [[{}]]", label)));
  }
  place.clear();
  for (const toml::node& item : *list) {
    const std::string item_label = fmt::format("{}[{}]", label, place.size());
    const auto* table = item.as_table();
    if (!table) {
      return problem(item, wrong_type(item_label, item, "a table"));
    }
    if (auto stored = read_table(place.emplace_back(), *table, item_label); !stored) {
      return stored;
    }
  }
  return {};
}

}  // namespace

template <class Record>
Stored store(Record& record, const Key<Record>& key, const toml::node& value,
             const std::string& label) {
  return std::visit(
      [&](auto place) -> Stored {
        if constexpr (std::is_same_v<decltype(place), std::monostate>) {
          std::string checked_only;
          return read(checked_only, value, label, key.rule);
        } else if constexpr (std::is_same_v<decltype(place), EnumPlace<Record>>) {
          return store_choice(record, place, value, label, key.rule);
        } else {
          return read(place(record), value, label, key.rule);
        }
      },
      key.place);
}
template Stored store(Job&, const Key<Job>&, const toml::node&, const std::string&);

std::string unknown_key(std::string_view name, std::string_view suggestion) {
  return fmt::format("unknown key \"{}\"{}", name, did_you_mean(suggestion));
}

std::string wrong_type(std::string_view label, const toml::node& value, std::string_view wanted) {
  return fmt::format("{} is {}, but should be {}", label, type_of(value), wanted);
}

std::string describe(const Range& range) {
  const bool from = std::isfinite(range.min);
  const bool to = std::isfinite(range.max);
  if (from && to && !range.above_min) {
    return fmt::format("from {} to {}", range.min, range.max);
  }
  if (!from && !to) {
    return "finite";
  }
  const std::string lower =
      !from ? "" : fmt::format("{} {}", range.above_min ? "above" : "at least", range.min);
  const std::string upper = !to ? "" : fmt::format("at most {}", range.max);
  return from && to ? lower + " and " + upper : lower + upper;
}

}  // namespace motley
