// Replica: what a model must offer so that methods can train it.
//
// Parameters and gradient are one flat block each, so that an exchange is one span, whatever the
// model. compute() leaves the *sum* of per-sample gradients, not their mean: sums of uneven shares
// add up to exactly the gradient of the whole batch, means do not.
//
// Protocol code calls a Replica only inside Node::busy() (see node.h).
#pragma once

#include <cstddef>
#include <span>

#include "motley/base/ids.h"
#include "motley/node/payload.h"

namespace motley {

// Floats in a row. A phantom block has a size and no data: it costs time on a link and nothing
// else.
struct Block {
  float* data = nullptr;
  std::size_t size = 0;

  bool phantom() const { return data == nullptr; }
  std::span<float> floats() const { return {data, data ? size : 0}; }
  Block part(std::size_t offset, std::size_t count) const {
    return {data ? data + offset : nullptr, count};
  }
};

// What travels of a block: a copy, for it may change meanwhile.
inline Payload payload_of(Block block) {
  return block.phantom() ? Payload::phantom(block.size * sizeof(float))
                         : Payload::copy_of(block.floats());
}

class Replica {
 public:
  // Room behind the gradient that travels with it: what a method must sum over the workers anyway
  // (the loss, a vote to stop) without a message of its own.
  static constexpr std::size_t kTail = 4;

  virtual ~Replica() = default;

  // Views onto buffers that live as long as the replica and never move.
  virtual Block parameters() = 0;
  // As long as parameters() plus kTail. The tail belongs to the method; compute() leaves it alone.
  virtual Block gradient() = 0;
  // The last kTail of it. Who needs nothing else should ask for no more: a replica may have work to
  // do before the gradient is what it should be.
  virtual Block tail() {
    const Block all = gradient();
    return all.part(all.size - kTail, kTail);
  }
  // State that is not trained but belongs to the model (BatchNorm statistics); may be empty.
  virtual Block buffers() = 0;

  // Sets gradient() to the sum of the gradients of these samples; returns the sum of their losses.
  // No samples: a gradient of zeros.
  virtual double compute(std::span<const SampleIndex> samples) = 0;
  // One step of the optimizer with gradient() times `scale`.
  virtual void apply(double scale) = 0;
};

// Sizes only: every call is free. Timing at scale uses it.
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
