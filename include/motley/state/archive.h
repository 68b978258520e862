// Archive: saves the state of an object, or restores it. One function does both, so what is saved
// and what is restored cannot differ.
//
//   void Hop::state(Archive& archive) {
//     archive("iteration", iteration_);
//     archive("jumps", jumps_);                    // numbers, text, vectors and optionals of them
//     archive("queue", queue_);                    // objects that have state() themselves
//     archive.tensor("residual", residual_);       // many floats
//   }
//
// Restoring throws StateError if a value is missing or of another type: the state was written by
// another version, or it is damaged. Names must be unique within an object.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace motley {

class State;  // state/state.h

// what() names the value and says what is wrong with it.
class StateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Archive {
 public:
  // Saves into `state`, which must outlive the archive.
  static Archive saving(State& state) { return {&state, nullptr}; }
  static Archive restoring(const State& state) { return {nullptr, &state}; }
  ~Archive();
  Archive(Archive&&) noexcept;
  Archive& operator=(Archive&&) = delete;

  bool is_saving() const;

  void operator()(std::string_view name, bool& value);
  void operator()(std::string_view name, double& value);
  void operator()(std::string_view name, std::int64_t& value);
  void operator()(std::string_view name, std::string& value);
  void operator()(std::string_view name, std::vector<bool>& values);
  void operator()(std::string_view name, std::vector<double>& values);
  void operator()(std::string_view name, std::vector<std::int64_t>& values);

  // Other integers, and enums.
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(std::string_view name, T& value) {
    auto wide = static_cast<std::int64_t>(value);
    (*this)(name, wide);
    value = narrow<T>(name, wide);
  }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(std::string_view name, std::vector<T>& values) {
    std::vector<std::int64_t> wide(values.begin(), values.end());
    (*this)(name, wide);
    values.clear();
    for (const std::int64_t each : wide) {
      values.push_back(narrow<T>(name, each));
    }
  }

  // An object.
  template <class T>
  requires requires(T& object, Archive& archive) { object.state(archive); }
  void operator()(std::string_view name, T& object) {
    enter(name);
    object.state(*this);
    leave();
  }
  // Anything else. Restoring makes as many as there were.
  template <class T>
  void operator()(std::string_view name, std::vector<T>& objects) {
    enter(name);
    std::size_t size = objects.size();
    (*this)("size", size);
    check_size(size);
    objects.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      (*this)(std::to_string(i), objects[i]);
    }
    leave();
  }
  template <class T, std::size_t kSize>
  void operator()(std::string_view name, std::array<T, kSize>& values) {
    std::vector<T> list(values.begin(), values.end());
    (*this)(name, list);
    list.resize(kSize);
    std::copy(list.begin(), list.end(), values.begin());
  }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& value) {
    bool is_there = value.has_value();
    enter(name);
    (*this)("is_there", is_there);
    if (!is_there) {
      value.reset();
    } else {
      T inner = value ? *value : T{};
      (*this)("value", inner);
      value = std::move(inner);
    }
    leave();
  }

  // Floats, stored as a tensor of one dimension. Restoring a vector sets its size.
  void tensor(std::string_view name, std::vector<float>& values);
  // Of a fixed size. Restoring another size is an error.
  void tensor(std::string_view name, std::span<float> values);
  // Of a fixed shape, which is empty for a single number. Restoring another shape is an error.
  using Shape = std::span<const std::int64_t>;
  void tensor(std::string_view name, std::span<float> values, Shape shape);
  void tensor(std::string_view name, std::span<double> values, Shape shape);
  void tensor(std::string_view name, std::span<std::int64_t> values, Shape shape);
  void tensor(std::string_view name, std::span<std::uint8_t> values, Shape shape);
  // Bytes that only their owner understands.
  void bytes(std::string_view name, std::vector<std::byte>& values);

 private:
  class Cursor;
  Archive(State* to, const State* from);

  // Unsigned numbers of 64 bits are stored with the same bits.
  template <class T>
  T narrow(std::string_view name, std::int64_t wide) const {
    const T value = static_cast<T>(wide);
    if (static_cast<std::int64_t>(value) != wide) {
      fail_range(name, wide);
    }
    return value;
  }
  [[noreturn]] void fail_range(std::string_view name, std::int64_t value) const;

  void enter(std::string_view name);
  void leave();
  void check_size(std::size_t size) const;

  std::unique_ptr<Cursor> cursor_;
};

}  // namespace motley
