// Real runs of a program's module: a coordinator and its workers, here as threads. A run that goes
// on from a checkpoint of another one ends with the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/schedulers/step_lr.h>

#include <future>

#include "api/module_replica.h"
#include "api/module_tensors.h"
#include "api/program_state.h"
#include "api/trainer_position.h"
#include "runtime/coordinator/coordinator.h"
#include "runtime/worker/worker.h"
#include "tests/job_text.h"

namespace motley {
namespace {

constexpr std::int64_t kSamples = 120;

constexpr std::string_view kProgramJob = R"(
[train]
batch = 20
steps = 17        # 2 epochs and 5 steps
[cluster]
workers = 1
unit = 5e-4       # a checkpoint is left out if the one before is still on its way
heartbeat = 30.0
)";

struct ProgramNet : torch::nn::Module {
  explicit ProgramNet(double dropout) : drop(dropout) {
    register_module("fc1", fc1);
    register_module("bn", bn);
    register_module("drop", drop);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(const torch::Tensor& x) { return fc2(drop(torch::relu(bn(fc1(x))))); }

  torch::nn::Linear fc1{4, 6};
  torch::nn::BatchNorm1d bn{6};
  torch::nn::Dropout drop;
  torch::nn::Linear fc2{6, 1};
};

// What one worker leaves.
struct TrainedWorker {
  std::vector<torch::Tensor> tensors;
  std::vector<std::int64_t> epochs;  // as they were announced
  Standing standing;
  std::string log;                              // of the program: one letter for each step
  std::vector<std::vector<SampleIndex>> steps;  // the samples of every step in this run
};

// One worker's program, as the trainer runs it.
class WorkerProgram {
 public:
  explicit WorkerProgram(double dropout) : net_(dropout), replica_(net_, optimizer_) {
    program_.add("schedule", schedule_);
    program_.add(
        "log", [this] { return log_; }, [this](const std::string& text) { log_ = text; });
    replica_.set_more_state([this](Archive& archive) {
      archive("position", position_);
      archive("program", program_);
    });
  }

  TrainedWorker train(const Job& job, const Admission& admission) {
    Worker worker(admission);
    EXPECT_TRUE(worker.join());
    EXPECT_TRUE(worker.start(job, replica_, kSamples, Beginning::kOfRankZero));
    while (const auto work = worker.begin()) {
      const double loss = compute(work->samples);
      worker.finish({.loss_sum = loss});
      steps_.emplace_back(work->samples.begin(), work->samples.end());
      log_ += static_cast<char>('a' + work->samples.front() % 26);
      position_.count_own_step();
      position_.advance(worker.progress().samples, [this](std::int64_t epochs) {
        epochs_.push_back(epochs);
        schedule_.step();
      });
    }
    worker.leave();
    std::vector<torch::Tensor> tensors;
    for (const NamedTensor& each : tensors_of(net_)) {
      tensors.push_back(each.tensor.detach().clone());
    }
    return {tensors, epochs_, position_.standing(job.train.batch), log_, steps_};
  }

 private:
  double compute(std::span<const SampleIndex> samples) {
    std::vector<torch::Tensor> rows;
    for (const SampleIndex sample : samples) {
      at::Generator data = at::detail::createCPUGenerator(static_cast<std::uint64_t>(sample));
      rows.push_back(torch::randn({4}, data));
    }
    const torch::Tensor batch = torch::stack(rows);
    replica_.clear();
    net_.train(samples.size() > 1);  // one sample has no variance
    torch::Tensor loss = (net_.forward(batch).squeeze(1) - batch.sum(1)).pow(2).mean();
    loss.backward();
    replica_.take_gradients(static_cast<double>(samples.size()));
    return loss.item<double>() * static_cast<double>(samples.size());
  }

  ProgramNet net_;
  torch::optim::Adam optimizer_{net_.parameters(), 0.01};
  torch::optim::StepLR schedule_{optimizer_, 1, 0.5};
  ModuleReplica replica_;
  TrainerPosition position_{kSamples};
  ProgramState program_;
  std::vector<std::int64_t> epochs_;
  std::string log_;
  std::vector<std::vector<SampleIndex>> steps_;
};

class StateCollector final : public RunMonitor {
 public:
  void on_progress(const RunProgress&) override {}
  void on_metric(const Metric&) override {}
  bool wants_checkpoints() override { return true; }
  // As a checkpoint on disk: its values are text.
  void on_checkpoint(std::int64_t samples, State state) override {
    state.values = nlohmann::json::parse(state.values.dump());
    states.emplace_back(samples, std::make_shared<const State>(std::move(state)));
  }
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  std::vector<std::pair<std::int64_t, std::shared_ptr<const State>>> states;
};

struct ProgramRun {
  std::vector<TrainedWorker> workers;
  StateCollector collected;
};

// Every worker begins with a model of its own, whatever run it is in. Dropout draws from the one
// generator of the process, so it needs a run with one worker.
ProgramRun run_program(const Job& job, std::shared_ptr<const State> from, std::uint64_t seed) {
  ProgramRun run;
  PhantomTask task(kSamples, 1);
  Gathering gathering;
  gathering.host = peer_of_this_process();
  gathering.host.rank = 0;
  gathering.host.token = "program";
  gathering.resume = std::move(from);
  Coordinator coordinator(job, task, run.collected, gathering);
  auto conducted = std::async(std::launch::async, [&] { return coordinator.run(); });
  torch::manual_seed(seed);
  std::vector<std::unique_ptr<WorkerProgram>> programs;
  for (int i = 0; i < job.cluster.workers; ++i) {
    programs.push_back(std::make_unique<WorkerProgram>(job.cluster.workers == 1 ? 0.3 : 0.0));
  }
  std::vector<std::future<TrainedWorker>> others;
  for (Rank rank = 1; rank < job.cluster.workers; ++rank) {
    others.push_back(std::async(std::launch::async, [&, rank] {
      Peer me = peer_of_this_process();
      me.rank = rank;
      me.token = gathering.host.token;
      const auto admission = join_rendezvous(coordinator.rendezvous(), me, 60);
      return programs[static_cast<std::size_t>(rank)]->train(job, admission.value());
    }));
  }
  run.workers.push_back(programs[0]->train(job, coordinator.admission_of_host()));
  for (auto& other : others) {
    run.workers.push_back(other.get());
  }
  conducted.get();
  return run;
}

void expect_same_end(const TrainedWorker& whole, const TrainedWorker& resumed) {
  ASSERT_EQ(resumed.tensors.size(), whole.tensors.size());
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    EXPECT_TRUE(torch::equal(resumed.tensors[i], whole.tensors[i])) << "tensor " << i;
  }
  EXPECT_EQ(resumed.standing.samples, whole.standing.samples);
  EXPECT_EQ(resumed.standing.epochs, whole.standing.epochs);
  EXPECT_EQ(resumed.standing.own_steps, whole.standing.own_steps);
  EXPECT_EQ(resumed.log, whole.log);
}

Job job_with(const Overrides& overrides, std::int64_t checkpoint_every) {
  Job job = good(kProgramJob, overrides, Mode::kTrain);
  job.train.checkpoint_every = checkpoint_every;
  return job;
}

void expect_resumable(const Overrides& overrides) {
  const Job job = job_with(overrides, 4);
  const ProgramRun whole = run_program(job, nullptr, 1);
  EXPECT_EQ(whole.workers[0].epochs, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(whole.workers[0].standing.samples, 340);
  ASSERT_FALSE(whole.collected.states.empty());
  for (const auto& [samples, state] : whole.collected.states) {
    if (samples >= whole.workers[0].standing.samples) {
      continue;  // the run is complete
    }
    const ProgramRun resumed = run_program(job, state, 2);
    for (std::size_t i = 0; i < whole.workers.size(); ++i) {
      expect_same_end(whole.workers[i], resumed.workers[i]);
    }
    std::vector<std::int64_t> later;
    for (std::int64_t epoch = samples / kSamples + 1; epoch <= 2; ++epoch) {
      later.push_back(epoch);
    }
    EXPECT_EQ(resumed.workers[0].epochs, later) << "after " << samples << " samples";
  }
}

// How many steps a worker had taken: its log has a letter for each.
std::size_t steps_in(const State& state, std::size_t rank) {
  const std::string worker = fmt::format("workers.{}.", rank);
  for (const auto& [name, tensor] : state.tensors) {
    if (name.starts_with(worker) && name.ends_with("of_log.bytes")) {
      return tensor.bytes.size();
    }
  }
  return 0;
}

// Adds those that a run has used, or that it had used at a checkpoint.
void count_samples(const ProgramRun& run, const State* until, std::vector<int>& counts) {
  for (std::size_t rank = 0; rank < run.workers.size(); ++rank) {
    const auto& steps = run.workers[rank].steps;
    const std::size_t taken = until ? steps_in(*until, rank) : steps.size();
    ASSERT_LE(taken, steps.size());
    for (std::size_t step = 0; step < taken; ++step) {
      for (const SampleIndex sample : steps[step]) {
        ++counts[static_cast<std::size_t>(sample)];
      }
    }
  }
}

// At the end of a term every sample that was dealt has been computed, also where workers go at
// their own pace.
TEST(ProgramRun, OtherWorkersUseEverySampleOnceAnEpoch) {
  for (const std::string method : {"all_reduce", "local_sgd", "partial_reduce", "hop", "ad_psgd"}) {
    const Overrides overrides{"strategy.sync=" + method, "cluster.workers=3"};
    Job job = job_with(overrides, 4);
    job.train.steps = 12;  // 2 epochs
    const ProgramRun whole = run_program(job, nullptr, 1);
    ASSERT_GE(whole.collected.states.size(), 2U) << method;
    const auto& [samples, state] = whole.collected.states.front();
    for (const int workers : {2, 5}) {
      SCOPED_TRACE(fmt::format("{}, {} workers after {} samples", method, workers, samples));
      Job other = job;
      other.cluster.workers = workers;
      other.cluster.speeds.resize(static_cast<std::size_t>(workers), 1);
      other.cluster.overhead.resize(static_cast<std::size_t>(workers), 0);
      const ProgramRun resumed = run_program(other, state, 2);
      std::vector<int> counts(kSamples);
      count_samples(whole, state.get(), counts);
      count_samples(resumed, nullptr, counts);
      EXPECT_EQ(counts, std::vector<int>(kSamples, 2));
    }
  }
}

TEST(ProgramRun, GoesOnWithAdamBatchNormDropoutAndASchedule) { expect_resumable({}); }

TEST(ProgramRun, GoesOnWithTwoWorkersOfFixedShares) {
  expect_resumable({"cluster.workers=2", "strategy.allocation=static", "strategy.shares=[3, 1]"});
}

TEST(ProgramRun, GoesOnWithACodecThatHasResiduals) {
  expect_resumable({"cluster.workers=2", "strategy.codec=topk", "strategy.topk.ratio=0.3"});
}

TEST(ProgramRun, GoesOnWithLocalSteps) {
  expect_resumable({"cluster.workers=2", "strategy.sync=local_sgd"});
}

}  // namespace
}  // namespace motley
