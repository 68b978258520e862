#include "compute/data/libsvm.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "base/random.h"
#include "compute/data/input_file.h"

namespace motley {
namespace {

constexpr std::uint64_t kMaxTextBytes = std::uint64_t{8} << 30;
constexpr std::uint64_t kHoldoutStream = 0x401d0000;

struct LibsvmFile {
  std::string name;
  std::vector<std::int32_t> labels;  // as written
  std::vector<std::size_t> lines;    // line numbers of the samples, for messages
  SparseRows rows;
  std::uint32_t features = 0;
};

constexpr std::string_view kBlank = " \t\r";

// Removes the next word from the front of `text`; empty at the end.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text.remove_prefix(word.size());
  return word;
}

template <class T>
std::optional<T> parse_number(std::string_view word) {
  if (word.starts_with('+')) {
    word.remove_prefix(1);
  }
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

// Parses an integer, also when written as 1.0 or 1e0.
std::optional<std::int32_t> parse_label(std::string_view word) {
  const auto value = parse_number<double>(word);
  if (!value || !(std::abs(*value) <= 1e6) || *value != std::floor(*value)) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(*value);
}

// Appends "index:value" to the last row of `rows`; returns the reason if it cannot.
std::optional<std::string> add_feature(std::string_view word, std::uint32_t& previous,
                                       SparseRows& rows) {
  const std::size_t colon = word.find(':');
  const auto index = parse_number<std::uint32_t>(word.substr(0, colon));
  const auto value = colon == std::string_view::npos ? std::optional<float>()
                                                     : parse_number<float>(word.substr(colon + 1));
  if (!index || !value || !std::isfinite(*value)) {
    return fmt::format("\"{}\" is not index:value", word.substr(0, 40));
  }
  if (*index == 0 || *index > kMaxLibsvmFeatures) {
    return fmt::format("index {} is out of range; expected 1 to {}", *index, kMaxLibsvmFeatures);
  }
  if (*index <= previous) {
    return fmt::format("index {} after {}; indices must ascend", *index, previous);
  }
  previous = *index;
  rows.indices.push_back(*index - 1);
  rows.values.push_back(*value);
  return std::nullopt;
}

// Parses one line without its comment. Adds a sample unless the line is blank.
Status parse_line(std::string_view text, std::size_t line, LibsvmFile& parsed) {
  const std::string_view first = next_word(text);
  if (first.empty()) {
    return {};
  }
  const auto label = parse_label(first);
  if (!label) {
    return fail("{}:{}: \"{}\" is not a label; expected a whole number", parsed.name, line,
                first.substr(0, 40));
  }
  std::uint32_t previous = 0;
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    if (const auto reason = add_feature(word, previous, parsed.rows)) {
      return fail("{}:{}: {}", parsed.name, line, *reason);
    }
  }
  parsed.features = std::max(parsed.features, previous);
  parsed.rows.begin.push_back(parsed.rows.indices.size());
  parsed.labels.push_back(*label);
  parsed.lines.push_back(line);
  return {};
}

Result<LibsvmFile> parse_file(const std::string& path) {
  const auto bytes = read_file(path, kMaxTextBytes);
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  LibsvmFile parsed;
  parsed.name = path;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    if (auto ok = parse_line(whole.substr(0, whole.find('#')), line, parsed); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  if (parsed.labels.empty()) {
    return fail("{}: holds no samples", path);
  }
  return parsed;
}

// Maps labels as written to classes.
struct LabelMap {
  bool signs = false;       // -1 and +1
  std::int32_t lowest = 0;  // otherwise 0 or 1
  std::int32_t classes = 2;

  std::optional<std::int32_t> operator()(std::int32_t label) const {
    if (signs) {
      return label == -1 || label == 1 ? std::optional((label + 1) / 2) : std::nullopt;
    }
    const std::int32_t mapped = label - lowest;
    return mapped >= 0 && mapped < classes ? std::optional(mapped) : std::nullopt;
  }
  std::string expected() const {
    return signs ? "-1 or +1" : fmt::format("{} to {}", lowest, lowest + classes - 1);
  }
};

Result<LabelMap> map_labels(const LibsvmFile& parsed) {
  const auto [lowest, highest] = std::minmax_element(parsed.labels.begin(), parsed.labels.end());
  if (*lowest == *highest) {
    return fail("{}: every label is {}; expected at least two classes", parsed.name, *lowest);
  }
  if (*lowest == -1) {
    return LabelMap{.signs = true};
  }
  LabelMap map;
  map.lowest = *lowest == 0 ? 0 : 1;
  map.classes = *highest - map.lowest + 1;
  if (*lowest < 0 || map.classes > kMaxLibsvmClasses) {
    return fail(
        "{}: labels from {} to {}; expected -1 and +1, or 0 to k-1, or 1 to k, with k <= {}",
        parsed.name, *lowest, *highest, kMaxLibsvmClasses);
  }
  return map;
}

Result<std::vector<std::int32_t>> map_all(const LibsvmFile& parsed, const LabelMap& map) {
  std::vector<std::int32_t> classes;
  classes.reserve(parsed.labels.size());
  for (std::size_t i = 0; i < parsed.labels.size(); ++i) {
    const auto mapped = map(parsed.labels[i]);
    if (!mapped) {
      return fail("{}:{}: label {} is out of range; expected {}", parsed.name, parsed.lines[i],
                  parsed.labels[i], map.expected());
    }
    classes.push_back(*mapped);
  }
  return classes;
}

// The selected rows as samples; features from `width` on are dropped.
SampleTable select(const SparseRows& rows, const std::vector<std::int32_t>& classes,
                   std::span<const std::size_t> chosen, std::uint32_t width) {
  SparseRows kept;
  std::vector<std::int32_t> labels;
  for (const std::size_t row : chosen) {
    for (std::size_t i = rows.begin[row]; i < rows.begin[row + 1]; ++i) {
      if (rows.indices[i] < width) {
        kept.indices.push_back(rows.indices[i]);
        kept.values.push_back(rows.values[i]);
      }
    }
    kept.begin.push_back(kept.indices.size());
    labels.push_back(classes[row]);
  }
  return {width, std::move(kept), std::move(labels)};
}

std::vector<std::size_t> row_numbers(std::size_t count) {
  std::vector<std::size_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

Result<SampleTable> read_test_file(const std::string& path, const LabelMap& map,
                                   std::uint32_t width) {
  const auto parsed = parse_file(path);
  if (!parsed) {
    return tl::unexpected(parsed.error());
  }
  const auto classes = map_all(*parsed, map);
  if (!classes) {
    return tl::unexpected(classes.error());
  }
  return select(parsed->rows, *classes, row_numbers(classes->size()), width);
}

}  // namespace

Result<Dataset> read_libsvm(const DataSpec& spec, std::uint64_t seed, Parts parts) {
  const auto parsed = parse_file(spec.path);
  if (!parsed) {
    return tl::unexpected(parsed.error());
  }
  if (parsed->features == 0) {
    return fail("{}: no sample has a feature", spec.path);
  }
  const auto map = map_labels(*parsed);
  if (!map) {
    return tl::unexpected(map.error());
  }
  const auto classes = map_all(*parsed, *map);
  if (!classes) {
    return tl::unexpected(classes.error());
  }
  std::vector<std::size_t> order = row_numbers(classes->size());
  std::size_t training = order.size();
  if (spec.test_path.empty()) {
    Random(seed, kHoldoutStream).shuffle(std::span(order));
    training -= static_cast<std::size_t>(spec.holdout * static_cast<double>(order.size()));
    if (training == 0 || training == order.size()) {
      return fail("{}: data.holdout = {} of {} samples leaves no {} samples", spec.path,
                  spec.holdout, order.size(), training == 0 ? "training" : "test");
    }
  }
  const std::uint32_t width = parsed->features;
  Dataset data{{width}, map->classes, static_cast<std::int64_t>(training), {}, {}};
  if (keeps_training(parts)) {
    data.training = select(parsed->rows, *classes, std::span(order).first(training), width);
  }
  if (keeps_test(parts) && spec.test_path.empty()) {
    data.test = select(parsed->rows, *classes, std::span(order).subspan(training), width);
  } else if (keeps_test(parts)) {
    auto test = read_test_file(spec.test_path, *map, width);
    if (!test) {
      return tl::unexpected(test.error());
    }
    data.test = std::move(*test);
  }
  return data;
}

}  // namespace motley
