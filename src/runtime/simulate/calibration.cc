#include "runtime/simulate/calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "motley/sync/method.h"
#include "runtime/simulate/simulate.h"

namespace motley {
namespace {

constexpr int kRepeats = 5;
// Compute time of a probe's step: long enough for the process to sleep, and too short to hide the
// communication of methods that overlap it with computation.
constexpr Seconds kPace = 1e-3;
// Rough duration of a run, and a very rough time per byte, from which the number of steps follows.
constexpr Seconds kRun = 0.4;
constexpr Seconds kPerByte = 4e-9;
constexpr std::int64_t kFewestSteps = 12;
constexpr std::int64_t kLeftOut = 4;  // the first 1/4 of a run is ignored

constexpr double kLeastBandwidth = 1;  // of job/keys.cc
constexpr double kMostBandwidth = 1e15;
constexpr Seconds kLeastLatency = 1e-9;
constexpr Seconds kMostLatency = 10;

class StillReplica final : public Replica {
 public:
  explicit StillReplica(std::size_t size) : parameters_(size), gradient_(size + kTail) {
    // Small enough that repeated summing does not overflow during a probe.
    constexpr float kTiny = 1e-20F;
    Random random(1);
    for (std::size_t i = 0; i < size; ++i) {
      parameters_[i] = static_cast<float>(random.uniform()) - 0.5F;
      gradient_[i] = kTiny * parameters_[i];
    }
  }
  Block parameters() override { return {parameters_.data(), parameters_.size()}; }
  Block gradient() override { return {gradient_.data(), gradient_.size()}; }
  Block buffers() override { return {}; }
  double compute(std::span<const SampleIndex>) override { return 0; }
  void apply(double) override {}

 private:
  std::vector<float> parameters_;
  std::vector<float> gradient_;
};

// The largest x in [low, high] with rising(x) <= target, to a relative precision of 1e-4.
template <class Rising>
double solve(const Rising& rising, double target, double low, double high) {
  while (high / low > 1 + 1e-4) {
    const double middle = std::sqrt(low * high);
    (rising(middle) > target ? high : low) = middle;
  }
  return low;
}

Seconds middle(std::vector<Seconds> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

std::unique_ptr<Replica> StillTask::make_replica() {
  return std::make_unique<StillReplica>(parameters());
}

Course CourseMonitor::course(const RunOutcome& outcome) const {
  Course course = course_;
  std::erase_if(course, [&](const Milestone& moment) { return moment.samples >= outcome.samples; });
  course.push_back({outcome.seconds, outcome.samples});
  return course;
}

Seconds step_seconds(const Course& course, std::int64_t batch) {
  const Milestone& end = course.back();
  const auto begin = std::ranges::find_if(
      course, [&](const Milestone& moment) { return moment.samples * kLeftOut >= end.samples; });
  const Milestone from = begin->samples < end.samples ? *begin : Milestone{};
  return (end.at - from.at) * static_cast<double>(batch) /
         static_cast<double>(end.samples - from.samples);
}

Job probe_for(const Job& job, std::int64_t parameters) {
  const double bytes = static_cast<double>(parameters) * sizeof(float);
  Job probe;
  probe.name = "calibration";
  probe.seed = job.seed;
  probe.model = {.kind = ModelKind::kPhantom, .path = "", .parameters = parameters};
  probe.train.batch = job.cluster.workers;
  probe.train.eval_every = 0;
  probe.strategy = job.strategy;
  if (const Method* other = method_of(job).calibrate_as) {
    probe.strategy.sync = other->name();
  }
  probe.strategy.allocation = "equal";
  ClusterSpec& cluster = probe.cluster;
  cluster.workers = job.cluster.workers;
  cluster.overhead.assign(job.cluster.speeds.size(), kPace);
  cluster.speeds.assign(job.cluster.speeds.size(), 1);
  cluster.bandwidth.assign(job.cluster.speeds.size(), kMostBandwidth);
  cluster.memory_bandwidth = job.cluster.memory_bandwidth;
  const Seconds step = kPace + kPerByte * bytes;
  probe.train.steps = std::max(kFewestSteps, static_cast<std::int64_t>(kRun / step));
  return probe;
}

Course simulated(const Job& probe, const Links& links) {
  Job job = probe;
  job.cluster.latency = links.latency;
  std::ranges::fill(job.cluster.bandwidth, links.bandwidth);
  PhantomTask task(job.data.samples, job.model.parameters);
  CourseMonitor monitor;
  return monitor.course(simulate(job, task, monitor));
}

// Given bandwidth, the small probe determines latency; given latency, the large one determines
// bandwidth. The small probe hardly depends on bandwidth, so alternating converges in a few rounds.
Result<Links> fit_links(const Job& small, const Job& large, const Probed& took) {
  constexpr int kTurns = 10;
  constexpr double kSettled = 1e-3;
  const auto step_of = [](const Job& probe, const Links& links) {
    return step_seconds(simulated(probe, links), probe.train.batch);
  };
  Links links{0, kMostBandwidth};
  for (int turn = 0; turn < kTurns; ++turn) {
    const double before = links.bandwidth;
    links.latency = solve(
        [&](Seconds latency) {
          return step_of(small, {latency, links.bandwidth});
        },
        took.small, kLeastLatency, kMostLatency);
    if (step_of(large, {links.latency, kMostBandwidth}) >= took.large) {
      return fail(
          "cannot measure bandwidth: steps with {} parameters took no longer than with {}; is the "
          "machine busy with something else?",
          large.model.parameters, small.model.parameters);
    }
    links.bandwidth = 1 / solve(
                              [&](double per_byte) {
                                return step_of(large, {links.latency, 1 / per_byte});
                              },
                              took.large, 1 / kMostBandwidth, 1 / kLeastBandwidth);
    if (std::abs(links.bandwidth - before) < kSettled * links.bandwidth) {
      break;
    }
  }
  return links;
}

Result<Calibration> calibrate(const Job& job, std::int64_t parameters, const RunProbe& run) {
  Job usual = job;
  usual.strategy = {};
  const Job small = probe_for(usual, 1);
  const Job large = probe_for(job, std::max(parameters, kLeastParameters));
  std::vector<Seconds> small_steps;
  std::vector<Seconds> large_steps;
  for (int i = 0; i < kRepeats; ++i) {
    small_steps.push_back(step_seconds(run(small), small.train.batch));
    large_steps.push_back(step_seconds(run(large), large.train.batch));
  }
  const Probed took{middle(small_steps), middle(large_steps)};
  const auto links = fit_links(small, large, took);
  if (!links) {
    return tl::unexpected(links.error());
  }
  return Calibration{
      *links, fmt::format("{} workers: {:.3g} ms for {} of {} parameters, {:.3g} ms for {} of {}",
                          job.cluster.workers, 1e3 * (took.large - kPace), large.strategy.sync,
                          large.model.parameters, 1e3 * (took.small - kPace), small.strategy.sync,
                          small.model.parameters)};
}

}  // namespace motley
