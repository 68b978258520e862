// Simulated runs whose workers and servers are lost, freeze, leave and come, at random times.
//
// MOTLEY_ELASTIC_SEEDS: how many schedules of faults per method, or which ("2001-3000").
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "motley/sync/method.h"
#include "tests/applied_task.h"
#include "tests/resumable_run.h"

namespace motley {

constexpr std::int64_t kElasticDataset = 600;

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 0;

  // Of many schedules: otherwise they test little.
  void expect_many(std::int64_t losses, std::int64_t few) const {
    if (last >= first + 50) {
      EXPECT_GT(losses, few);
    }
  }
};

inline SeedRange elastic_seeds(std::uint64_t usual) {
  const char* const given = std::getenv("MOTLEY_ELASTIC_SEEDS");
  const std::string text = given ? given : std::to_string(usual);
  const auto dash = text.find('-');
  return dash == text.npos
             ? SeedRange{1, std::stoull(text)}
             : SeedRange{std::stoull(text.substr(0, dash)), std::stoull(text.substr(dash + 1))};
}

struct FaultMix {
  std::size_t most = 6;         // events
  std::size_t of_servers = 30;  // percent of them
  bool only_servers = false;
};

// An event at this time. Servers only die and freeze.
inline ClusterEvent any_fault(JobMaker& maker, const Job& job, Seconds at, const FaultMix& mix) {
  const auto servers = static_cast<std::size_t>(servers_of(job));
  ClusterEvent event{.at = at};
  event.seconds = std::vector{0.01, 0.3, 3.0}[maker.below(3)];
  if (servers > 0 && (mix.only_servers || maker.below(100) < mix.of_servers)) {
    event.server = static_cast<std::int64_t>(maker.below(servers));
    event.kind = maker.below(3) == 0 ? EventKind::kFreezes : EventKind::kDies;
  } else {
    event.worker = static_cast<Rank>(maker.below(static_cast<std::size_t>(job.cluster.workers)));
    event.kind = std::vector{EventKind::kDies, EventKind::kDies, EventKind::kFreezes,
                             EventKind::kLeaves, EventKind::kJoins}[maker.below(5)];
  }
  return event;
}

// At random times of a run of about `seconds`, some of them at once, or shortly after another one:
// while the others begin anew.
inline std::vector<ClusterEvent> any_faults(JobMaker& maker, const Job& job, Seconds seconds,
                                            const FaultMix& mix) {
  std::vector<ClusterEvent> events;
  const std::size_t count = 1 + maker.below(mix.most);
  for (std::size_t i = 0; i < count; ++i) {
    Seconds at = seconds * static_cast<double>(maker.below(1000)) / 1000;
    const std::size_t how = maker.below(8);
    if (how < 3 && !events.empty()) {
      at = events.back().at + std::vector{0.0, 0.0, 0.05 + 1e-4}[how];
    }
    events.push_back(any_fault(maker, job, at, mix));
  }
  std::ranges::stable_sort(events, {}, &ClusterEvent::at);
  return events;
}

struct Elastic {
  Job job;
  Seconds calm_seconds = 0;  // without faults
  std::vector<float> calm_model;
};

// A job with faults; one worker always stays, so that somebody survives.
inline Elastic any_elastic(JobMaker& maker, const Method& method, const Overrides& given = {},
                           const FaultMix& mix = {}) {
  Elastic elastic{.job = *maker.make(method, {}, given), .calm_model = {}};
  Job& job = elastic.job;
  job.model.kind = ModelKind::kSvm;
  job.train.checkpoint_every = maker.below(2) == 0 ? 0 : job.train.checkpoint_every;
  const Traces calm = run(job);
  elastic.calm_seconds = calm.outcome.seconds;
  elastic.calm_model = calm.outcome.model.parameters;
  job.cluster.heartbeat = 0.5;
  job.cluster.respawn = static_cast<int>(maker.below(3));
  const auto survivor =
      static_cast<Rank>(maker.below(static_cast<std::size_t>(job.cluster.workers)));
  for (const ClusterEvent& event : any_faults(maker, job, elastic.calm_seconds, mix)) {
    const bool goes = event.kind != EventKind::kJoins && !event.server;
    if (!goes || event.worker != survivor) {
      job.cluster.events.push_back(event);
    }
  }
  std::ranges::stable_sort(job.cluster.events, {}, &ClusterEvent::at);
  return elastic;
}

inline bool is_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

inline std::int64_t count_losses(const RunOutcome& outcome, ProcessKind kind) {
  return std::ranges::count_if(outcome.members, [&](const MemberRecord& member) {
    return member.process.kind == kind && member.why == "was lost";
  });
}

// Every sample must have been applied in every epoch, and no more often than the run admits.
inline void expect_coverage(const AppliedTask& task, const RunOutcome& outcome) {
  const std::int64_t epochs = outcome.samples / kElasticDataset;
  const std::int64_t partial = outcome.samples % kElasticDataset > 0 ? 1 : 0;
  std::int64_t total = 0;
  std::int64_t covered = 0;
  for (const std::int64_t times : task.applied) {
    EXPECT_GE(times, epochs);
    total += times;
    covered += std::min(times, epochs + partial);
  }
  EXPECT_GE(covered, outcome.samples);
  EXPECT_LE(total, outcome.samples + outcome.losses.samples_redealt);
}

}  // namespace motley
