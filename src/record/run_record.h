// RunRecord: everything known about a run, during it and afterwards. Terminal, report, live page,
// trace, TensorBoard and Prometheus show only what is in it.
//
//   RunRecord record(facts);
//   record.add(rank, news);        // as it comes; of servers and kCoordinator, what they decided
//   record.add(metric);
//   record.finish(summary);        // or fail(why)
//
// Memory is bounded however long a run takes: sums over time are kept in bins that grow
// (timeline.h), and of spans, exchanges and decisions only the first and the last (kept.h), fewer
// per worker if there are many workers. At most about 30 MB; 10 MB with 64 workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/record/journal.h"
#include "record/kept.h"
#include "record/straggler.h"
#include "record/summary.h"
#include "record/timeline.h"

namespace motley {

// What is known before a run begins.
struct RunFacts {
  std::string name;
  std::string mode;  // "train" | "simulate"
  std::uint64_t seed = 0;
  std::string sync;
  std::string allocation;
  std::string codec;
  std::string job;               // the resolved job file
  std::string version;           // of motley
  std::string libtorch;          // its version; empty if not used
  std::optional<int> simulator;  // version of its model; nullopt: a real run
  int workers = 1;
  int servers = 0;
  std::int64_t batch = 1;
  std::int64_t limit = 0;               // samples in the whole run
  double ideal_samples_per_second = 0;  // 0 = not paced
  std::optional<double> target_accuracy;
};

// A worker's totals since the beginning of the run.
struct WorkerFigures {
  Seconds compute = 0;
  Seconds communicate = 0;
  Seconds wait = 0;
  std::int64_t samples = 0;
  std::int64_t steps = 0;
  std::size_t share = 0;  // samples of its last step
  std::int64_t bytes_sent = 0;
};

// A worker's report: its totals and its journal since the last report.
struct WorkerNews {
  WorkerFigures figures;
  JournalEntries entries;
};

enum class RunState { kRunning, kComplete, kStopped, kFailed };

class RunRecord {
 public:
  explicit RunRecord(RunFacts facts);

  void add(Rank rank, const WorkerNews& news);
  void add(const Metric& metric);
  // The progress of the whole run; `loss` is the mean over the most recent samples.
  void progress(Seconds seconds, std::int64_t samples, std::optional<double> loss);
  void finish(const Summary& summary);
  void fail(std::string why);

  // Of a run in progress. Restored into a record of the same number of workers.
  void state(Archive& archive);
  // Removes what came after this moment and after so many samples. Of a real run, the record that a
  // checkpoint holds also has what was done while its parts arrived.
  void trim(Seconds seconds, std::int64_t samples);
  // Goes on from the record of a run with another number of workers. What those did who are gone is
  // left out, and so are exchanges.
  void take_over(const RunRecord& before);

  struct Worker {
    explicit Worker(std::size_t most) : spans(most), exchanges(most / 4) {}
    WorkerFigures latest;
    Kept<Span> spans;
    Kept<Exchange> exchanges;
    std::optional<Span> last_step;  // may turn out to be the run's last

    void state(Archive& archive);
  };
  struct Decided {
    Rank who = kCoordinator;
    DecisionRecord decision;
  };

  const RunFacts& facts() const { return facts_; }
  RunState state() const { return state_; }
  const std::string& why() const { return why_; }  // it failed or ended early
  Seconds seconds() const { return seconds_; }
  std::int64_t samples() const { return samples_; }
  std::optional<double> train_loss() const { return train_loss_; }
  const std::vector<Metric>& metrics() const { return metrics_; }
  double samples_per_second() const;
  std::int64_t bytes_sent() const;  // by all workers, as in the summary
  const std::vector<Worker>& workers() const { return workers_; }
  const Kept<Span>& evaluations() const { return evaluations_; }
  const Kept<Decided>& decisions() const { return decisions_; }
  const std::optional<Behind>& behind() const { return behind_; }
  const Figures& method() const { return method_; }

  // Quantities over time, per worker.
  enum Row : std::size_t {
    kCompute,
    kCommunicate,
    kWait,
    kSamples,
    kSteps,
    kTransit,     // seconds in transit of messages that somebody waited for, from or to this worker
    kBytes,       // and their bytes
    kShareSteps,  // steps that shares are averaged over
    kShareSamples,  // and their samples; excludes the last step of the run, which may be short
    kRows
  };
  Seconds bin_width() const { return timeline_.width(); }
  std::size_t bins() const { return timeline_.used(); }
  std::span<const double> row(Rank worker, Row row) const;

  // What every worker did recently: in the last eighth of the run, or in a longer part if that is
  // needed to include some steps of each.
  std::vector<WorkerPace> recent() const;
  // The same over the whole run.
  std::vector<WorkerPace> paces() const;

 private:
  void add_span(Rank rank, const Span& span);
  void add_transit(Rank to, const Exchange& exchange, double times = 1);
  void count_share(Rank rank, const Span& span, double times = 1);
  void count_step(Rank rank, const Span& span, double times = 1);
  void trim_evaluations(std::int64_t step);
  void trim_worker(Rank rank, Seconds seconds);
  bool take_back(Rank rank, Span& span, Seconds seconds);
  void wait_for_the_end();
  std::size_t row_of(Rank worker, Row row) const {
    return static_cast<std::size_t>(worker) * kRows + row;
  }
  std::vector<WorkerPace> paces_since(std::size_t bin) const;

  const RunFacts facts_;
  RunState state_ = RunState::kRunning;
  std::string why_;
  Seconds seconds_ = 0;
  std::int64_t samples_ = 0;
  std::optional<double> train_loss_;
  std::vector<Metric> metrics_;
  std::vector<Worker> workers_;
  std::vector<Seconds> written_;  // by worker: the end of its last span
  Timeline timeline_;
  Kept<Span> evaluations_;
  Kept<Decided> decisions_;
  std::optional<Behind> behind_;
  Figures method_;
};

}  // namespace motley
