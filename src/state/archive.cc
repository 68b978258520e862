#include "motley/state/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "state/state.h"

namespace motley {
namespace {

using Json = nlohmann::json;

// How a type is written in JSON.
template <class T>
struct Form;

template <>
struct Form<bool> {
  static constexpr std::string_view kWhat = "true or false";
  static Json write(bool value) { return value; }
  static std::optional<bool> read(const Json& json) {
    return json.is_boolean() ? std::optional(json.get<bool>()) : std::nullopt;
  }
};

template <>
struct Form<std::int64_t> {
  static constexpr std::string_view kWhat = "an integer";
  static Json write(std::int64_t value) { return value; }
  static std::optional<std::int64_t> read(const Json& json) {
    return json.is_number_integer() ? std::optional(json.get<std::int64_t>()) : std::nullopt;
  }
};

template <>
struct Form<std::string> {
  static constexpr std::string_view kWhat = "text";
  static Json write(const std::string& value) { return value; }
  static std::optional<std::string> read(const Json& json) {
    return json.is_string() ? std::optional(json.get<std::string>()) : std::nullopt;
  }
};

// JSON has no infinities and no NaN.
template <>
struct Form<double> {
  static constexpr std::string_view kWhat = "a number";
  static Json write(double value) {
    if (std::isfinite(value)) {
      return value;
    }
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  static std::optional<double> read(const Json& json) {
    if (json.is_number()) {
      return json.get<double>();
    }
    if (json == "nan") {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const double infinity = std::numeric_limits<double>::infinity();
    return json == "inf"    ? std::optional(infinity)
           : json == "-inf" ? std::optional(-infinity)
                            : std::nullopt;
  }
};

// The sizes must be the same.
template <class T>
void copy_bytes(const StateTensor& from, std::span<T> to) {
  if (!to.empty()) {
    std::memcpy(to.data(), from.bytes.data(), from.bytes.size());
  }
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

  template <class T>
  void value(std::string_view name, T& value) {
    if (is_saving()) {
      add(name, Form<T>::write(value));
    } else {
      value = read<T>(name, find(name));
    }
  }

  template <class T>
  void list(std::string_view name, std::vector<T>& values) {
    if (is_saving()) {
      Json& list = add(name, Json::array());
      for (const T value : values) {
        list.push_back(Form<T>::write(value));
      }
      return;
    }
    const Json& list = find(name);
    expect(list.is_array(), name, "a list");
    values.clear();
    for (const Json& each : list) {
      values.push_back(read<T>(name, each));
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
    // Without resize(), which would first write zeros: the cut of a checkpoint is one copy.
    const auto* begin = static_cast<const std::byte*>(data);
    tensor.bytes.assign(begin, begin + size * size_of(type));
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

  template <class T>
  void shaped(std::string_view name, ElementType type, std::span<T> values, Archive::Shape shape) {
    if (is_saving()) {
      save_tensor(name, type, values.data(), values.size())
          .shape.assign(shape.begin(), shape.end());
      return;
    }
    const StateTensor& saved = find_tensor(name, type);
    if (!std::ranges::equal(saved.shape, shape) || saved.bytes.size() != values.size_bytes()) {
      throw StateError(fmt::format("the tensor {} has the shape [{}]; expected [{}]", full(name),
                                   fmt::join(saved.shape, ", "), fmt::join(shape, ", ")));
    }
    copy_bytes(saved, values);
  }

  std::string full(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }

 private:
  template <class T>
  T read(std::string_view name, const Json& json) const {
    std::optional<T> value = Form<T>::read(json);
    expect(value.has_value(), name, Form<T>::kWhat);
    return std::move(*value);
  }

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

void Archive::operator()(std::string_view name, bool& value) { cursor_->value(name, value); }
void Archive::operator()(std::string_view name, double& value) { cursor_->value(name, value); }
void Archive::operator()(std::string_view name, std::int64_t& value) {
  cursor_->value(name, value);
}
void Archive::operator()(std::string_view name, std::string& value) { cursor_->value(name, value); }
void Archive::operator()(std::string_view name, std::vector<bool>& values) {
  cursor_->list(name, values);
}
void Archive::operator()(std::string_view name, std::vector<double>& values) {
  cursor_->list(name, values);
}
void Archive::operator()(std::string_view name, std::vector<std::int64_t>& values) {
  cursor_->list(name, values);
}

void Archive::tensor(std::string_view name, std::vector<float>& values) {
  if (!is_saving()) {
    values.resize(cursor_->find_tensor(name, ElementType::kFloat32).bytes.size() / sizeof(float));
  }
  tensor(name, std::span(values));
}

void Archive::tensor(std::string_view name, std::span<float> values) {
  if (is_saving()) {
    cursor_->save_tensor(name, ElementType::kFloat32, values.data(), values.size());
    return;
  }
  const StateTensor& saved = cursor_->find_tensor(name, ElementType::kFloat32);
  cursor_->expect(saved.bytes.size() == values.size_bytes(), name,
                  fmt::format("a tensor of {} numbers", values.size()));
  copy_bytes(saved, values);
}

void Archive::tensor(std::string_view name, std::span<float> values, Shape shape) {
  cursor_->shaped(name, ElementType::kFloat32, values, shape);
}
void Archive::tensor(std::string_view name, std::span<double> values, Shape shape) {
  cursor_->shaped(name, ElementType::kFloat64, values, shape);
}
void Archive::tensor(std::string_view name, std::span<std::int64_t> values, Shape shape) {
  cursor_->shaped(name, ElementType::kInt64, values, shape);
}
void Archive::tensor(std::string_view name, std::span<std::uint8_t> values, Shape shape) {
  cursor_->shaped(name, ElementType::kUint8, values, shape);
}

void Archive::bytes(std::string_view name, std::vector<std::byte>& values) {
  if (is_saving()) {
    cursor_->save_tensor(name, ElementType::kUint8, values.data(), values.size());
    return;
  }
  values = cursor_->find_tensor(name, ElementType::kUint8).bytes;
}

}  // namespace motley
