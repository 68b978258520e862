#include "runtime/run/state_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace motley {
namespace {

// Values are small: names, numbers and short lists.
constexpr std::uint64_t kMostHeadBytes = std::uint64_t{1} << 30;
// Reserved at once for a tensor. Larger ones grow as they arrive.
constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 28;

std::vector<std::byte> head_of(const State& state) {
  ByteWriter head;
  const std::string values = state.values.dump();
  head.put_numbers(std::span(values));
  head.put(static_cast<std::uint64_t>(state.tensors.size()));
  for (const auto& [name, tensor] : state.tensors) {
    head.put_string(name);
    head.put(static_cast<std::uint8_t>(tensor.type));
    head.put_numbers(std::span(tensor.shape));
  }
  ByteWriter all;
  all.put_numbers(std::span<const std::uint8_t>(
      reinterpret_cast<const std::uint8_t*>(head.bytes().data()), head.bytes().size()));
  return all.bytes();
}

// nullopt if the shape is not one, or if its size does not fit into memory.
std::optional<std::uint64_t> bytes_of(ElementType type, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = size_of(type);
  for (const std::int64_t length : shape) {
    if (length < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(length), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes < (std::uint64_t{1} << 60) ? std::optional(bytes) : std::nullopt;
}

std::uint64_t whole_size(const StateTensor& tensor) { return *bytes_of(tensor.type, tensor.shape); }

}  // namespace

OutgoingState::OutgoingState(std::shared_ptr<const State> state)
    : state_(std::move(state)), head_(head_of(*state_)), tensor_(state_->tensors.begin()) {}

std::span<const std::byte> OutgoingState::rest() {
  if (!head_sent_) {
    if (sent_ < head_.size()) {
      return std::span(head_).subspan(sent_);
    }
    head_sent_ = true;
    sent_ = 0;
  }
  while (tensor_ != state_->tensors.end() && sent_ == tensor_->second.bytes.size()) {
    ++tensor_;
    sent_ = 0;
  }
  return tensor_ == state_->tensors.end() ? std::span<const std::byte>()
                                          : std::span(tensor_->second.bytes).subspan(sent_);
}

std::optional<std::vector<std::byte>> OutgoingState::next() {
  std::vector<std::byte> chunk;
  for (auto more = rest(); !more.empty() && chunk.size() < kStateChunk; more = rest()) {
    const auto part = more.first(std::min(more.size(), kStateChunk - chunk.size()));
    chunk.insert(chunk.end(), part.begin(), part.end());
    sent_ += part.size();
  }
  return chunk.empty() ? std::nullopt : std::optional(std::move(chunk));
}

bool IncomingState::add(std::span<const std::byte> chunk) {
  return !chunk.empty() && !complete() && (has_head_ || add_to_head(chunk)) &&
         (!has_head_ ? chunk.empty() : add_to_tensors(chunk));
}

// Takes from the chunk what belongs to the head.
bool IncomingState::add_to_head(std::span<const std::byte>& chunk) {
  std::uint64_t length = 0;
  const auto append = [&](std::size_t up_to) {
    const std::size_t missing = up_to - std::min(up_to, head_.size());
    const auto part = chunk.first(std::min(missing, chunk.size()));
    head_.insert(head_.end(), part.begin(), part.end());
    chunk = chunk.subspan(part.size());
  };
  append(sizeof length);
  if (head_.size() < sizeof length) {
    return true;
  }
  std::memcpy(&length, head_.data(), sizeof length);
  if (length > kMostHeadBytes) {
    return false;
  }
  append(sizeof length + static_cast<std::size_t>(length));
  return head_.size() < sizeof length + length || read_head();
}

bool IncomingState::read_head() {
  ByteReader head{std::span(head_).subspan(sizeof(std::uint64_t))};
  const std::vector<char> values = head.get_numbers<char>();
  state_.values = nlohmann::json::parse(values, nullptr, false);
  const std::size_t count = head.get_count(13);
  for (std::size_t i = 0; i < count && head.ok(); ++i) {
    std::string name = head.get_string();
    StateTensor tensor;
    const auto type = head.get<std::uint8_t>();
    tensor.type = static_cast<ElementType>(type);
    tensor.shape = head.get_numbers<std::int64_t>();
    if (type > static_cast<std::uint8_t>(ElementType::kFloat64) ||
        !bytes_of(tensor.type, tensor.shape) ||
        !state_.tensors.emplace(std::move(name), std::move(tensor)).second) {
      return false;
    }
  }
  head_ = {};
  has_head_ = head.complete() && state_.values.is_object();
  tensor_ = state_.tensors.begin();
  skip_full_tensors();
  return has_head_;
}

bool IncomingState::add_to_tensors(std::span<const std::byte> chunk) {
  while (!chunk.empty() && !complete()) {
    std::vector<std::byte>& bytes = tensor_->second.bytes;
    const std::uint64_t whole = whole_size(tensor_->second);
    if (bytes.empty()) {
      bytes.reserve(static_cast<std::size_t>(std::min(whole, kMostReserved)));
    }
    const auto missing = static_cast<std::size_t>(whole - bytes.size());
    const auto part = chunk.first(std::min(missing, chunk.size()));
    bytes.insert(bytes.end(), part.begin(), part.end());
    chunk = chunk.subspan(part.size());
    skip_full_tensors();
  }
  return chunk.empty();
}

void IncomingState::skip_full_tensors() {
  while (tensor_ != state_.tensors.end() &&
         tensor_->second.bytes.size() == whole_size(tensor_->second)) {
    ++tensor_;
  }
}

State IncomingState::take() {
  MOTLEY_CHECK(complete(), "the state has not arrived");
  return std::move(state_);
}

}  // namespace motley
