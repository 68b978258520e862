#include "sync/ashl/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace motley {
namespace {

// Limits a round if the measured iteration time is close to 0.
constexpr double kMostIterations = 1e9;

void check(std::span<const WorkerProfile> profiles) {
  MOTLEY_CHECK(!profiles.empty(), "no workers to plan for");
  for (const WorkerProfile& profile : profiles) {
    for (const Seconds time : {profile.iteration, profile.push, profile.pull, profile.compress}) {
      MOTLEY_CHECK(time >= 0 && std::isfinite(time), "a time of {} s", time);
    }
  }
}

Seconds time_of(const WorkerProfile& profile, std::int64_t iterations) {
  return profile.iteration * static_cast<double>(iterations);
}

std::int64_t iterations_within(Seconds time, Seconds iteration, std::int64_t h_preset) {
  if (iteration <= 0) {
    return h_preset;
  }
  // At least h_preset iterations always fit; without max(), rounding errors could give fewer if the
  // links take nearly all the time.
  return std::max<std::int64_t>(h_preset,
                                std::llround(std::min(time / iteration, kMostIterations)));
}

StagePlan plan_stage(std::span<const WorkerProfile> profiles, std::int64_t h_preset,
                     const PlanOptions& options) {
  std::vector<WorkerProfile> expected(profiles.begin(), profiles.end());
  if (options.compressed && options.joint) {
    for (WorkerProfile& profile : expected) {
      profile.push *= options.r_preset;
    }
  }
  StagePlan stage;
  stage.rounds = get_h(expected, h_preset);
  stage.ratios = options.compressed ? get_r(profiles, stage.rounds.iterations, options.r_preset)
                                    : std::vector<double>(profiles.size(), 1.0);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const WorkerProfile& profile = profiles[i];
    stage.round_time.push_back(time_of(profile, stage.rounds.iterations[i]) +
                               (options.compressed ? profile.compress : 0) +
                               profile.push * stage.ratios[i] + profile.pull);
  }
  return stage;
}

template <class Number>
std::string range_of(const std::vector<Number>& numbers) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return *least == *most ? fmt::format("{:.3g}", static_cast<double>(*least))
                         : fmt::format("{:.3g} to {:.3g}", static_cast<double>(*least),
                                       static_cast<double>(*most));
}

std::string in_words(const StagePlan& stage) {
  return fmt::format(
      "{} iterations in {:.3g} s, keeping {} of the entries", range_of(stage.rounds.iterations),
      *std::max_element(stage.round_time.begin(), stage.round_time.end()), range_of(stage.ratios));
}

}  // namespace

Rounds get_h(std::span<const WorkerProfile> profiles, std::int64_t h_preset) {
  check(profiles);
  MOTLEY_CHECK(h_preset >= 1, "rounds of {} iterations", h_preset);
  Rounds rounds;
  for (const WorkerProfile& profile : profiles) {
    rounds.longest =
        std::max(rounds.longest, time_of(profile, h_preset) + profile.push + profile.pull);
  }
  for (const WorkerProfile& profile : profiles) {
    const Seconds communicate = profile.push + profile.pull;
    rounds.iterations.push_back(
        iterations_within(rounds.longest - communicate, profile.iteration, h_preset));
  }
  const auto all = static_cast<double>(
      std::accumulate(rounds.iterations.begin(), rounds.iterations.end(), std::int64_t{0}));
  for (const std::int64_t iterations : rounds.iterations) {
    rounds.shares.push_back(static_cast<double>(iterations) / all);
  }
  return rounds;
}

std::vector<double> get_r(std::span<const WorkerProfile> profiles,
                          std::span<const std::int64_t> iterations, double r_preset) {
  check(profiles);
  MOTLEY_CHECK(profiles.size() == iterations.size(), "{} workers, {} rounds", profiles.size(),
               iterations.size());
  MOTLEY_CHECK(r_preset > 0 && r_preset <= 1, "a ratio of {}", r_preset);
  std::vector<Seconds> base;  // time of a round without the push
  Seconds longest = 0;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    base.push_back(time_of(profiles[i], iterations[i]) + profiles[i].compress + profiles[i].pull);
    longest = std::max(longest, base[i] + profiles[i].push * r_preset);
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    // Every worker has time for r_preset; clamp() corrects rounding errors.
    ratios.push_back(profiles[i].push > 0
                         ? std::clamp((longest - base[i]) / profiles[i].push, r_preset, 1.0)
                         : 1.0);
  }
  return ratios;
}

std::vector<double> commit_weights(std::span<const double> shares) {
  double squares = 0;
  for (const double share : shares) {
    squares += share * share;
  }
  std::vector<double> weights;
  for (const double share : shares) {
    weights.push_back(share / (static_cast<double>(shares.size()) * squares));
  }
  return weights;
}

Plan plan_stages(std::span<const WorkerProfile> profiles, const PlanOptions& options) {
  Plan plan;
  plan.ahl = plan_stage(profiles, options.h_preset_ahl, options);
  plan.shl = plan_stage(profiles, options.h_preset_shl, options);
  plan.reason = fmt::format("AHL: {}; SHL: {}", in_words(plan.ahl), in_words(plan.shl));
  return plan;
}

void WorkerProfile::state(Archive& archive) {
  archive("iteration", iteration);
  archive("push", push);
  archive("pull", pull);
  archive("compress", compress);
}

void Rounds::state(Archive& archive) {
  archive("iterations", iterations);
  archive("shares", shares);
  archive("longest", longest);
}

void StagePlan::state(Archive& archive) {
  archive("rounds", rounds);
  archive("ratios", ratios);
  archive("round_time", round_time);
}

void Plan::state(Archive& archive) {
  archive("ahl", ahl);
  archive("shl", shl);
  archive("reason", reason);
}

}  // namespace motley
