// What becomes of the parts of a state when a run goes on with other workers, servers, another
// method or codec: models, momenta, what codecs have held back, totals (docs/state.md).
#include <gtest/gtest.h>

#include <cmath>

#include "motley/sync/method.h"
#include "runtime/run/fit_state.h"
#include "runtime/run/member_job.h"
#include "runtime/run/run_position.h"
#include "runtime/run/succession.h"
#include "sync/registry.h"
#include "tests/resumable_run.h"
#include "tests/simulated_job.h"

namespace motley::refit_parts_test {
namespace {

using Numbers = std::vector<float>;
constexpr std::int64_t kSamples = 600;  // of task_of()

Numbers numbers_of(const StateTensor& tensor) {
  Numbers numbers(tensor.bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

std::string worker(int rank) { return fmt::format("workers.{}", rank); }

State replica_of(const State& state, int rank) { return state.part(worker(rank) + ".replica"); }

// Its parameters, and the velocity of its optimizer.
std::vector<Numbers> floats_of(const State& replica) {
  std::vector<Numbers> all;
  for (const auto& [name, tensor] : replica.tensors) {
    all.push_back(numbers_of(tensor));
  }
  EXPECT_GE(all.size(), 2U);
  return all;
}

std::vector<Numbers> mean_of_replicas(const State& state, const std::vector<int>& ranks) {
  std::vector<Numbers> mean = floats_of(replica_of(state, ranks.front()));
  for (std::size_t t = 0; t < mean.size(); ++t) {
    for (std::size_t i = 0; i < mean[t].size(); ++i) {
      double sum = 0;
      for (const int rank : ranks) {
        sum += static_cast<double>(floats_of(replica_of(state, rank))[t][i]);
      }
      mean[t][i] = static_cast<float>(sum / static_cast<double>(ranks.size()));
    }
  }
  return mean;
}

// What a worker's codec has held back, as one block.
Numbers held_back(const State& state, int rank) {
  const State method = state.part(worker(rank) + ".training.method");
  return joined_residual(method.has("codec") ? method.part("codec") : method);
}

std::vector<double> held_back_by_all(const State& state, int workers) {
  std::vector<double> sum;
  for (int rank = 0; rank < workers; ++rank) {
    const Numbers its = held_back(state, rank);
    sum.resize(std::max(sum.size(), its.size()));
    for (std::size_t i = 0; i < its.size(); ++i) {
      sum[i] += static_cast<double>(its[i]);
    }
  }
  return sum;
}

Overrides with_feedback(const Method& method, const std::string& codec) {
  Overrides all = {"strategy.codec=" + codec};
  for (const Key<Job>& key : method.schema.keys) {
    if (key.name.ends_with("error_feedback")) {
      all.push_back(std::string(key.name) + "=true");  // instead of the common one
      return all;
    }
  }
  all.emplace_back("strategy.error_feedback=true");
  return all;
}

bool has_codec(const Method& method) { return method.schema.exchanges != ExchangeKind::kModels; }

// A job that has a state in the middle, and this state.
struct Begun {
  Job job;
  State state;
};
Begun begun(const Method& method, int workers, const Overrides& given = {}) {
  for (std::uint64_t seed = 1;; ++seed) {
    auto job = JobMaker(seed).make(method, workers, given);
    if (job && !job->phantom() && *job->train.steps > 12) {
      job->train.checkpoint_every = 7;
      return {*job, run(*job).checkpoints.front().state};
    }
  }
}

Job with_workers(const Method& method, int workers, const Overrides& given = {}) {
  auto job = JobMaker(3).make(method, workers, given);
  return job ? *job : Job{};
}

class RefitParts : public testing::TestWithParam<const Method*> {
 protected:
  const Method& method() const { return *GetParam(); }
};

TEST_P(RefitParts, WhatWasHeldBackIsKeptByThoseWhoStay) {
  if (!has_codec(method())) {
    return;
  }
  const Begun before = begun(method(), 4, with_feedback(method(), "topk"));
  const std::vector<double> all = held_back_by_all(before.state, 4);
  ASSERT_FALSE(all.empty());
  for (const char* const codec : {"topk", "int8", "fp16"}) {
    for (const int workers : {3, 6}) {
      const Job job = with_workers(method(), workers, with_feedback(method(), codec));
      const State state = fitted(before.state, job, kSamples);
      const std::vector<double> now = held_back_by_all(state, workers);
      // Servers weight a worker's commits by 1 / workers.
      const double scale = method().advance == Advance::kAtOwnPace ? workers / 4.0 : 1;
      ASSERT_EQ(now.size(), all.size()) << codec;
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_NEAR(now[i], scale * all[i], 1e-5 * (1 + std::abs(all[i])));
      }
      run(job, &state);
    }
  }
}

TEST_P(RefitParts, WhatWasHeldBackIsDroppedIfTheCodecHoldsNothingBack) {
  if (!has_codec(method())) {
    return;
  }
  const Begun before = begun(method(), 4, with_feedback(method(), "topk"));
  const Job job = with_workers(method(), 4, {"strategy.codec=none"});
  const State state = fitted(before.state, job, kSamples);
  EXPECT_TRUE(held_back_by_all(state, 4).empty());
  run(job, &state);
}

TEST_P(RefitParts, OtherServersHoldTheSame) {
  if (!method().schema.has_servers) {
    return;
  }
  const auto settings = [&](const char* servers) {
    Overrides all = with_feedback(method(), "topk");
    all.push_back(std::string("strategy.ps.servers=") + servers);
    return all;
  };
  const Begun before = begun(method(), 4, settings("1"));
  State state = before.state;
  for (const char* const servers : {"3", "2"}) {
    const Job job = with_workers(method(), 4, settings(servers));
    state = fitted(state, job, kSamples);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(held_back(state, rank), held_back(before.state, rank));
      EXPECT_TRUE(replica_of(state, rank) == replica_of(before.state, rank));
    }
    const RunOutcome outcome = run(job, &state).outcome;
    EXPECT_EQ(std::to_string(outcome.servers.size()), servers);
  }
}

TEST_P(RefitParts, NewcomersTakeTheMeanAndOthersKeepTheirModels) {
  const Begun before = begun(method(), 4);
  const Job job = with_workers(method(), 6);
  const State state = fitted(before.state, job, kSamples);
  const std::vector<Numbers> mean = mean_of_replicas(before.state, {0, 1, 2, 3});
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(replica_of(state, rank) == replica_of(before.state, rank));
  }
  EXPECT_EQ(floats_of(replica_of(state, 4)), mean);
  EXPECT_EQ(floats_of(replica_of(state, 5)), mean);
}

// Otherwise what it alone has learnt would be lost.
TEST_P(RefitParts, ModelsOfThoseWhoAreGoneAreInTheMeanOfAll) {
  const Begun before = begun(method(), 4);
  const Job job = with_workers(method(), 2);
  const State state = fitted(before.state, job, kSamples);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(floats_of(replica_of(state, rank)), mean_of_replicas(before.state, {0, 1, 2, 3}));
  }
}

TEST_P(RefitParts, ALostWorkerLeavesTheModelsOfOthersAlone) {
  const Begun before = begun(method(), 4);
  State state = before.state;
  state.put("workers.1", {});
  state.values["workers"].erase("1");
  const Job job = with_workers(method(), 4);
  state =
      fitted(state, job, kSamples, {.members = {.before = 4, .previous = {0, std::nullopt, 3, 2}}});
  EXPECT_TRUE(replica_of(state, 0) == replica_of(before.state, 0));
  EXPECT_TRUE(replica_of(state, 2) == replica_of(before.state, 3));
  EXPECT_TRUE(replica_of(state, 3) == replica_of(before.state, 2));
  EXPECT_EQ(floats_of(replica_of(state, 1)), mean_of_replicas(before.state, {0, 2, 3}));
  const RunOutcome outcome = run(job, &state).outcome;
  ASSERT_EQ(outcome.former_workers.size(), 1U);
  EXPECT_EQ(outcome.former_workers[0].rank, 1);
}

// Where all workers have one model, all begin with its bits, whatever the run goes on with.
TEST_P(RefitParts, AModelThatWorkersShareKeepsItsBits) {
  const Begun before = begun(method(), 4);
  const auto parameters = [](const State& state, int rank) {
    return replica_of(state, rank).tensors.at("model.linear.weight").bytes;
  };
  for (int rank = 1; rank < 4; ++rank) {
    if (parameters(before.state, rank) != parameters(before.state, 0)) {
      return;  // workers of this method differ
    }
  }
  for (const Method* const to : methods()) {
    for (const int workers : {1, 3, 4, 6}) {
      if (const auto job = JobMaker(3).make(*to, workers)) {
        const State state = fitted(before.state, *job, kSamples);
        for (int rank = 0; rank < workers; ++rank) {
          EXPECT_EQ(parameters(state, rank), parameters(before.state, 0)) << to->name();
        }
      }
    }
  }
}

// Back and forth, the first workers are where they were, unless somebody was gone meanwhile.
TEST_P(RefitParts, ASecondFitChangesNothing) {
  const Begun before = begun(method(), 4);
  for (const int workers : {1, 3, 6}) {
    if (const auto job = JobMaker(3).make(method(), workers)) {
      const State state = fitted(before.state, *job, kSamples);
      EXPECT_TRUE(fits(state, *job, kSamples));
      EXPECT_TRUE(fitted(state, *job, kSamples) == state);
    }
  }
}

TEST_P(RefitParts, WhatIsBesideTheRunStays) {
  Begun before = begun(method(), 4);
  before.state.values["record"] = {{"dotted.name", 1}};
  before.state.tensors["program.numbers"] = replica_of(before.state, 0).tensors.begin()->second;
  const State state = fitted(before.state, with_workers(method(), 6), kSamples);
  EXPECT_EQ(state.values.at("record"), before.state.values.at("record"));
  EXPECT_TRUE(state.tensors.contains("program.numbers"));
}

// As a coordinator of real processes does it: models stay where they are, and what a lost server
// has sent is not new.
TEST_P(RefitParts, ALossNeedsNoModels) {
  Begun before = begun(method(), 4);
  EndedTerm ended{.run = before.job, .job = before.job, .members = {{0, 1, 2, 3}, {}}};
  ended.members.servers = all_servers(before.job);
  ended.lost.insert({ProcessKind::kWorker, 2});
  if (!ended.members.servers.empty()) {
    ended.lost.insert({ProcessKind::kServer, ended.members.servers.back()});
  }
  ended.cut_off = Continuation{};
  const TermMembers next = members_of_term(before.job, {0, 1, 3}, ended.members.servers);
  EXPECT_EQ(models_needed(ended, next), std::vector<bool>(4, false));
  State state = before.state;
  for (int rank = 0; rank < 4; ++rank) {
    state.erase(worker(rank) + ".replica");
  }
  state = state_of_successors(state, ended, next, kSamples);
  EXPECT_EQ(saved_shape(state), shape_of(job_of(before.job, next)));
  EXPECT_TRUE(replica_of(state, 2).empty());
  EXPECT_EQ(state.part("workers.2.training.result"),
            before.state.part("workers.3.training.result"));
  EXPECT_EQ(saved_value<RunPosition>(state, "run").ids, (std::vector<int>{0, 1, 3}));
}

std::string name_of_method(const testing::TestParamInfo<const Method*>& info) {
  return std::string(info.param->name());
}
INSTANTIATE_TEST_SUITE_P(Methods, RefitParts, testing::ValuesIn(methods().begin(), methods().end()),
                         name_of_method);

TEST(RefitMembers, MustBePossible) {
  const Begun before = begun(*methods().front(), 4);
  const Job job = with_workers(*methods().front(), 2);
  const auto fit = [&](const MemberChange& members) {
    return fitted(before.state, job, kSamples, {.members = members});
  };
  EXPECT_NO_THROW(fit({.before = 4, .previous = {3, std::nullopt}}));
  EXPECT_NO_THROW(fit({.before = 4, .previous = {std::nullopt, std::nullopt}}));
  EXPECT_THROW(fit({.before = 4, .previous = {3, 3}}), std::invalid_argument);
  EXPECT_THROW(fit({.before = 4, .previous = {3, 4}}), std::invalid_argument);
  EXPECT_THROW(fit({.before = 4, .previous = {-1, 1}}), std::invalid_argument);
  EXPECT_THROW(fit({.before = 3, .previous = {0, 1}}), std::invalid_argument);
  EXPECT_THROW(fit({.before = 4, .previous = {0, 1, 2}}), std::invalid_argument);
}

TEST(RefitMembers, DamagedStatesAreRefused) {
  const Begun before = begun(*methods().front(), 4);
  const Job job = with_workers(*methods().front(), 2);
  for (const char* const number : {"workers", "servers"}) {
    for (const std::int64_t wrong : {-1, 3, 2'000'000'000}) {
      State state = before.state;
      state.values["run"][number] = wrong;
      EXPECT_THROW(fitted(state, job, kSamples), StateError) << number << " " << wrong;
    }
  }
  State state = before.state;
  state.put("workers.0", {});
  EXPECT_THROW(run(job, &state), StateError);
}

double last_loss(const Traces& traces) { return traces.metrics.back().loss; }

// As a user would try it: each goes on where the other was, and learns on.
TEST(RefitByUser, EightWorkersOfHopGoOnAsFourOfAllReduce) {
  Job hop = simulated_job("hop", {1, 1, 0.5, 0.5, 1, 1, 0.3, 1}, 64, 60);
  hop.train.checkpoint_every = 20;
  hop.train.eval_every = 5;
  const Traces whole = run(hop);
  Job all_reduce = simulated_job("all_reduce", {1, 1, 0.5, 0.5}, 64, 60);
  all_reduce.train.checkpoint_every = 20;
  all_reduce.train.eval_every = 5;
  const Traces resumed = run(all_reduce, &whole.checkpoints.front().state);

  EXPECT_EQ(resumed.outcome.samples, whole.outcome.samples);
  EXPECT_EQ(resumed.outcome.workers.size(), 4U);
  EXPECT_EQ(resumed.outcome.former_workers.size(), 4U);
  EXPECT_GT(resumed.outcome.seconds, resumed.metrics.front().seconds);
  EXPECT_GT(resumed.metrics.front().samples, whole.checkpoints.front().samples);
  const auto at_checkpoint = std::ranges::find_if(whole.metrics, [&](const Metric& metric) {
    return metric.samples >= whole.checkpoints.front().samples;
  });
  ASSERT_NE(at_checkpoint, whole.metrics.end());
  EXPECT_LT(resumed.metrics.front().loss, 1.1 * at_checkpoint->loss);
  EXPECT_LT(last_loss(resumed), resumed.metrics.front().loss);
  EXPECT_LT(last_loss(resumed), 1.5 * last_loss(whole));
}

TEST(RefitByUser, TwoServersBecomeOne) {
  const auto settings = [](const char* servers) {
    return Overrides{std::string("strategy.ps.servers=") + servers, "train.steps=60",
                     "train.eval_every=5", "train.batch=32", "strategy.codec=none"};
  };
  const auto ssp =
      std::ranges::find(methods(), "ps_ssp", [](const Method* m) { return m->name(); });
  const Begun two = begun(**ssp, 4, settings("2"));
  const Traces whole = run(two.job, &two.state);
  Job one = two.job;
  one.strategy.ps.servers = 1;
  const Traces resumed = run(one, &two.state);
  EXPECT_EQ(whole.outcome.servers.size(), 2U);
  EXPECT_EQ(resumed.outcome.servers.size(), 1U);
  EXPECT_EQ(resumed.outcome.samples, whole.outcome.samples);
  EXPECT_LT(last_loss(resumed), 1.5 * last_loss(whole));
  EXPECT_TRUE(resumed.outcome.former_workers.empty());
}

// A learning rate of 0 leaves the model as it was.
TEST(RefitByUser, TheLearningRateMayChange) {
  Job job = simulated_job("all_reduce", {1, 1, 0.5}, 32, 20);
  job.train.checkpoint_every = 10;
  const Traces whole = run(job);
  const State& state = whole.checkpoints.front().state;
  Traces resumed;
  CheckpointMonitor monitor(resumed);
  ToyTask still(600, 7, 3, 0, 0.5);
  const RunOutcome outcome = simulate(job, still, monitor, &state);
  EXPECT_EQ(outcome.model.parameters, floats_of(replica_of(state, 0)).front());
}

// A run of 20 steps that goes on to 40 is a run of 40 steps. The batch divides the epoch: otherwise
// the limit would cut the 20th step short.
TEST(RefitByUser, MoreStepsAreTheRunThatHadThemFromTheBeginning) {
  Job job = simulated_job("all_reduce", {1, 1, 0.5}, 30, 40);
  job.train.checkpoint_every = 10;
  const Traces whole = run(job);
  job.train.steps = 20;
  const Traces first = run(job);
  job.train.steps = 40;
  const Traces second = run(job, &first.checkpoints.back().state);
  EXPECT_EQ(second.outcome.model.parameters, whole.outcome.model.parameters);
  EXPECT_EQ(second.outcome.seconds, whole.outcome.seconds);
}

}  // namespace
}  // namespace motley::refit_parts_test
