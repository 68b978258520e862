// RunRecord: everything known about a run, during it and afterwards. Terminal, report, live page,
// trace, TensorBoard and Prometheus show only what is in it.
//
//   RunRecord record(facts);
//   record.set_members(members);   // everybody who was there until now, whenever that changes
//   record.add(term);              // it begins
//   record.add(place, news);       // as it comes; of servers and kCoordinator, what they decided
//   record.add(metric);
//   record.finish(summary);        // or fail(why)
//
// Memory is bounded however long a run takes: sums over time are kept in bins that grow
// (timeline.h), and of spans, exchanges, decisions and terms only the first and the last (kept.h),
// fewer per worker if there are many workers. At most about 30 MB; 10 MB with 64 workers. Only who
// was a member is kept for all: about 100 bytes for each stay.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "motley/record/journal.h"
#include "record/kept.h"
#include "record/record_place.h"
#include "record/straggler.h"
#include "record/summary.h"
#include "record/term_record.h"
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

// A worker's report: its totals since it joined, and its journal since the last report. Exchanges
// name the place of the sender.
struct WorkerNews {
  WorkerFigures figures;
  JournalEntries entries;
};

enum class RunState { kRunning, kComplete, kStopped, kFailed };

class RunRecord {
 public:
  explicit RunRecord(RunFacts facts);

  void add(RecordPlace place, const WorkerNews& news);
  void add(const Metric& metric);
  // A term begins.
  void add(TermRecord term);
  // Everybody who was there until now. Whoever is new gets a place, if it is a worker.
  void set_members(std::vector<MemberRecord> members);
  // The progress of the whole run; `loss` is the mean over the most recent samples.
  void progress(Seconds seconds, std::int64_t samples, std::optional<double> loss);
  void finish(const Summary& summary);
  void fail(std::string why);

  // Of a run in progress. A run that goes on may have other workers: those of the record that was
  // saved keep their places.
  void state(Archive& archive);
  // Removes what came after this moment and after so many samples. Of a real run, the record that a
  // checkpoint holds also has what was done while its parts arrived.
  void trim(Seconds seconds, std::int64_t samples);
  struct Worker {
    Worker(int its_id, std::size_t its_row, std::size_t most)
        : id(its_id), row(its_row), spans(most), exchanges(most / 4) {}
    int id;
    std::size_t row;        // among those of the timeline
    WorkerFigures latest;   // since the beginning of the run
    WorkerFigures earlier;  // of stays before this one
    Seconds joined = 0;     // the beginning of this stay
    Seconds written = 0;    // the end of its last span
    Kept<Span> spans;
    Kept<Exchange> exchanges;
    std::optional<Span> last_step;  // may turn out to be the run's last

    void state(Archive& archive);
  };
  struct Decided {
    RecordPlace who = kCoordinator;
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
  // Every worker of the job, and who joined besides, in the order of ids.
  const std::vector<Worker>& workers() const { return workers_; }
  const Worker& worker(int id) const;
  bool has_worker(int id) const;
  // Whether the worker is there now, or was there when the run ended.
  bool is_there(int id) const;
  int workers_there() const;
  // Everybody who was there; empty if nobody said so. In the order of joining, workers first.
  const std::vector<MemberRecord>& members() const { return members_; }
  const Kept<TermRecord>& terms() const { return terms_; }
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
  std::span<const double> row(int worker, Row row) const;

  // What every worker that is there did recently: in the last eighth of the run, or in a longer
  // part if that is needed to include some steps of each.
  std::vector<WorkerPace> recent() const;
  // The same over the whole run.
  std::vector<WorkerPace> paces() const;

 private:
  void add_span(Worker& worker, const Span& span);
  void add_transit(RecordPlace to, const Exchange& exchange, double times = 1);
  void count_share(const Worker& worker, const Span& span, double times = 1);
  void count_step(const Worker& worker, const Span& span, double times = 1);
  void trim_evaluations(std::int64_t step);
  void trim_members(Seconds seconds);
  void trim_worker(Worker& worker, Seconds seconds);
  bool take_back(Worker& worker, Span& span, Seconds seconds);
  void take_totals(const Summary& summary);
  void wait_for_the_end();
  void note_presence();
  void begin_stays();
  void make_room_for(std::size_t workers);
  Worker& make_worker(int id);
  void check_members() const;
  void restore_places(const std::vector<int>& ids);
  std::size_t row_of(const Worker& worker, Row row) const { return worker.row * kRows + row; }
  WorkerPace pace_since(const Worker& worker, std::size_t bin) const;
  std::vector<WorkerPace> paces_since(std::size_t bin) const;

  const RunFacts facts_;
  RunState state_ = RunState::kRunning;
  std::string why_;
  Seconds seconds_ = 0;
  std::int64_t samples_ = 0;
  std::optional<double> train_loss_;
  std::vector<Metric> metrics_;
  std::size_t room_;  // for so many workers; what is kept of each depends on it
  std::vector<Worker> workers_;
  std::vector<MemberRecord> members_;
  std::map<int, Seconds> there_;  // of the workers that are there: since when
  Timeline timeline_;
  Kept<TermRecord> terms_;
  Kept<Span> evaluations_;
  Kept<Decided> decisions_;
  std::optional<Behind> behind_;
  Figures method_;
};

}  // namespace motley
