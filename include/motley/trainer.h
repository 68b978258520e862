// Trainer: a torch module of your own, trained by all processes of a session.
//
//   motley::Session session(argc, argv);
//   Net model;
//   torch::optim::Adam optimizer(model.parameters());
//   motley::Trainer trainer(session, model, optimizer, dataset, {.batch = 64, .epochs = 10});
//
//   trainer.fit([&](auto& batch) {                          // all of training, or
//     return torch::nll_loss(model.forward(batch.data), batch.target);
//   });
//
//   while (auto batch = trainer.begin()) {                  // a loop of your own
//     auto loss = torch::nll_loss(model.forward(batch->data), batch->target);
//     loss.backward();
//     trainer.finish(loss);
//   }
//
// begin() gives this worker's share of the next batch, however large the method makes it. finish()
// does what the method is about: exchanges, averages, takes the optimizer's step. It takes the
// place of optimizer.zero_grad() and optimizer.step(). Uneven shares weigh what they should: the
// step of all_reduce is that of the mean loss over the whole batch. When the loop ends, every rank
// holds the model that the run leaves.
//
// What is trained: the module's parameters with requires_grad, float32 on the CPU; from the first
// begin() on all ranks have those of rank 0. Float buffers (BatchNorm statistics) travel with the
// model where a method averages models, and end as rank 0's. A share may be a single sample, as
// what is left of an epoch, and BatchNorm cannot train on one: docs/api.md. Frozen parameters, the
// optimizer's kind and its learning rates must be the same everywhere.
//
// Ownership: session, module and optimizer are the caller's and outlive the trainer. Their tensors
// keep their identity, but their storage becomes part of one block (as for DDP's buckets): do not
// keep raw pointers into it, nor replace parameters afterwards.
// Thread rule: one thread makes all calls, and all hooks run on it.
// Failure: Refused for what cannot be trained, RunFailed for a run that fails, from any call; an
// exception of the program's own takes the run down with its message (motley/session.h). A call out
// of turn (begin() twice, finish() without begin(), either of them in a hook) is a
// std::logic_error, and ends the run likewise. One trainer of a session trains at a time.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "motley/options.h"
#include "motley/run.h"
#include "motley/session.h"

namespace motley {

// Where a run stands, as far as this rank knows.
struct Standing {
  std::int64_t samples = 0;    // used by all ranks together
  std::int64_t steps = 0;      // samples / batch
  std::int64_t epochs = 0;     // passes over the data that are done
  std::int64_t own_steps = 0;  // finish() calls of this rank
};

// Whether a loss is the mean over its samples, as torch's losses are by default, or their sum.
enum class Reduction { kMean, kSum };

// Samples of one's own: `get` makes whatever the loop wants of these places in the data set.
template <class Get>
struct Samples {
  std::int64_t count;
  Get get;
};
template <class Get>
Samples<Get> samples(std::int64_t count, Get get) {
  return {count, std::move(get)};
}
template <class Data>
inline constexpr bool kIsSamples = false;
template <class Get>
inline constexpr bool kIsSamples<Samples<Get>> = true;

// What a Trainer does that does not depend on the kind of samples. Not to be used by itself.
class TrainerCore {
 public:
  TrainerCore(Session& session, torch::nn::Module& module, torch::optim::Optimizer& optimizer,
              std::int64_t training_samples, Options options);
  ~TrainerCore();
  TrainerCore(const TrainerCore&) = delete;
  TrainerCore& operator=(const TrainerCore&) = delete;

  // All hooks are set before the first begin().

  // The gradient of the step is in the parameters' grad(): the last moment to change it, as
  // torch::nn::utils::clip_grad_norm_ does. Just before optimizer.step().
  void before_step(std::function<void()> hook);
  // After each finish() of this rank: for logging.
  void on_step(std::function<void(const Standing&)> hook);
  // The ranks together have come through the data once more: for learning-rate schedules. Called
  // on every rank, once for each epoch.
  void on_epoch(std::function<void(std::int64_t epochs)> hook);
  // Judges the model, every options.eval_every steps and at the end. On rank 0, between two steps:
  // the module holds what is to be judged, in eval() and without gradients; then everything is as
  // before. The accuracy may end the run (options.target_accuracy).
  void evaluate_with(std::function<Evaluation()> hook);

  // What the loop's losses are; the mean, unless said otherwise.
  void set_reduction(Reduction reduction);

  // Ends the run early, in order: some steps later begin() says so, on every rank.
  void stop();

  Standing standing() const;
  // The places in the data set of the batch that begin() gave. Valid until finish().
  std::span<const SampleIndex> indices() const;
  // Once the run is over; before, std::logic_error.
  const RunResult& result() const;

 protected:
  // nullopt: the run is over. Never empty: a share of nothing is dealt with inside.
  std::optional<std::span<const SampleIndex>> begin_step();
  void finish_step(double loss);
  // Runs `body` in the name of the run: what it throws is the run's first cause.
  void in_step(const std::function<void()>& body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The data set is a torch::data one, mapped as you like (it has size() and get_batch()), or
// motley::samples(count, get).
template <class Data>
class Trainer : public TrainerCore {
 public:
  // The module may be a torch::nn::Module, a std::shared_ptr to one, or a holder of TORCH_MODULE.
  template <class Module>
  Trainer(Session& session, Module& module, torch::optim::Optimizer& optimizer, Data data,
          Options options = {})
      : TrainerCore(session, module_of(module), optimizer, size_of(data), std::move(options)),
        data_(std::move(data)) {}

  // This rank's next batch; nullopt: the run is over.
  auto begin() {
    const auto places = begin_step();
    std::optional<decltype(batch_of(*places))> batch;
    if (places) {
      in_step([&] { batch.emplace(batch_of(*places)); });
    }
    return batch;
  }

  // The gradients are computed. The loss is what the record shows and adsp and ashl decide by;
  // without one it is not known.
  void finish() { finish_step(std::numeric_limits<double>::quiet_NaN()); }
  void finish(const torch::Tensor& loss) { finish_step(loss.template item<double>()); }

  // `loss_of` makes a loss of a batch.
  template <class LossOf>
  void fit(const LossOf& loss_of) {
    while (auto batch = begin()) {
      torch::Tensor loss;
      in_step([&] {
        loss = loss_of(*batch);
        loss.backward();
      });
      finish(loss);
    }
  }

 private:
  template <class Module>
  static torch::nn::Module& module_of(Module& module) {
    if constexpr (std::is_base_of_v<torch::nn::Module, Module>) {
      return module;
    } else {
      return *module;
    }
  }

  static std::int64_t size_of(const Data& data) {
    if constexpr (kIsSamples<Data>) {
      return data.count;
    } else if (const auto size = data.size()) {
      return static_cast<std::int64_t>(*size);
    } else {
      throw Refused("the data set does not know its size: motley deals out places in it");
    }
  }

  auto batch_of(std::span<const SampleIndex> places) {
    if constexpr (kIsSamples<Data>) {
      return data_.get(places);
    } else {
      places_.assign(places.begin(), places.end());
      return data_.get_batch(places_);
    }
  }

  Data data_;
  std::vector<std::size_t> places_;
};

}  // namespace motley
