// A State as a stream of chunks, for sending it between processes while they train.
//
//   OutgoingState out(state);
//   while (auto chunk = out.next()) { ... send *chunk ... }
//
//   IncomingState in;
//   if (!in.add(chunk)) { ... the sender is wrong ... }
//   if (in.complete()) { State state = in.take(); }
//
// Format: the length of the head (8 bytes), the head (values as JSON, then name, type and shape of
// every tensor), then the bytes of the tensors. Chunks have at most kStateChunk bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "state/state.h"

namespace motley {

inline constexpr std::size_t kStateChunk = std::size_t{1} << 20;

class OutgoingState {
 public:
  explicit OutgoingState(std::shared_ptr<const State> state);

  // The next chunk; nullopt when all were returned.
  std::optional<std::vector<std::byte>> next();

 private:
  // The bytes to send next, up to the end of the head or of a tensor; empty at the end.
  std::span<const std::byte> rest();

  std::shared_ptr<const State> state_;
  std::vector<std::byte> head_;  // with its length
  bool head_sent_ = false;
  std::map<std::string, StateTensor>::const_iterator tensor_;
  std::size_t sent_ = 0;  // of the head, or of *tensor_
};

// Chunks come from a peer, so every byte is checked. Memory grows with what has arrived, not with
// what the head announces.
class IncomingState {
 public:
  // False if this cannot be part of a state. Do not use it again then.
  bool add(std::span<const std::byte> chunk);
  bool complete() const { return has_head_ && tensor_ == state_.tensors.end(); }
  // Call if complete().
  State take();

 private:
  bool add_to_head(std::span<const std::byte>& chunk);
  bool read_head();
  bool add_to_tensors(std::span<const std::byte> chunk);
  void skip_full_tensors();

  std::vector<std::byte> head_;
  bool has_head_ = false;
  State state_;
  std::map<std::string, StateTensor>::iterator tensor_;
};

}  // namespace motley
