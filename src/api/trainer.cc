#include "motley/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "api/counts.h"
#include "api/module_replica.h"
#include "api/own_order.h"
#include "api/program_state.h"
#include "api/share_result.h"
#include "api/trainer_position.h"
#include "compute/threads.h"
#include "compute/torch_error.h"
#include "loader/loader.h"
#include "session/session_impl.h"
#include "session/warning.h"

namespace motley {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

class TrainerCore::Impl {
 public:
  Impl(Session& session, torch::nn::Module& module, torch::optim::Optimizer& optimizer,
       std::int64_t samples, Options options)
      : session_(session),
        samples_(samples),
        options_(with_defaults(std::move(options), module, samples)),
        replica_(module, optimizer),
        position_(samples),
        counts_(options_.counts) {
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
      learn_counts({});
      stop_loading();
      return std::nullopt;
    }
    part_ = first_of_parts(rest_, parts_--);
    return part_;
  }

  void finish(std::optional<double> loss, const FinishOptions& options) {
    if (!run_) {
      throw std::logic_error("finish() before the first begin()");
    }
    if (options.weight != 0) {  // a mean over nothing is not a number
      warn_of(loss);
    }
    const bool is_last = rest_.empty();
    in_step([&] {
      if (part_.empty() && !is_last) {
        throw std::logic_error("finish() called without a begin() that returned a part");
      }
      const double scale = result_.add(loss.value_or(kUnknown), options, part_.size(), reduction_);
      is_last ? replica_.take_gradients(scale) : replica_.put_aside(scale);
    });
    if (is_last) {
      finish_share(result_.take());
    }
    part_ = {};
  }

  void in_step(const std::function<void()>& body) { run_->in_step(body); }

  // nullptr if nothing is read ahead. Else the batch of part_.
  Loaded take_loaded() { return loader_ ? loader_->take() : nullptr; }
  // A method may be about to say what comes next.
  void stop_loading() {
    std::unique_ptr<Loader> last;
    const std::lock_guard lock(loading_);
    loader_.swap(last);
  }

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
    Standing standing = position_.standing(batch());
    standing.counts = counts_.totals();
    return standing;
  }

  void count(const std::string& name, double number) {
    const auto add = [&] { counts_.add(name, number); };
    run_ ? in_step(add) : add();
  }

  void set_order(OwnOrder::OrderOfEpoch order) {
    order_ = std::move(order);
    options_.order = SampleOrder::kOwn;
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
    archive("counts", counts_);
    archive("program", program_state_);
  }

  Session& session_;
  const std::int64_t samples_;
  Options options_;
  ModuleReplica replica_;
  Reduction reduction_ = Reduction::kMean;
  std::function<void(const Standing&)> on_step_;
  std::function<void(std::int64_t)> on_epoch_;
  std::function<double(const Standing&)> schedule_;
  std::function<Evaluation(const Standing&)> evaluate_;
  std::function<void(const Standing&, const Evaluation&)> on_evaluation_;
  std::span<const SampleIndex> part_;  // between begin() and finish()
  std::unique_ptr<Run> run_;           // from the first begin() on
  BatchSource source_;
  OwnOrder::OrderOfEpoch order_;

 private:
  TrainerPosition position_;
  ProgramState program_state_;
  double step_samples_ = 0;      // of the step under way: of all ranks,
  std::size_t own_samples_ = 0;  // and of this one
  bool has_warned_ = false;
  bool stop_ = false;                  // may be set before there is a run
  std::span<const SampleIndex> rest_;  // of the share: the parts after part_
  std::size_t parts_ = 0;              // that rest_ comes in
  std::unique_ptr<OwnOrder> own_order_;
  std::vector<SampleIndex> in_own_order_;  // the share
  ShareResult result_;                     // of the parts that are finished
  Counts counts_;
  std::mutex loading_;              // guards the pointer loader_ against other threads
  std::unique_ptr<Loader> loader_;  // while the run goes on, if it reads ahead

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

  // BatchNorm cannot train on one sample. If a share of one cannot be avoided, the program goes on
  // as before.
  static Options with_defaults(Options options, torch::nn::Module& module, std::int64_t samples) {
    if (options.accumulate < 1) {
      throw Refused(
          fmt::format("accumulate is {}; expected the number of parts of a share, 1 or more",
                      options.accumulate));
    }
    const bool can_avoid = samples >= 2 && options.batch >= 2 &&
                           (options.drop_last || options.order == SampleOrder::kStreams ||
                            samples % options.batch != 1);
    if (!options.min_share && has_batch_norm(module)) {
      options.min_share = can_avoid ? 2 : 1;
    }
    if (samples == kEndless) {
      options.order = SampleOrder::kSequential;
      if (options.epochs) {
        throw Refused("epochs is set, but a stream has none: set steps, or call stop()");
      }
    }
    return options;
  }

  // The module itself may be no shared_ptr, so modules() must leave it out.
  static bool has_batch_norm(const torch::nn::Module& module) {
    const auto is_one = [](const torch::nn::Module& each) {
      return each.name().find("BatchNorm") != std::string::npos;
    };
    return is_one(module) || std::ranges::any_of(module.modules(/*include_self=*/false),
                                                 [&](const auto& part) { return is_one(*part); });
  }

  // False when the run is over. An empty share is not shown to the program.
  bool begin_share() {
    in_step([this] { replica_.check(); });
    while (const auto work = begin_work()) {
      prepare(*work);
      set_share(work->samples);
      if (work->count > 0) {
        return true;
      }
      replica_.take_nothing();
      finish_share({});
    }
    return false;
  }

  void prepare(const Work& work) {
    own_samples_ = work.count;
    step_samples_ = static_cast<double>(work.step_samples);
    replica_.clear();
    replica_.set_step_factor(reduction_ == Reduction::kSum ? step_samples_ : 1);
    if (schedule_) {
      in_step([&] { replica_.set_learning_rate(schedule_(standing())); });
    }
  }

  std::int64_t batch() const {
    return run_ ? run_->job().train.batch : std::max<std::int64_t>(options_.batch, 1);
  }

  // The parts of a share are as many as the program wants, or more if they would be too large.
  void set_share(std::span<const SampleIndex> share) {
    if (own_order_) {
      in_step([&] { in_own_order_ = own_order_->samples_at(share); });
      share = in_own_order_;
    }
    rest_ = share;
    parts_ = parts_of(share.size());
    if (loader_) {
      loader_->begin(share);
    }
  }

  std::size_t parts_of(std::size_t share) const {
    const auto wanted = static_cast<std::size_t>(options_.accumulate);
    return std::max(part_count(share, run_->job().train.micro_batch_of(session_.rank())),
                    std::min(wanted, share));
  }

  void start_order() {
    const TrainSpec& train = run_->job().train;
    const std::int64_t epoch = epoch_samples(samples_, train.batch, train.drops_last());
    position_.set_epoch(epoch);
    if (train.order == SampleOrder::kOwn) {
      if (!order_) {
        throw Refused("train.order = \"program\", but the program calls no set_order()");
      }
      own_order_ = std::make_unique<OwnOrder>(order_, samples_, epoch);
    }
  }

  void start() {
    replica_.begin_run();
    RunHooks hooks;
    hooks.settings = replica_.settings() + counts_.describe();
    if (evaluate_) {
      hooks.evaluate = [this](const Snapshot& snapshot) {
        const Standing judged = position_.standing_after(snapshot.samples, batch());
        Evaluation evaluation;
        replica_.with(snapshot, [&] { evaluation = evaluate_(judged); });
        return evaluation;
      };
    }
    if (on_evaluation_) {
      hooks.on_evaluation = [this](std::int64_t samples, const Evaluation& evaluation) {
        on_evaluation_(position_.standing_after(samples, batch()), evaluation);
      };
    }
    run_ = std::make_unique<Run>(session_, options_, replica_, samples_, std::move(hooks));
    start_order();
    // Each process would use every core. A number set by the user is kept.
    if (session_.shares_machine() && !std::getenv("OMP_NUM_THREADS")) {
      set_threads(run_->job().cluster.threads);
    }
    start_loading();
    if (stop_) {
      run_->stop();
    }
  }

  // Any thread.
  void expect(const std::vector<std::vector<SampleIndex>>& steps) {
    const std::lock_guard lock(loading_);
    std::vector<std::vector<SampleIndex>> known;
    for (const auto& step : steps) {
      auto samples = own_order_ ? own_order_->known_samples_at(step) : std::optional(step);
      if (!samples) {
        break;
      }
      known.push_back(std::move(*samples));
    }
    if (loader_) {
      loader_->expect(known);
    }
  }

  void start_loading() {
    const TrainSpec& train = run_->job().train;
    if (train.loader.workers > 0) {
      loader_ = std::make_unique<Loader>(source_, train.loader.workers,
                                         [this](std::size_t share) { return parts_of(share); });
      replica_.set_read_ahead(train.loader.ahead, [this](const auto& steps) { expect(steps); });
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
  void finish_share(StepResult result) {
    result.counts = counts_.take();
    const Progress progress = run_->finish(result);
    replica_.end_step();
    if (!run_->applied()) {
      return;
    }
    const bool is_step = run_->steps_together() || own_samples_ > 0;
    if (is_step) {
      position_.count_own_step();
      position_.set_loss(reduction_ == Reduction::kSum ? progress.mean_loss * step_samples_
                                                       : progress.mean_loss);
    }
    learn_counts(progress.counts);
    advance(progress);
    if (on_step_ && is_step) {
      in_step([&] { on_step_(standing()); });
    }
  }

  // `more`: of the last step.
  void learn_counts(const std::vector<double>& more) {
    run_->steps_together() ? counts_.add_to_totals(more) : counts_.set_totals(run_->counts());
  }

  void advance(const Progress& progress) {
    position_.advance(progress.samples, [this](std::int64_t epochs) {
      if (on_epoch_) {
        in_step([&] { on_epoch_(epochs); });
      }
    });
  }
};

torch::Tensor sum(Session& session, const torch::Tensor& tensor) {
  torch::Tensor numbers = tensor.detach().to(torch::kCPU, torch::kDouble).clone().contiguous();
  session.sum({numbers.data_ptr<double>(), static_cast<std::size_t>(numbers.numel())});
  return numbers.to(tensor.options());
}

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
void TrainerCore::schedule(std::function<double(const Standing&)> rate_of) {
  impl_->before_the_run("schedule").schedule_ = std::move(rate_of);
}
void TrainerCore::on_epoch(std::function<void(std::int64_t)> hook) {
  impl_->before_the_run("on_epoch").on_epoch_ = std::move(hook);
}
void TrainerCore::evaluate_with(std::function<Evaluation()> hook) {
  impl_->before_the_run("evaluate_with").evaluate_ = [hook = std::move(hook)](const Standing&) {
    return hook();
  };
}
void TrainerCore::evaluate_with(std::function<Evaluation(const Standing&)> hook) {
  impl_->before_the_run("evaluate_with").evaluate_ = std::move(hook);
}
void TrainerCore::on_evaluation(std::function<void(const Standing&, const Evaluation&)> hook) {
  impl_->before_the_run("on_evaluation").on_evaluation_ = std::move(hook);
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
void TrainerCore::count(const std::string& name, double number) { impl_->count(name, number); }

const Options& TrainerCore::options() const { return impl_->options_; }
Standing TrainerCore::standing() const { return impl_->standing(); }
std::span<const SampleIndex> TrainerCore::indices() const { return impl_->part_; }
const RunResult& TrainerCore::result() const { return impl_->result(); }

std::optional<std::span<const SampleIndex>> TrainerCore::begin_step() { return impl_->begin(); }
void TrainerCore::finish_step(std::optional<double> loss, const FinishOptions& options) {
  impl_->finish(loss, options);
}
void TrainerCore::set_order(std::function<std::vector<SampleIndex>(std::int64_t epoch)> order) {
  impl_->before_the_run("set_order").set_order(std::move(order));
}
void TrainerCore::read_from(BatchSource source) { impl_->source_ = std::move(source); }
Loaded TrainerCore::take_loaded() { return impl_->take_loaded(); }
void TrainerCore::stop_loading() { impl_->stop_loading(); }
void TrainerCore::in_step(const std::function<void()>& body) { impl_->in_step(body); }

}  // namespace motley
