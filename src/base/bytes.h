// ByteWriter and ByteReader: values to bytes and back, little-endian, for small control messages.
// The reader never reads past the end: after a short or damaged message every later read gives
// zero, so it is enough to check ok() once, at the end.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace motley {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

class ByteWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T value) { append(std::as_bytes(std::span(&value, 1))); }
  void put_string(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    append(std::as_bytes(std::span(text)));
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void put_numbers(std::span<const T> numbers) {
    put(static_cast<std::uint64_t>(numbers.size()));
    append(std::as_bytes(numbers));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  // Not inlined: GCC 12 would warn of a write past the end, which is a false alarm.
  [[gnu::noinline]] void append(std::span<const std::byte> raw) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + raw.size());
    std::copy(raw.begin(), raw.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> T get() {
    T value{};
    if (auto raw = take(sizeof value); !raw.empty()) {
      std::memcpy(&value, raw.data(), sizeof value);
    }
    return value;
  }
  std::string get_string() {
    auto raw = take(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  template <class T>
  requires std::is_arithmetic_v<T> std::vector<T> get_numbers() {
    std::vector<T> numbers(get_count(sizeof(T)));
    if (const auto raw = take(numbers.size() * sizeof(T)); !raw.empty()) {
      std::memcpy(numbers.data(), raw.data(), raw.size());
    }
    return numbers;
  }
  // Reads the number of entries of at least `size` bytes each. Never more than the remaining bytes
  // can hold, so a false count cannot make the caller allocate too much.
  std::size_t get_count(std::size_t size) {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / size) {
      ok_ = false;
      return 0;
    }
    return static_cast<std::size_t>(count);
  }
  // True if no read went past the end and nothing is left over.
  bool complete() const { return ok_ && rest_.empty(); }
  bool ok() const { return ok_; }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    auto raw = rest_.first(size);
    rest_ = rest_.subspan(size);
    return raw;
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace motley
