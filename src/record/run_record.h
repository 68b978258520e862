// RunRecord: everything that is known of a run, while it goes and afterwards. The terminal, the
// report, the live page, the trace, TensorBoard and Prometheus all show this and nothing else.
//
//   RunRecord record(facts);
//   record.add(rank, news);        // as it comes; of servers and kCoordinator, what they decided
//   record.add(metric);
//   record.finish(summary);        // or fail(why)
//
// Memory is bounded however long a run goes on: sums over time in bins that grow (timeline.h), of
// spans, exchanges and decisions the first and the last (kept.h). Fewer per worker where there are
// many workers: some 30 MB at most, 10 MB with 64 of them.
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
  std::string job;       // the resolved job file
  std::string version;   // of motley
  std::string libtorch;  // its version; empty: not used
  int workers = 1;
  int servers = 0;
  std::int64_t batch = 1;
  std::int64_t limit = 0;               // samples in the whole run
  double ideal_samples_per_second = 0;  // 0 = not paced
  std::optional<double> target_accuracy;
};

// How far a worker is, counted from the beginning of the run.
struct WorkerFigures {
  Seconds compute = 0;
  Seconds communicate = 0;
  Seconds wait = 0;
  std::int64_t samples = 0;
  std::int64_t steps = 0;
  std::size_t share = 0;  // samples of its last step
  std::int64_t bytes_sent = 0;
};

// And what it wrote in its journal since it last told.
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
  // Where the whole run stands; `loss` is the mean of the last samples known of.
  void progress(Seconds seconds, std::int64_t samples, std::optional<double> loss);
  void finish(const Summary& summary);
  void fail(std::string why);

  struct Worker {
    explicit Worker(std::size_t most) : spans(most), exchanges(most / 4) {}
    WorkerFigures latest;
    Kept<Span> spans;
    Kept<Exchange> exchanges;
    std::optional<Span> last_step;  // which may turn out to be the run's last
  };
  struct Decided {
    Rank who = kCoordinator;
    DecisionRecord decision;
  };

  const RunFacts& facts() const { return facts_; }
  RunState state() const { return state_; }
  const std::string& why() const { return why_; }  // it failed, or ended early
  Seconds seconds() const { return seconds_; }
  std::int64_t samples() const { return samples_; }
  std::optional<double> train_loss() const { return train_loss_; }
  const std::vector<Metric>& metrics() const { return metrics_; }
  double samples_per_second() const;
  std::int64_t bytes_sent() const;  // by the workers, as in the summary
  const std::vector<Worker>& workers() const { return workers_; }
  const Kept<Span>& evaluations() const { return evaluations_; }
  const Kept<Decided>& decisions() const { return decisions_; }
  const std::optional<Behind>& behind() const { return behind_; }
  const Figures& method() const { return method_; }

  // Over time, by worker.
  enum Row : std::size_t {
    kCompute,
    kCommunicate,
    kWait,
    kSamples,
    kSteps,
    kTransit,       // of what somebody waited for, from or to it: seconds under way,
    kBytes,         // and how much it was
    kShareSteps,    // steps that shares are seen in, and
    kShareSamples,  // what they had: all but a run's last one, which is what was left
    kRows
  };
  Seconds bin_width() const { return timeline_.width(); }
  std::size_t bins() const { return timeline_.used(); }
  std::span<const double> row(Rank worker, Row row) const;

  // What every worker did of late: in the last eighth of the run, or in as much more of it as it
  // takes for some steps of each.
  std::vector<WorkerPace> recent() const;
  // And in all of it.
  std::vector<WorkerPace> paces() const;

 private:
  void add_span(Rank rank, const Span& span);
  void add_transit(Rank to, const Exchange& exchange);
  void count_share(Rank rank, const Span& span);
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
