// A RunMonitor that keeps the record of a run, as the command line does.
#pragma once

#include "motley/sync/method.h"
#include "runtime/run/run.h"

namespace motley {

class RecordingMonitor final : public RunMonitor {
 public:
  explicit RecordingMonitor(const Job& job) : record(facts_of(job)) {}

  void on_begin(const std::function<Activity(int)>&) override { ++begun; }
  void on_members(std::vector<MemberRecord> members) override {
    record.set_members(std::move(members));
  }
  void on_term(TermRecord term) override { record.add(std::move(term)); }
  void on_news(RecordPlace place, const WorkerNews& news) override { record.add(place, news); }
  void on_progress(const RunProgress& progress) override {
    record.progress(progress.seconds, progress.samples, progress.loss);
  }
  void on_metric(const Metric& metric) override { record.add(metric); }
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  // Call when the run is over.
  void finish(const RunOutcome& outcome) {
    Summary summary;
    summary.seconds = outcome.seconds;
    summary.samples = outcome.samples;
    summary.workers = outcome.workers;
    summary.former_workers = outcome.former_workers;
    summary.members = outcome.members;
    summary.metrics = record.metrics();
    record.finish(summary);
  }

  RunRecord record;
  int begun = 0;

 private:
  static RunFacts facts_of(const Job& job) {
    RunFacts facts;
    facts.workers = job.cluster.workers;
    facts.servers = servers_of(job);
    facts.batch = job.train.batch;
    return facts;
  }
};

}  // namespace motley
