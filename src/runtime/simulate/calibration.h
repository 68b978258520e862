// Calibration: finds the latency and bandwidth with which the simulator's links behave like a real
// fabric.
//
//   const auto links = calibrate(job, parameters, [](const Job& probe) { return run(probe); });
//
// Two probes are run for real: short jobs whose workers have equal speeds and compute nothing, but
// are paced. The small probe all-reduces a tiny model and measures latency. The large one uses the
// job's own method, codec, number of workers and model size, and measures bandwidth. Then both are
// simulated with different links until the simulation takes as long as the real probes. So motley's
// own protocol is measured, under the load of such a job: workers on one machine share its cores
// and memory, so the speed of a link depends on how many others are in use.
//
// Arithmetic on messages takes as long in the simulated probes as cluster.memory_bandwidth says. If
// it takes longer on the machine, or is not charged (adding in a ring), the rest is included in the
// bandwidth.
//
// Steps are paced because a node is slower to communicate after a sleep. The first quarter of each
// run is ignored, because one-time costs (connections, first access to memory) are not link costs.
// The two probes alternate several times, and the median of each is used.
//
// Cost: a few seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "runtime/run/run.h"

namespace motley {

struct Links {
  Seconds latency = 0;
  double bandwidth = 0;  // bytes per second
};

// The probe for a job, with a model of so many parameters. The model is a phantom; workers of a
// real run use a StillTask.
Job probe_for(const Job& job, std::int64_t parameters);

// The smallest model with which bandwidth can be measured. Probes of smaller models use this size.
inline constexpr std::int64_t kLeastParameters = 500'000;

// The progress of a run at one time. A Course has them from start to end.
struct Milestone {
  Seconds at = 0;
  std::int64_t samples = 0;
};
using Course = std::vector<Milestone>;

// Seconds per step of `batch` samples, without the first quarter of the run.
Seconds step_seconds(const Course& course, std::int64_t batch);

// Simulates a probe with these links.
Course simulated(const Job& probe, const Links& links);

// Seconds per step of each probe.
struct Probed {
  Seconds small = 0;
  Seconds large = 0;
};

// The links with which the simulated probes take as long. Fails if bandwidth cannot be measured
// because the large probe took no longer than latency alone explains.
Result<Links> fit_links(const Job& small, const Job& large, const Probed& took);

struct Calibration {
  Links links;
  std::string how;  // one line for people: what was measured
};

using RunProbe = std::function<Course(const Job& probe)>;
Result<Calibration> calibrate(const Job& job, std::int64_t parameters, const RunProbe& run);

// Records the course of a run.
class CourseMonitor : public RunMonitor {
 public:
  void on_progress(const RunProgress& progress) override {
    course_.push_back({progress.seconds, progress.samples});
  }
  void on_metric(const Metric&) override {}
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  // The course including the end of the run.
  Course course(const RunOutcome& outcome) const;

 private:
  Course course_;
};

// The task of a probe: computes nothing, like a phantom, but has real parameters, which are sent.
class StillTask final : public PhantomTask {
 public:
  using PhantomTask::PhantomTask;
  std::unique_ptr<Replica> make_replica() override;
};

}  // namespace motley
