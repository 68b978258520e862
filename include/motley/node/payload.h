// The bytes of a message.
//
//   Payload::copy_of(floats)    bytes of its own; shared, never copied, inside a process
//   Payload::adopt(owner, ...)  bytes kept alive by `owner`, which nobody may change any more
//   Payload::borrow(floats)     the caller's bytes, good until send() returns: whoever must keep
//                               them longer calls kept()
//   Payload::phantom(size)      a size without bytes, for timing models too large to hold
//
// Copying a Payload copies a pointer. Thread rule: the bytes are immutable, so any thread may read.
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
  // A record of plain numbers, as it lies in memory; and back, nullopt when the size is another.
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

  // The size on the wire, in bytes; of a phantom too.
  std::size_t size() const { return size_; }
  bool is_phantom() const { return data_ == nullptr && size_ > 0; }
  bool is_borrowed() const { return data_ != nullptr && owner_ == nullptr; }

  // Empty for a phantom.
  std::span<const std::byte> bytes() const { return {data_, data_ ? size_ : 0}; }
  // The bytes as floats. Every payload of ours begins at an address fit for them.
  std::span<const float> floats() const;

  // This payload with bytes that outlive the call: itself, or a copy when borrowed.
  Payload kept() const { return is_borrowed() ? copy_of(bytes()) : *this; }
  // What follows the first `offset` bytes, sharing the owner.
  Payload from(std::size_t offset) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

// A block of at least `size` bytes from a pool of used ones. Large blocks fresh from the system
// cost a page fault per 4 KiB, which is more than moving the bytes; used ones cost nothing.
std::shared_ptr<std::byte> allocate_block(std::size_t size);

}  // namespace motley
