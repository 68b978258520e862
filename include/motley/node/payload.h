// Payload: the bytes of a message.
//
//   Payload::copy_of(floats)    a copy; inside a process it is shared, not copied again
//   Payload::adopt(owner, ...)  bytes kept alive by `owner`; nobody may change them any more
//   Payload::borrow(floats)     the caller's bytes, valid until send() returns; to keep them
//                               longer, call kept()
//   Payload::phantom(size)      a size without bytes, to time models that do not fit in memory
//
// Copying a Payload copies a pointer. Thread rule: the bytes are immutable, so any thread may read
// them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

namespace motley {

class Payload {
 public:
  Payload() = default;

  static Payload copy_of(std::span<const std::byte> bytes);
  static Payload copy_of(std::span<const float> floats) { return copy_of(std::as_bytes(floats)); }
  static Payload adopt(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);
  static Payload borrow(std::span<const float> floats);
  static Payload phantom(std::size_t size);
  // A trivially copyable struct as bytes, and back. record() is nullopt if the size differs.
  template <class Record>
  static Payload of_record(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record>);
    return copy_of(std::as_bytes(std::span(&record, 1)));
  }
  template <class Record>
  std::optional<Record> record() const {
    static_assert(std::is_trivially_copyable_v<Record>);
    if (bytes().size() != sizeof(Record)) {
      return std::nullopt;
    }
    Record record;
    std::memcpy(&record, data_, sizeof record);
    return record;
  }

  // The size on the wire in bytes, also for a phantom.
  std::size_t size() const { return size_; }
  bool is_phantom() const { return data_ == nullptr && size_ > 0; }
  bool is_borrowed() const { return data_ != nullptr && owner_ == nullptr; }

  // Empty for a phantom.
  std::span<const std::byte> bytes() const { return {data_, data_ ? size_ : 0}; }
  // The bytes as floats. Payloads made by this class are aligned for float.
  std::span<const float> floats() const;

  // A payload whose bytes outlive the call: this one, or a copy if it is borrowed.
  Payload kept() const { return is_borrowed() ? copy_of(bytes()) : *this; }
  // The bytes after the first `offset`, sharing the owner.
  Payload from(std::size_t offset) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

// A block of at least `size` bytes, taken from a pool of used blocks if possible. A large fresh
// block costs a page fault per 4 KiB, which is more than moving the bytes; a used one costs
// nothing.
std::shared_ptr<std::byte> allocate_block(std::size_t size);

}  // namespace motley
