// Trainer: trains your own torch module on all processes of a session.
//
//   motley::Session session(argc, argv);
//   Net model;
//   torch::optim::Adam optimizer(model.parameters());
//   motley::Trainer trainer(session, model, optimizer, dataset, {.batch = 64, .epochs = 10});
//
//   trainer.fit([&](auto& batch) {                          // the whole training loop, or
//     return torch::nll_loss(model.forward(batch.data), batch.target);
//   });
//
//   while (auto batch = trainer.begin()) {                  // a loop of your own
//     auto loss = torch::nll_loss(model.forward(batch->data), batch->target);
//     loss.backward();
//     trainer.finish(loss);                      // or (loss, {.weight = tokens}): see
//     FinishOptions
//   }
//
// begin() returns this worker's share of the next batch; the method decides how large it is. With
// options.micro_batch, a share above it is returned in parts, one at a time: call finish() after
// each as usual, and nothing else changes. Gradients add up in between.
// finish() runs the method: it exchanges, averages and takes the optimizer's step (after the last
// part of a share). It replaces
// optimizer.zero_grad() and optimizer.step(). Uneven shares are weighted correctly: a step of
// a method with a common step is that of the mean loss over the whole batch. When the loop ends,
// every rank holds the final model.
//
// Trained are the module's parameters with requires_grad; they must be float32 on the CPU. The
// first begin() takes module and optimizer as they are then, and gives every rank those of rank 0:
// all tensors of the module and what the optimizer remembers. The optimizer's type and all its
// settings must be the same on every rank. From then to the end the same parameters are trained: a
// phase with others needs a trainer of its own, after this one. Float buffers (BatchNorm
// statistics) are averaged with the model in methods that average models; at the end every rank has
// rank 0's. A share can be a single sample, for example at the end of an epoch, and BatchNorm
// cannot train on one: see docs/api.md.
//
// Ownership: the caller owns session, module and optimizer; they must outlive the trainer. Tensors
// keep their identity, but their storage moves into one block (like DDP's buckets): do not keep raw
// pointers into it. torch::load() after the first begin() would give them other storage: refused.
// Thread rule: make all calls from one thread; all hooks run on it.
// Failure: any call may throw Refused (this cannot be trained) or RunFailed (the run failed). An
// exception of the program itself ends the run with its message (motley/session.h). A call out of
// order (begin() twice, finish() without begin(), either of them in a hook) throws
// std::logic_error, which ends the run too. Only one trainer of a session can train at a time.
#pragma once

#include "motley/base/cxx20.h"

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/schedulers/lr_scheduler.h>
#include <torch/types.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "motley/data_set.h"
#include "motley/options.h"
#include "motley/run.h"
#include "motley/session.h"
#include "motley/trainer_data.h"

namespace motley {

// How far the run is, as far as this rank knows. With methods that take steps together, all numbers
// are the same on all ranks after the same step, loss and counts if ranks exchange in each step.
struct Standing {
  std::int64_t samples = 0;  // used by all ranks together
  std::int64_t steps = 0;    // samples / batch
  // Batches used: what the counter in a plain loop would show. The last batch of an epoch may be
  // smaller, and counts as one.
  std::int64_t batches = 0;
  std::int64_t epochs = 0;     // completed passes over the data
  std::int64_t own_steps = 0;  // of this rank, however many parts its shares have
  // Of the last step, as the program computes it: weighted mean, or sum (set_reduction). Of the
  // whole step with methods that exchange gradients in each; with others of this rank's own, and
  // at an average of all ranks of all their steps since the one before. NaN if it is unknown.
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, double> counts = {};  // totals over all ranks (Trainer::count())
};

// What a loss is, of the samples of a share, and what step the run takes.
enum class Reduction {
  kMean,       // their mean, the default of torch's losses; the step is that of the batch's mean
  kSum,        // their sum; the step is that of the sum over the whole batch, as in a plain loop
  kMeanOfSum,  // their sum; the step is nevertheless that of the batch's mean
};

// What finish() may be told besides the loss.
struct FinishOptions {
  // Over what the loss is a mean: the number of tokens that count, the sum of class weights. The
  // step is then that of the weighted mean over the whole batch. Not given: the number of samples.
  std::optional<double> weight = {};
};
// What the function of fit() may return instead of a loss.
struct WeightedLoss {
  torch::Tensor loss;
  double weight = 0;
};

// The part of Trainer that does not depend on the type of samples. Not meant for direct use.
class TrainerCore {
 public:
  TrainerCore(Session& session, torch::nn::Module& module, torch::optim::Optimizer& optimizer,
              std::int64_t training_samples, Options options);
  ~TrainerCore();
  TrainerCore(const TrainerCore&) = delete;
  TrainerCore& operator=(const TrainerCore&) = delete;

  // Set all hooks before the first begin(); later it is a std::logic_error.

  // Called just before optimizer.step(), when grad() of the parameters holds the gradient of the
  // step: the place to change it, for example with torch::nn::utils::clip_grad_norm_.
  void before_step(std::function<void()> hook);
  // Called after each step of this rank, for logging. With methods that take steps together, also
  // after steps of which this rank had no samples, so it is called equally often on all ranks.
  void on_step(std::function<void(const Standing&)> hook);
  // Says the learning rate of each step: called before the step is computed, also if this rank has
  // no samples of it, with the standing before it (batches = 0 in the first step). The rate is set
  // in all groups of parameters. With methods that take steps together, ranks therefore agree; at
  // their own pace each follows the samples that all have used. A schedule that follows
  // standing.batches is that of a plain loop which calls scheduler.step() after each step.
  void schedule(std::function<double(const Standing&)> rate_of);
  // Called on every rank once per epoch, when the ranks together have used the data once more: the
  // place for learning-rate schedules. A resumed run does not call it again for epochs that were
  // done: the optimizer's learning rates are part of a checkpoint. (Add a scheduler with
  // add_state(), because it counts its steps.)
  void on_epoch(std::function<void(std::int64_t epochs)> hook);
  // Evaluates the model every options.eval_every steps, or options.eval_every_epochs epochs, and at
  // the end. Runs on rank 0 between two steps. During the call the module holds the model to
  // evaluate, in eval() mode and without gradients; afterwards it is restored, and torch's default
  // generator with it. The hook is told how far the run was with that model (samples, steps,
  // batches, epochs): rank 0 may be some steps further by then. The accuracy can end the run
  // (options.target_accuracy).
  void evaluate_with(std::function<Evaluation()> hook);
  void evaluate_with(std::function<Evaluation(const Standing&)> hook);
  // Called on every rank with the result and the standing of the model that was evaluated, a few
  // steps later: the place for early stopping, and for schedules that follow the result. With
  // methods that take steps together, all ranks call it between the same two steps (after an
  // average, if they exchange only then). Not called for the final model: see result() on rank 0.
  void on_evaluation(std::function<void(const Standing&, const Evaluation&)> hook);

  // Adds something of the program to the state of the run, under a name of its own. A checkpoint
  // holds it for each rank, beside module, optimizer, torch's default generator and standing().
  // `save` is called on every rank for each checkpoint, between two steps. `load` is called when a
  // run is resumed, in the first begin(), with what `save` returned on that rank; if it throws,
  // resuming is refused. A checkpoint without a state of this name is refused too; one that has
  // others besides is not. Throws std::invalid_argument if the name is empty, has a dot, or was
  // added before.
  void add_state(const std::string& name, std::function<std::string()> save,
                 std::function<void(const std::string&)> load);
  // Things of torch, which must outlive the trainer: a tensor, a second module (all its tensors), a
  // second optimizer (also its learning rates), a learning-rate scheduler (how many steps it has
  // taken). Loading writes into the same tensors; another shape is refused.
  void add_state(const std::string& name, const torch::Tensor& tensor);
  void add_state(const std::string& name, torch::nn::Module& module);
  void add_state(const std::string& name, torch::optim::Optimizer& optimizer);
  void add_state(const std::string& name, torch::optim::LRScheduler& scheduler);

  // Sets an order of the samples: `order` returns that of an epoch (from 0), with as many entries
  // as the data set has samples; samples may come up several times, or not at all. It is called on
  // every rank and must return the same on all of them. Call before the first begin().
  void set_order(std::function<std::vector<SampleIndex>(std::int64_t epoch)> order);

  // Says what the loop's losses are. Default: kMean. Call it before the first begin(), too.
  void set_reduction(Reduction reduction);

  // Ends the run early but cleanly: begin() returns nullopt on every rank. With methods that take
  // steps together, the step that this rank finishes next is the last one, or the next that ends in
  // an average. Otherwise each rank finishes its iteration and at most one more.
  void stop();

  // Adds to a number of options.counts, in the step that this rank finishes next. Numbers are
  // summed over all ranks with the gradient, without a message of their own (or with the next
  // average); at their own pace, with reports that workers send anyway. standing().counts has the
  // totals of the run so far. Whole numbers are exact up to 2^36 in one step. Throws
  // std::invalid_argument if options.counts does not have the name.
  void count(const std::string& name, double number);

  // The options, with what the trainer has filled in. A job file and flags may override them.
  const Options& options() const;
  // In a resumed run, from the first begin() on, it counts the whole run.
  Standing standing() const;
  // The indices of the batch that begin() returned (a share or a part of it). Valid until finish().
  std::span<const SampleIndex> indices() const;
  // The result of the finished run. Throws std::logic_error while the run goes on.
  const RunResult& result() const;

 protected:
  // nullopt when the run is over. Never empty: steps without samples are handled inside.
  std::optional<std::span<const SampleIndex>> begin_step();
  void finish_step(std::optional<double> loss,
                   const FinishOptions& options = {});  // nullopt: unknown
  // Where a loader gets its batches, if options.loader asks for one. Call before begin_step().
  void read_from(BatchSource source);
  // The batch that begin_step() returned; nullptr if there is no loader.
  Loaded take_loaded();
  // Returns when the source is no longer used.
  void stop_loading();
  // Runs `body` as part of the run: if it throws, that is reported as the first cause of failure.
  void in_step(const std::function<void()>& body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The sum of a tensor over all ranks, of the same shape and type on each (Session::sum()).
torch::Tensor sum(Session& session, const torch::Tensor& tensor);

// Data is a torch::data dataset (it has size() and get_batch(), and may be mapped) or
// motley::samples() (motley/trainer_data.h).
template <class Data>
class Trainer : public TrainerCore {
  static_assert(expect_data<Data>());

 public:
  // The module may be a torch::nn::Module, a std::shared_ptr to one, or a TORCH_MODULE holder.
  template <class Module>
  Trainer(Session& session, Module& module, torch::optim::Optimizer& optimizer, Data data,
          Options options = {})
      : TrainerCore(session, module_of(module), optimizer, BatchesOf<Data>::size(data),
                    std::move(options)),
        data_(std::move(data)) {
    read_from(batch_source(data_));
  }
  ~Trainer() { stop_loading(); }

  // This rank's next batch, a share or a part of it, or nullopt when the run is over.
  auto begin() {
    using Batch = decltype(batch_of(data_, {}));
    const auto samples = begin_step();
    std::optional<Batch> batch;
    if (samples) {
      in_step([&] {
        if (const Loaded loaded = take_loaded()) {
          batch.emplace(std::move(*static_cast<Batch*>(loaded.get())));
        } else {
          batch.emplace(batch_of(data_, *samples));
        }
      });
    }
    return batch;
  }

  // Call when the gradients of the batch are computed. The loss goes into the record, and some
  // methods decide by it. Without the argument the loss is unknown.
  void finish() { finish_step(std::nullopt); }
  void finish(const torch::Tensor& loss, const FinishOptions& options = {}) {
    finish_step(loss.template item<double>(), options);
  }
  void finish(const WeightedLoss& loss) { finish(loss.loss, {.weight = loss.weight}); }

  // Trains until the run is over. `loss_of` computes the loss of a batch, a tensor or a
  // WeightedLoss.
  template <class LossOf>
  void fit(const LossOf& loss_of) {
    using Batch = std::remove_cvref_t<decltype(*begin())>;
    constexpr bool kIsWeighted = std::is_invocable_r_v<WeightedLoss, const LossOf&, Batch&>;
    static_assert(kIsWeighted || std::is_invocable_r_v<torch::Tensor, const LossOf&, Batch&>,
                  "the function given to fit() takes a batch, auto& batch, and returns its loss, a "
                  "torch::Tensor or a motley::WeightedLoss");
    while (auto batch = begin()) {
      std::conditional_t<kIsWeighted, WeightedLoss, torch::Tensor> loss;
      in_step([&] {
        loss = loss_of(*batch);
        tensor_of(loss).backward();
      });
      finish(loss);
    }
  }

 private:
  static torch::Tensor& tensor_of(torch::Tensor& loss) { return loss; }
  static torch::Tensor& tensor_of(WeightedLoss& loss) { return loss.loss; }

  template <class Module>
  static torch::nn::Module& module_of(Module& module) {
    if constexpr (std::is_base_of_v<torch::nn::Module, Module>) {
      return module;
    } else {
      static_assert(std::is_base_of_v<torch::nn::Module, std::remove_cvref_t<decltype(*module)>>,
                    "motley::Trainer trains a torch::nn::Module, a pointer to one, or a "
                    "TORCH_MODULE holder");
      return *module;
    }
  }

  Data data_;
};

}  // namespace motley
