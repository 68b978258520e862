// Replica: the interface of a model that methods can train.
//
// Parameters and gradient are one flat block each, so any model is exchanged as one span. compute()
// returns the *sum* of per-sample gradients, not the mean: sums over uneven shares add up to
// exactly the gradient of the whole batch; means do not.
//
// Protocol code must call a Replica only inside Node::busy() (node.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "motley/node/payload.h"
#include "motley/state/archive.h"

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

// One tensor of a model: its name, its shape and its place in a block.
struct TensorInfo {
  enum class In { kParameters, kBuffers };  // the block that contains it

  std::string name;                 // "fc1.weight"
  std::vector<std::int64_t> shape;  // empty for a single number
  In in = In::kParameters;
  std::size_t offset = 0;  // of its first number in the block

  // The number of its elements.
  std::size_t size() const {
    std::size_t product = 1;
    for (const std::int64_t length : shape) {
      product *= static_cast<std::size_t>(length);
    }
    return product;
  }

  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

// One line per tensor, for example "fc1.weight 128x784". Used to compare the models of all ranks.
inline std::string describe(std::span<const TensorInfo> tensors) {
  std::string text;
  for (const TensorInfo& tensor : tensors) {
    text += tensor.name;
    const char* before = " ";
    for (const std::int64_t length : tensor.shape) {
      text += before;
      text += std::to_string(length);
      before = "x";
    }
    text += "\n";
  }
  return text;
}

class Replica {
 public:
  // Extra floats behind the gradient that are exchanged with it: values to be summed over workers,
  // which saves a message. The first ones belong to the method (the loss, votes to stop), the
  // others to the training loop (sync/step_numbers.h): a method sums them along and does not change
  // them.
  static constexpr std::size_t kMethodTail = 4;
  static constexpr std::size_t kTail = 33;

  // Before the names of the model's tensors in its state: "model.fc1.weight".
  static constexpr const char* kModelPart = "model.";

  virtual ~Replica() = default;

  // Views of buffers that live as long as the replica and never move.
  virtual Block parameters() = 0;
  // Size: parameters() plus kTail. compute() does not touch the tail.
  virtual Block gradient() = 0;
  // The last kTail floats of gradient(). Prefer it if you need only the tail: gradient() may have
  // to do work first.
  virtual Block tail() {
    const Block all = gradient();
    return all.part(all.size - kTail, kTail);
  }
  // State of the model that is not trained (BatchNorm statistics). May be empty.
  virtual Block buffers() = 0;

  // The tensors of parameters(), then those of buffers(), in the order of their offsets and without
  // gaps. By default, each block that is not empty is one tensor, named "parameters" or "buffers".
  virtual std::vector<TensorInfo> tensors() {
    std::vector<TensorInfo> blocks;
    append_block(blocks, "parameters", TensorInfo::In::kParameters, parameters().size);
    append_block(blocks, "buffers", TensorInfo::In::kBuffers, buffers().size);
    return blocks;
  }

  // The most samples that compute() may compute at once, to limit memory (train.micro_batch).
  // Called before the first compute(), which then computes more samples in parts
  // (base/micro_batch.h). By default nothing: for replicas whose memory does not grow with the
  // samples.
  virtual void set_micro_batch(std::size_t) {}
  // Sets gradient() to the sum of the samples' gradients and returns the sum of their losses.
  // Without samples the gradient is zero.
  virtual double compute(std::span<const SampleIndex> samples) = 0;
  // Multiplies gradient() without the tail by a factor; by 0, it becomes zero whatever it was. Call
  // it before the gradient is exchanged.
  virtual void scale_gradient(double factor) {
    const Block all = gradient();
    for (float& value : all.part(0, all.size - kTail).floats()) {
      value = factor == 0 ? 0.0F : value * static_cast<float>(factor);
    }
  }
  // For how many steps ahead expect() is called, so that the replica can read samples while it
  // computes others. 0: never.
  virtual int reads_ahead() const { return 0; }
  // The samples that this worker will probably compute in the steps after the current one: a hint,
  // which may turn out wrong. Replaces the last one. Must return soon; unlike all other calls it
  // may come on any thread and outside of busy().
  virtual void expect(const std::vector<std::vector<SampleIndex>>&) {}
  // Takes one step of the optimizer with gradient() times `scale`.
  virtual void apply(double scale) = 0;

  // Everything that training changes. By default parameters and buffers, below kModelPart; a
  // replica with an optimizer that has a state, or that draws random numbers, adds them.
  virtual void state(Archive& archive) {
    for (const TensorInfo& each : tensors()) {
      const Block block = each.in == TensorInfo::In::kParameters ? parameters() : buffers();
      if (!block.phantom()) {
        archive.tensor(std::string(kModelPart) + each.name,
                       block.part(each.offset, each.size()).floats(), each.shape);
      }
    }
  }

  // The part of the state that all workers of a program's run have from rank 0, when the run begins
  // and when it is over, besides parameters and buffers: what the optimizer remembers, for example.
  // Not what each worker needs for itself, such as random generators. By default nothing.
  virtual void common_state(Archive&) {}

 private:
  static void append_block(std::vector<TensorInfo>& blocks, const char* name, TensorInfo::In in,
                           std::size_t size) {
    if (size > 0) {
      blocks.push_back({.name = name, .shape = {static_cast<std::int64_t>(size)}, .in = in});
    }
  }
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
