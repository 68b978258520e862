// Replica: the interface of a model that methods can train.
//
// Parameters and gradient are one flat block each, so any model is exchanged as one span. compute()
// returns the *sum* of per-sample gradients, not the mean: sums over uneven shares add up to
// exactly the gradient of the whole batch; means do not.
//
// Protocol code must call a Replica only inside Node::busy() (node.h).
#pragma once

#include <cstddef>
#include <span>

#include "motley/base/ids.h"
#include "motley/node/payload.h"

namespace motley {

// A contiguous range of floats. A phantom block has a size but no data: sending it takes time on a
// link and costs nothing else.
struct Block {
  float* data = nullptr;
  std::size_t size = 0;

  bool phantom() const { return data == nullptr; }
  std::span<float> floats() const { return {data, data ? size : 0}; }
  Block part(std::size_t offset, std::size_t count) const {
    return {data ? data + offset : nullptr, count};
  }
};

// The block as a payload. It is copied because the block may change while the message travels.
inline Payload payload_of(Block block) {
  return block.phantom() ? Payload::phantom(block.size * sizeof(float))
                         : Payload::copy_of(block.floats());
}

class Replica {
 public:
  // Extra floats behind the gradient that are exchanged with it. Methods use them for values to be
  // summed over workers (the loss, votes to stop), which saves a message.
  static constexpr std::size_t kTail = 4;

  virtual ~Replica() = default;

  // Views of buffers that live as long as the replica and never move.
  virtual Block parameters() = 0;
  // Size: parameters() plus kTail. The tail belongs to the method; compute() does not touch it.
  virtual Block gradient() = 0;
  // The last kTail floats of gradient(). Prefer it if you need only the tail: gradient() may have
  // to do work first.
  virtual Block tail() {
    const Block all = gradient();
    return all.part(all.size - kTail, kTail);
  }
  // State of the model that is not trained (BatchNorm statistics). May be empty.
  virtual Block buffers() = 0;

  // Sets gradient() to the sum of the samples' gradients and returns the sum of their losses.
  // Without samples the gradient is zero.
  virtual double compute(std::span<const SampleIndex> samples) = 0;
  // Takes one step of the optimizer with gradient() times `scale`.
  virtual void apply(double scale) = 0;
};

// A replica with sizes but no data; every call is free. Used to simulate timing at scale.
class PhantomReplica final : public Replica {
 public:
  explicit PhantomReplica(std::size_t parameters) : parameters_(parameters) {}
  Block parameters() override { return {nullptr, parameters_}; }
  Block gradient() override { return {nullptr, parameters_ + kTail}; }
  Block buffers() override { return {}; }
  double compute(std::span<const SampleIndex>) override { return 0; }
  void apply(double) override {}

 private:
  std::size_t parameters_;
};

}  // namespace motley
