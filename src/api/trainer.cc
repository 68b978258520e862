#include "motley/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>

#include "api/module_replica.h"
#include "api/program_state.h"
#include "api/trainer_position.h"
#include "compute/threads.h"
#include "compute/torch_error.h"
#include "session/session_impl.h"
#include "session/warning.h"

namespace motley {

class TrainerCore::Impl {
 public:
  Impl(Session& session, torch::nn::Module& module, torch::optim::Optimizer& optimizer,
       std::int64_t samples, Options options)
      : session_(session),
        samples_(samples),
        options_(std::move(options)),
        replica_(module, optimizer),
        position_(samples) {
    replica_.set_more_state([this](Archive& archive) {
      archive("trainer", *this);
      warn_of_lost_optimizer();
    });
  }

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

  void finish(std::optional<double> loss) {
    if (!run_) {
      throw std::logic_error("finish() before the first begin()");
    }
    warn_of(loss);
    const bool is_last = rest_.empty();
    const double scale = reduction_ == Reduction::kMean ? static_cast<double>(part_.size()) : 1;
    in_step([&] {
      if (part_.empty() && !is_last) {
        throw std::logic_error("finish() called without a begin() that returned a part");
      }
      is_last ? replica_.take_gradients(scale) : replica_.put_aside(scale);
    });
    loss_sum_ += loss.value_or(std::numeric_limits<double>::quiet_NaN()) * scale;
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

  Standing standing() const {
    return position_.standing(run_ ? run_->job().train.batch
                                   : std::max<std::int64_t>(options_.batch, 1));
  }

  // For what must be known when the run begins. A hook that is set later would miss a part of it.
  Impl& before_the_run(const char* call) {
    if (run_) {
      throw std::logic_error(fmt::format("{}() called after the first begin()", call));
    }
    return *this;
  }
  ProgramState& program_state() { return before_the_run("add_state").program_state_; }

  // The run calls it between two steps, as part of the replica's state.
  void state(Archive& archive) {
    archive("position", position_);
    archive("program", program_state_);
  }

  Session& session_;
  const std::int64_t samples_;
  const Options options_;
  ModuleReplica replica_;
  Reduction reduction_ = Reduction::kMean;
  std::function<void(const Standing&)> on_step_;
  std::function<void(std::int64_t)> on_epoch_;
  std::function<Evaluation()> evaluate_;
  std::span<const SampleIndex> part_;  // between begin() and finish()
  std::unique_ptr<Run> run_;           // from the first begin() on

 private:
  TrainerPosition position_;
  ProgramState program_state_;
  bool has_warned_ = false;
  bool stop_ = false;                  // may be set before there is a run
  std::span<const SampleIndex> rest_;  // of the share: the parts after part_
  double loss_sum_ = 0;                // of the parts that are finished

  void warn_of_lost_optimizer() {
    if (replica_.optimizer_is_lost() && session_.is_main() && !std::exchange(has_warned_, true)) {
      print_notice(
          "warning: checkpoints are without the state of the optimizer, because its save() writes "
          "nothing: override save() and load() to be able to resume");
    }
  }

  void warn_of(std::optional<double> loss) {
    if (loss && !std::isfinite(*loss)) {
      replica_.warnings().once(
          "loss", fmt::format("the loss is {} in step {} of rank {}; its gradient goes into every "
                              "rank's model",
                              *loss, position_.standing(1).own_steps + 1, session_.rank()));
    }
  }

  // False when the run is over. An empty share is not shown to the program.
  bool begin_share() {
    in_step([this] { replica_.check(); });
    while (const auto work = begin_work()) {
      replica_.clear();
      if (work->count > 0) {
        rest_ = work->samples;
        return true;
      }
      replica_.take_nothing();
      advance(run_->finish(0));
    }
    return false;
  }

  void start() {
    replica_.begin_run();
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

  // A state that does not fit is bad input.
  std::optional<Work> begin_work() {
    try {
      return run_->begin();
    } catch (const StateError& error) {
      const bool resumes = session_.impl().resume || options_.resume;
      throw Refused(fmt::format("cannot go on from the {}: {}",
                                resumes ? "checkpoint" : "state of the run", error.what()));
    }
  }

  // A step that was cut off because a rank was lost is no step: what it computed is dealt again.
  void finish_share() {
    const Progress progress = run_->finish(std::exchange(loss_sum_, 0));
    replica_.end_step();
    if (!run_->applied()) {
      return;
    }
    position_.count_own_step();
    advance(progress);
    if (on_step_) {
      in_step([&] { on_step_(standing()); });
    }
  }

  void advance(const Progress& progress) {
    position_.advance(progress.samples, [this](std::int64_t epochs) {
      if (on_epoch_) {
        in_step([&] { on_epoch_(epochs); });
      }
    });
  }
};

TrainerCore::TrainerCore(Session& session, torch::nn::Module& module,
                         torch::optim::Optimizer& optimizer, std::int64_t training_samples,
                         Options options)
    : impl_(std::make_unique<Impl>(session, module, optimizer, training_samples,
                                   std::move(options))) {}
TrainerCore::~TrainerCore() = default;

void TrainerCore::before_step(std::function<void()> hook) {
  impl_->before_the_run("before_step").replica_.set_before_step(std::move(hook));
}
void TrainerCore::on_step(std::function<void(const Standing&)> hook) {
  impl_->before_the_run("on_step").on_step_ = std::move(hook);
}
void TrainerCore::on_epoch(std::function<void(std::int64_t)> hook) {
  impl_->before_the_run("on_epoch").on_epoch_ = std::move(hook);
}
void TrainerCore::evaluate_with(std::function<Evaluation()> hook) {
  impl_->before_the_run("evaluate_with").evaluate_ = std::move(hook);
}
void TrainerCore::add_state(const std::string& name, std::function<std::string()> save,
                            std::function<void(const std::string&)> load) {
  impl_->program_state().add(name, std::move(save), std::move(load));
}
void TrainerCore::add_state(const std::string& name, const torch::Tensor& tensor) {
  impl_->program_state().add(name, tensor);
}
void TrainerCore::add_state(const std::string& name, torch::nn::Module& module) {
  impl_->program_state().add(name, module);
}
void TrainerCore::add_state(const std::string& name, torch::optim::Optimizer& optimizer) {
  impl_->program_state().add(name, optimizer);
}
void TrainerCore::add_state(const std::string& name, torch::optim::LRScheduler& scheduler) {
  impl_->program_state().add(name, scheduler);
}
void TrainerCore::set_reduction(Reduction reduction) {
  impl_->before_the_run("set_reduction").reduction_ = reduction;
}
void TrainerCore::stop() { impl_->stop(); }

Standing TrainerCore::standing() const { return impl_->standing(); }
std::span<const SampleIndex> TrainerCore::indices() const { return impl_->part_; }
const RunResult& TrainerCore::result() const { return impl_->result(); }

std::optional<std::span<const SampleIndex>> TrainerCore::begin_step() { return impl_->begin(); }
void TrainerCore::finish_step(std::optional<double> loss) { impl_->finish(loss); }
void TrainerCore::in_step(const std::function<void()>& body) { impl_->in_step(body); }

}  // namespace motley
