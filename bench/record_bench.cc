// The cost of recording a run, per step of a worker.
//
//   record_bench [--quick] [--json FILE]
//
// Four simulated workers with next to nothing to compute and to send, alternately with a journal
// that is moved into the record after every step, and without. Processor time is measured: on a
// real cluster other threads collect journals and the coordinator keeps the record, but the work is
// the same. Encoding for the network is included. The figure is the difference of medians;
// scripts/bench compares it with a step of the smallest model.
#include <fmt/format.h>

#include <ctime>
#include <vector>

#include "bench_main.h"
#include "numbers.h"
#include "record/run_record.h"
#include "runtime/run/control.h"
#include "runtime/run/run.h"
#include "sim/cluster.h"
#include "sync/loop.h"

namespace motley::bench {
namespace {

constexpr int kWorkers = 4;
constexpr std::int64_t kSteps = 5'000;
constexpr std::size_t kFloats = 100;

// Does with a journal what runtime/worker/worker.cc and runtime/coordinator/coordinator.cc do.
class Keeper final : public Observer {
 public:
  Keeper(Rank rank, Journal* journal, RunRecord& record)
      : rank_(rank), journal_(journal), record_(record) {}

  void on_step(Seconds seconds, const Progress& progress, const WorkerResult& so_far) override {
    if (journal_) {
      info_.seconds = seconds;
      info_.progress = progress;
      info_.news.figures = figures_of(so_far, 0);
      journal_->take(info_.news.entries);
      record_.add(rank_, decode<ProgressInfo>(encode(info_))->news);
    }
  }
  void on_snapshot(Seconds, const Progress&, Replica&) override {}

 private:
  const Rank rank_;
  Journal* const journal_;
  RunRecord& record_;
  ProgressInfo info_;
};

Job small_job() {
  Job job;
  job.train.batch = kWorkers;
  job.train.steps = kSteps;
  job.train.eval_every = 0;
  job.cluster.workers = kWorkers;
  job.cluster.unit = 1e-3;
  job.cluster.speeds.assign(kWorkers, 1.0);
  job.cluster.bandwidth.assign(kWorkers, 1e9);
  return job;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Microseconds per step of a worker.
double step_us(bool recorded) {
  const Job job = small_job();
  RunFacts facts;
  facts.workers = kWorkers;
  RunRecord record(facts);
  SimCluster cluster(job.cluster);
  const double began = cpu_seconds();
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    cluster.start(rank, [&, rank](Node& node) {
      Numbers numbers(kFloats);
      Journal journal;
      Keeper keeper(rank, recorded ? &journal : nullptr, record);
      train(node, {job, kWorkers * kSteps, numbers, keeper, [] { return false; }, nullptr,
                   recorded ? &journal : nullptr});
    });
  }
  cluster.run();
  return 1e6 * (cpu_seconds() - began) / static_cast<double>(kWorkers * kSteps);
}

Rows measure(bool quick) {
  std::vector<double> recorded;
  std::vector<double> plain;
  for (int round = quick ? 5 : 31; round > 0; --round) {
    recorded.push_back(step_us(true));
    plain.push_back(step_us(false));
  }
  const double added = median(recorded) - median(plain);
  fmt::print("recording adds {:.2f} us to a step (simulated: {:.2f} us instead of {:.2f})\n", added,
             median(recorded), median(plain));
  return Rows::array({{{"bench", "record"},
                       {"recorded_us", median(recorded)},
                       {"plain_us", median(plain)},
                       {"added_us", added}}});
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "record_bench", motley::bench::measure);
}
