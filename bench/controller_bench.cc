// The cost of partial reduce's controller.
//
//   controller_bench [--quick] [--json FILE]
//
// Decisions: how many ready signals per second the Controller alone turns into groups, among 1,024
// workers of different speeds. The figure is the median of a few runs.
//
// A real step: two worker processes take steps without computing, alternately with all_reduce and
// with partial_reduce in groups of two, beside a coordinator process. Both exchange the same model,
// so the extra time of partial_reduce is that of the signal, the decision and the answer. The
// figure is the difference of the medians of many short blocks.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <queue>
#include <thread>
#include <vector>

#include "base/random.h"
#include "bench_main.h"
#include "bench_node.h"
#include "motley/sync/partial_reduce.h"
#include "numbers.h"
#include "processes.h"
#include "shared.h"
#include "sync/loop.h"
#include "sync/partial_reduce/controller.h"

namespace motley::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// --- decisions

constexpr int kCrowd = 1024;
constexpr int kSignals = 1'000'000;

// Workers become ready again some time after their group has left; a quarter of them are slow.
double signals_per_second(int group, int signals) {
  GroupRules rules;
  rules.workers = kCrowd;
  rules.group = group;
  rules.window = 10 * kCrowd / group;
  Controller controller(rules);
  Random random(1);
  using Moment = std::pair<Seconds, Rank>;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> coming;
  const auto compute = [&](Rank rank, Seconds now) {
    const double pace = rank % 4 == 0 ? 3.0 : 1.0;
    coming.emplace(now + pace * (1 + 0.1 * random.uniform()), rank);
  };
  for (Rank rank = 0; rank < kCrowd; ++rank) {
    compute(rank, 0);
  }
  const auto begin = Clock::now();
  for (int i = 0; i < signals; ++i) {
    const auto [now, rank] = coming.top();
    coming.pop();
    controller.ready(rank, i / kCrowd, now);
    while (const auto formed = controller.next_group(now)) {
      for (const Rank member : formed->members) {
        compute(member, now);
      }
    }
  }
  return signals / seconds_since(begin);
}

// --- a real step

constexpr int kWorkers = 2;
constexpr std::int64_t kSteps = 300;  // in a block
constexpr int kMaxRounds = 60;
constexpr std::size_t kFloats = 4'000;  // one small message
constexpr unsigned kLimitSeconds = 300;
constexpr const char* kMethods[] = {"all_reduce", "partial_reduce"};

class ControllerObserver final : public Observer {
 public:
  void on_step(Seconds, const Progress&, const WorkerResult&) override {}
  void on_snapshot(Seconds, const Progress&, Replica&) override {}
};

struct Blocks {
  double seconds[2][kMaxRounds][kWorkers];  // per step
};

Job block_job(const char* method) {
  Job job;
  job.strategy.sync = method;
  job.strategy.of<PartialReduceOptions>().group = kWorkers;
  job.train.batch = kWorkers;
  job.train.steps = kSteps;
  job.train.eval_every = 0;
  job.cluster.workers = kWorkers;
  job.cluster.speeds.assign(kWorkers, 1.0);
  return job;
}

// The coordinator watches its workers all the time, as runtime/coordinator/coordinator.cc does; the
// method's service runs beside that.
void coordinate(Node& node, const Job& job, std::atomic<bool>& over) {
  node.spawn("service", [&](Node& service) {
    serve(service, job, 1'000, [] { return false; });
    over = true;
    service.send(kCoordinator, Channel::kControl, {});
  });
  while (!over) {
    node.receive_until({Channel::kControl}, node.now());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void take_part(Rank rank, const TemporaryDirectory& meeting, SharedMemory<Blocks>& shared,
               int rounds) {
  BenchNode own(rank, kWorkers, BenchNode::Coordinator::kPresent, meeting.subdirectory("motley"));
  Numbers replica(kFloats);
  ControllerObserver nobody;
  for (int round = 0; round < rounds; ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      const int method = (round + turn) % 2;
      const Job job = block_job(kMethods[method]);
      shared.wait_for_all();
      if (rank == kCoordinator) {
        std::atomic<bool> over = false;
        own.node().run([&](Node& node) { coordinate(node, job, over); });
      } else {
        const auto result = train(own.node(), {job, 1'000, replica, nobody, [] { return false; }});
        shared->seconds[method][round][rank] = result.times.seconds / kSteps;
      }
    }
  }
  shared.wait_for_all();  // no process hangs up while another still listens
}

struct StepTimes {
  double all_reduce_us;
  double partial_reduce_us;
};

StepTimes measure_step(int rounds) {
  SharedMemory<Blocks> shared(kWorkers + 1);
  const TemporaryDirectory meeting;
  const bool well = run_processes(kWorkers + 1, kLimitSeconds, [&](int process) {
    take_part(process == kWorkers ? kCoordinator : process, meeting, shared, rounds);
  });
  if (!well) {
    throw std::runtime_error("the steps with processes failed");
  }
  std::vector<double> micros[2];
  for (int method = 0; method < 2; ++method) {
    for (int round = 0; round < rounds; ++round) {
      const double* of_workers = shared->seconds[method][round];
      micros[method].push_back(1e6 * *std::max_element(of_workers, of_workers + kWorkers));
    }
  }
  return {median(micros[0]), median(micros[1])};
}

Rows measure(bool quick) {
  const StepTimes step = measure_step(quick ? 15 : kMaxRounds);
  const double added = step.partial_reduce_us - step.all_reduce_us;
  fmt::print(
      "step of {} workers: all_reduce {:.1f} us, partial_reduce {:.1f} us: added {:.1f} us\n",
      kWorkers, step.all_reduce_us, step.partial_reduce_us, added);
  Rows rows = Rows::array({{{"bench", "controller_step"},
                            {"workers", kWorkers},
                            {"all_reduce_us", step.all_reduce_us},
                            {"partial_reduce_us", step.partial_reduce_us},
                            {"added_us", added}}});
  for (const int group : {2, 8}) {
    std::vector<double> rates;
    for (int i = 0; i < 5; ++i) {
      rates.push_back(signals_per_second(group, quick ? kSignals / 10 : kSignals));
    }
    fmt::print("controller, {} workers, groups of {}: {:.0f} ready signals/s\n", kCrowd, group,
               median(rates));
    rows.push_back({{"bench", "controller"},
                    {"workers", kCrowd},
                    {"group", group},
                    {"signals_per_second", median(rates)}});
  }
  return rows;
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "controller_bench", motley::bench::measure);
}
