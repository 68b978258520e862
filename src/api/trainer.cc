#include "motley/trainer.h"

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "api/module_replica.h"
#include "compute/threads.h"
#include "compute/torch_error.h"

namespace motley {

class TrainerCore::Impl {
 public:
  Impl(Session& session, torch::nn::Module& module, torch::optim::Optimizer& optimizer,
       std::int64_t samples, Options options)
      : session_(session),
        samples_(samples),
        options_(std::move(options)),
        replica_(module, optimizer) {}

  std::optional<std::span<const SampleIndex>> begin() {
    if (!run_) {
      start();
    }
    // Before finish(), the run refuses begin_share().
    const bool in_share = part_.empty() && !rest_.empty();
    if (!in_share && !begin_share()) {
      return std::nullopt;
    }
    part_ = next_part(rest_, run_->job().train.micro_batch_of(session_.rank()));
    return part_;
  }

  void finish(double loss) {
    if (!run_) {
      throw std::logic_error("finish() before the first begin()");
    }
    const bool is_last = rest_.empty();
    const double scale = reduction_ == Reduction::kMean ? static_cast<double>(part_.size()) : 1;
    in_step([&] {
      if (part_.empty() && !is_last) {
        throw std::logic_error("finish() called without a begin() that returned a part");
      }
      is_last ? replica_.take_gradients(scale) : replica_.put_aside(scale);
    });
    loss_sum_ += loss * scale;
    if (is_last) {
      finish_share();
    }
    part_ = {};
  }

  void in_step(const std::function<void()>& body) { run_->in_step(body); }

  void stop() {
    stop_ = true;
    if (run_) {
      run_->stop();
    }
  }

  const RunResult& result() const {
    return run_ ? run_->result() : throw std::logic_error("result() called before the run is over");
  }

  Session& session_;
  const std::int64_t samples_;
  const Options options_;
  ModuleReplica replica_;
  Reduction reduction_ = Reduction::kMean;
  std::function<void(const Standing&)> on_step_;
  std::function<void(std::int64_t)> on_epoch_;
  std::function<Evaluation()> evaluate_;
  Standing standing_;
  std::span<const SampleIndex> part_;  // between begin() and finish()
  std::unique_ptr<Run> run_;           // from the first begin() on

 private:
  bool stop_ = false;                  // may be set before there is a run
  std::span<const SampleIndex> rest_;  // of the share: the parts after part_
  double loss_sum_ = 0;                // of the parts that are finished

  // False when the run is over. An empty share is not shown to the program.
  bool begin_share() {
    while (const auto work = run_->begin()) {
      replica_.clear();
      if (work->count > 0) {
        rest_ = work->samples;
        return true;
      }
      advance(run_->finish(0));
    }
    return false;
  }

  void start() {
    RunHooks hooks;
    hooks.settings = replica_.settings();
    if (evaluate_) {
      hooks.evaluate = [this](const Snapshot& snapshot) {
        Evaluation evaluation;
        replica_.with(snapshot, [&] { evaluation = evaluate_(); });
        return evaluation;
      };
    }
    run_ = std::make_unique<Run>(session_, options_, replica_, samples_, std::move(hooks));
    // Each process would use every core. A number set by the user is kept.
    if (session_.shares_machine() && !std::getenv("OMP_NUM_THREADS")) {
      set_threads(run_->job().cluster.threads);
    }
    if (stop_) {
      run_->stop();
    }
  }

  void finish_share() {
    const Progress progress = run_->finish(std::exchange(loss_sum_, 0));
    ++standing_.own_steps;
    advance(progress);
    if (on_step_) {
      in_step([&] { on_step_(standing_); });
    }
  }

  void advance(const Progress& progress) {
    standing_.samples = progress.samples;
    standing_.steps = progress.samples / run_->job().train.batch;
    const std::int64_t epochs = progress.samples / samples_;
    while (standing_.epochs < epochs) {
      ++standing_.epochs;
      if (on_epoch_) {
        in_step([&] { on_epoch_(standing_.epochs); });
      }
    }
  }
};

TrainerCore::TrainerCore(Session& session, torch::nn::Module& module,
                         torch::optim::Optimizer& optimizer, std::int64_t training_samples,
                         Options options)
    : impl_(std::make_unique<Impl>(session, module, optimizer, training_samples,
                                   std::move(options))) {}
TrainerCore::~TrainerCore() = default;

void TrainerCore::before_step(std::function<void()> hook) {
  impl_->replica_.set_before_step(std::move(hook));
}
void TrainerCore::on_step(std::function<void(const Standing&)> hook) {
  impl_->on_step_ = std::move(hook);
}
void TrainerCore::on_epoch(std::function<void(std::int64_t)> hook) {
  impl_->on_epoch_ = std::move(hook);
}
void TrainerCore::evaluate_with(std::function<Evaluation()> hook) {
  impl_->evaluate_ = std::move(hook);
}
void TrainerCore::set_reduction(Reduction reduction) { impl_->reduction_ = reduction; }
void TrainerCore::stop() { impl_->stop(); }

Standing TrainerCore::standing() const { return impl_->standing_; }
std::span<const SampleIndex> TrainerCore::indices() const { return impl_->part_; }
const RunResult& TrainerCore::result() const { return impl_->result(); }

std::optional<std::span<const SampleIndex>> TrainerCore::begin_step() { return impl_->begin(); }
void TrainerCore::finish_step(double loss) { impl_->finish(loss); }
void TrainerCore::in_step(const std::function<void()>& body) { impl_->in_step(body); }

}  // namespace motley
