#include "motley/state/archive.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "state/state.h"

namespace motley {
namespace {

using Json = nlohmann::json;

// JSON has no infinities and no NaN.
Json json_of(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::optional<double> double_of(const Json& json) {
  if (json.is_number()) {
    return json.get<double>();
  }
  if (json == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (json == "inf" || json == "-inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    return json == "inf" ? infinity : -infinity;
  }
  return std::nullopt;
}

}  // namespace

// Where in the tree an archive is.
class Archive::Cursor {
 public:
  Cursor(State* to, const State* from) : to_(to), from_(from) {
    if (to_) {
      to_->values = Json::object();
      to_->tensors.clear();
      written_.push_back(&to_->values);
    } else {
      read_.push_back(&from_->values);
    }
  }

  bool is_saving() const { return to_ != nullptr; }

  void enter(std::string_view name) {
    if (is_saving()) {
      written_.push_back(&add(name, Json::object()));
    } else {
      const Json& inner = find(name);
      expect(inner.is_object(), name, "an object");
      read_.push_back(&inner);
    }
    lengths_.push_back(path_.size());
    path_ += path_.empty() ? "" : ".";
    path_ += name;
  }

  void leave() {
    is_saving() ? written_.pop_back() : read_.pop_back();
    path_.resize(lengths_.back());
    lengths_.pop_back();
  }

  Json& add(std::string_view name, Json value) {
    const auto [place, is_new] = written_.back()->emplace(std::string(name), std::move(value));
    MOTLEY_CHECK(is_new, "state {} is saved twice", full(name));
    return *place;
  }

  const Json& find(std::string_view name) const {
    const auto found = read_.back()->is_object() ? read_.back()->find(name) : read_.back()->end();
    if (!read_.back()->is_object() || found == read_.back()->end()) {
      throw StateError(fmt::format("{} is missing", full(name)));
    }
    return *found;
  }

  void expect(bool is_right, std::string_view name, std::string_view what) const {
    if (!is_right) {
      throw StateError(fmt::format("{} is not {}", full(name), what));
    }
  }

  // How many entries the current object has.
  std::size_t entries() const {
    return is_saving() ? std::numeric_limits<std::size_t>::max() : read_.back()->size();
  }

  StateTensor& save_tensor(std::string_view name, ElementType type, const void* data,
                           std::size_t size) {
    StateTensor& tensor = to_->tensors[full(name)];
    tensor.type = type;
    tensor.shape = {static_cast<std::int64_t>(size)};
    tensor.bytes.resize(size * size_of(type));
    if (size > 0) {
      std::memcpy(tensor.bytes.data(), data, tensor.bytes.size());
    }
    return tensor;
  }

  const StateTensor& find_tensor(std::string_view name, ElementType type) const {
    const auto found = from_->tensors.find(full(name));
    if (found == from_->tensors.end()) {
      throw StateError(fmt::format("the tensor {} is missing", full(name)));
    }
    expect(found->second.type == type, name, "a tensor of the expected type");
    return found->second;
  }

  std::string full(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }

 private:
  State* const to_;
  const State* const from_;
  std::vector<Json*> written_;
  std::vector<const Json*> read_;
  std::string path_;
  std::vector<std::size_t> lengths_;  // of the paths outside
};

Archive::Archive(State* to, const State* from) : cursor_(std::make_unique<Cursor>(to, from)) {}
Archive::~Archive() = default;
Archive::Archive(Archive&&) noexcept = default;

bool Archive::is_saving() const { return cursor_->is_saving(); }
void Archive::enter(std::string_view name) { cursor_->enter(name); }
void Archive::leave() { cursor_->leave(); }

// Each object is an entry, beside "size": a damaged size must not allocate memory without end.
void Archive::check_size(std::size_t size) const {
  if (size > cursor_->entries()) {
    throw StateError(fmt::format("{} has fewer entries than it says", cursor_->full("size")));
  }
}

void Archive::fail_range(std::string_view name, std::int64_t value) const {
  throw StateError(fmt::format("{} is {}, which is out of range", cursor_->full(name), value));
}

void Archive::operator()(std::string_view name, bool& value) {
  if (is_saving()) {
    cursor_->add(name, value);
    return;
  }
  const Json& json = cursor_->find(name);
  cursor_->expect(json.is_boolean(), name, "true or false");
  value = json.get<bool>();
}

void Archive::operator()(std::string_view name, double& value) {
  if (is_saving()) {
    cursor_->add(name, json_of(value));
    return;
  }
  const auto number = double_of(cursor_->find(name));
  cursor_->expect(number.has_value(), name, "a number");
  value = *number;
}

void Archive::operator()(std::string_view name, std::int64_t& value) {
  if (is_saving()) {
    cursor_->add(name, value);
    return;
  }
  const Json& json = cursor_->find(name);
  cursor_->expect(json.is_number_integer(), name, "an integer");
  value = json.get<std::int64_t>();
}

void Archive::operator()(std::string_view name, std::string& value) {
  if (is_saving()) {
    cursor_->add(name, value);
    return;
  }
  const Json& json = cursor_->find(name);
  cursor_->expect(json.is_string(), name, "text");
  value = json.get<std::string>();
}

void Archive::operator()(std::string_view name, std::vector<bool>& values) {
  if (is_saving()) {
    cursor_->add(name, values);
    return;
  }
  const Json& json = cursor_->find(name);
  cursor_->expect(json.is_array(), name, "a list");
  values.clear();
  for (const Json& each : json) {
    cursor_->expect(each.is_boolean(), name, "a list of true and false");
    values.push_back(each.get<bool>());
  }
}

void Archive::operator()(std::string_view name, std::vector<double>& values) {
  if (is_saving()) {
    Json& list = cursor_->add(name, Json::array());
    for (const double value : values) {
      list.push_back(json_of(value));
    }
    return;
  }
  const Json& json = cursor_->find(name);
  cursor_->expect(json.is_array(), name, "a list");
  values.clear();
  for (const Json& each : json) {
    const auto number = double_of(each);
    cursor_->expect(number.has_value(), name, "a list of numbers");
    values.push_back(*number);
  }
}

void Archive::operator()(std::string_view name, std::vector<std::int64_t>& values) {
  if (is_saving()) {
    cursor_->add(name, values);
    return;
  }
  const Json& json = cursor_->find(name);
  cursor_->expect(json.is_array(), name, "a list");
  values.clear();
  for (const Json& each : json) {
    cursor_->expect(each.is_number_integer(), name, "a list of integers");
    values.push_back(each.get<std::int64_t>());
  }
}

void Archive::tensor(std::string_view name, std::vector<float>& values) {
  if (!is_saving()) {
    values.resize(cursor_->find_tensor(name, ElementType::kFloat32).bytes.size() / sizeof(float));
  }
  tensor(name, std::span(values));
}

void Archive::tensor(std::string_view name, std::span<float> values,
                     std::span<const std::int64_t> shape) {
  if (is_saving()) {
    StateTensor& saved =
        cursor_->save_tensor(name, ElementType::kFloat32, values.data(), values.size());
    if (!shape.empty()) {
      saved.shape.assign(shape.begin(), shape.end());
    }
    return;
  }
  const StateTensor& saved = cursor_->find_tensor(name, ElementType::kFloat32);
  cursor_->expect(saved.bytes.size() == values.size_bytes(), name,
                  fmt::format("a tensor of {} numbers", values.size()));
  if (!values.empty()) {
    std::memcpy(values.data(), saved.bytes.data(), saved.bytes.size());
  }
}

void Archive::bytes(std::string_view name, std::vector<std::byte>& values) {
  if (is_saving()) {
    cursor_->save_tensor(name, ElementType::kUint8, values.data(), values.size());
    return;
  }
  values = cursor_->find_tensor(name, ElementType::kUint8).bytes;
}

}  // namespace motley
