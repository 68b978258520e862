// Calibration: the latency and bandwidth with which the simulator's links behave as a fabric does.
//
//   const auto links = calibrate(job, parameters, [](const Job& probe) { return run(probe); });
//
// Two probes are run for real: short jobs of workers that are all alike and have no arithmetic,
// only a pace. The small one is an all-reduce of next to nothing, which is latency; the large one
// has the job's own method, codec, workers and size of model, which is bandwidth. Then the same two
// are simulated, with other links until they take as long. So what is measured and what is fitted
// are the product's own protocol, under the load that such a job makes: workers of one machine
// share its cores and its memory, and a link's share of them depends on who else is at it.
//
// What happens to numbers on their way (adding in the ring, averaging, encoding, a server's
// adding) takes no time in the simulator, so it is found in the bandwidth.
//
// Steps are paced, for a node that has slept before it communicates is slower than one that has
// not. What a run costs once (connections, first touches of memory) is in no link, so its first
// quarter does not count. Each probe is run several times, in turn with the other, and the middle
// one counts.
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

// The probe of a job with a model of so many parameters. Phantom: what runs it for real gives its
// workers a StillTask.
Job probe_for(const Job& job, std::int64_t parameters);

// The least model that tells a bandwidth; the probe of a smaller one has so many.
inline constexpr std::int64_t kLeastParameters = 500'000;

// Where a run stood, from its beginning to its end.
struct Milestone {
  Seconds at = 0;
  std::int64_t samples = 0;
};
using Course = std::vector<Milestone>;

// Seconds that a step of so many samples took, once the run was under way.
Seconds step_seconds(const Course& course, std::int64_t batch);

// The course of a probe on links like these.
Course simulated(const Job& probe, const Links& links);

// How long a step of either probe took.
struct Probed {
  Seconds small = 0;
  Seconds large = 0;
};

// The links with which the simulator takes as long. Fails when that cannot be told: the large
// probe took no longer than its messages would without any bytes.
Result<Links> fit_links(const Job& small, const Job& large, const Probed& took);

struct Calibration {
  Links links;
  std::string how;  // one line for a person: what was measured
};

using RunProbe = std::function<Course(const Job& probe)>;
Result<Calibration> calibrate(const Job& job, std::int64_t parameters, const RunProbe& run);

// Keeps the course of a run.
class CourseMonitor : public RunMonitor {
 public:
  void on_progress(const RunProgress& progress) override {
    course_.push_back({progress.seconds, progress.samples});
  }
  void on_metric(const Metric&) override {}
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  // With the end of the run.
  Course course(const RunOutcome& outcome) const;

 private:
  Course course_;
};

// What a probe trains: as a phantom it has no arithmetic, but it has numbers, and they travel.
class StillTask final : public PhantomTask {
 public:
  using PhantomTask::PhantomTask;
  std::unique_ptr<Replica> make_replica() override;
};

}  // namespace motley
