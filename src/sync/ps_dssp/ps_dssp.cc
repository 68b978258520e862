#include "sync/ps_dssp/ps_dssp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "motley/sync/parameter_server/bounded_committer.h"
#include "motley/sync/parameter_server/committer.h"
#include "motley/sync/parameter_server/server.h"
#include "motley/sync/ps_dssp.h"
#include "sync/parameter_server/server_values.h"
#include "sync/refit.h"

namespace motley {
namespace {

// The time between `moment` and the nearest of the slowest worker's next commits.
Seconds distance_to_commit(Seconds moment, const CommitPace& slowest, std::int64_t most) {
  const Seconds interval = *slowest.interval;
  const double nearest = interval > 0 ? std::round((moment - slowest.last) / interval) : 1;
  const double commit = std::clamp(nearest, 1.0, static_cast<double>(most) + 1);
  return std::abs(slowest.last + commit * interval - moment);
}

Checked check_ps_dssp(const Job& job, const IsGiven&) {
  const auto& options = job.strategy.of<PsDsspOptions>();
  if (options.staleness_low <= options.staleness_high) {
    return {};
  }
  return JobProblem{
      {"strategy.ps_dssp.staleness_low", "strategy.ps_dssp.staleness_high"},
      fmt::format("strategy.ps_dssp.staleness_low is {}, but staleness_high is {}: it must not be "
                  "above staleness_high",
                  options.staleness_low, options.staleness_high)};
}

State fitted_gate(const State& gate, const MemberChange& members) {
  std::vector<CommitPace> paces;
  for (Rank rank = 0; rank < members.before; ++rank) {
    paces.push_back(saved_value<CommitPace>(gate, std::to_string(rank)));
  }
  State fitted;
  save_value(fitted, "granted", saved_value<std::int64_t>(gate, "granted"));
  paces = members.arranged(paces, {});
  for (std::size_t rank = 0; rank < paces.size(); ++rank) {
    save_value(fitted, std::to_string(rank), paces[rank]);
  }
  return fitted;
}

// The paces of those who stay are known, but not to a server that is new.
MethodState fit_ps_dssp(const MethodState& before, const Refit& refit) {
  MethodState now = fit_committers(before, refit);
  for (std::size_t i = 0; i < now.servers.size(); ++i) {
    const std::optional<Rank> previous = refit.servers.previous[i];
    const State server = previous ? before.servers[static_cast<std::size_t>(*previous)] : State{};
    if (server.has(kServerGate)) {
      now.servers[i].put(kServerGate, fitted_gate(server.part(kServerGate), refit.members));
    }
  }
  return now;
}

Figures run_server_of_ps_dssp(const ServerContext& context) {
  const auto& options = context.job.strategy.of<PsDsspOptions>();
  return run_parameter_server(
      context, {.gate = std::make_unique<DynamicStaleness>(
                    context.job.cluster.workers, options.staleness_low, options.staleness_high)});
}

}  // namespace

std::int64_t extra_commits(const CommitPace& fast, const CommitPace& slowest, std::int64_t most) {
  if (!fast.interval || !slowest.interval) {
    return 0;
  }
  std::int64_t best = 0;
  Seconds shortest = distance_to_commit(fast.last, slowest, most);
  for (std::int64_t r = 1; r <= most; ++r) {
    const Seconds moment = fast.last + static_cast<double>(r) * *fast.interval;
    if (const Seconds wait = distance_to_commit(moment, slowest, most); wait < shortest) {
      best = r;
      shortest = wait;
    }
  }
  return best;
}

DynamicStaleness::DynamicStaleness(int workers, std::int64_t low, std::int64_t high)
    : low_(low), high_(high), bound_(workers, low), workers_(static_cast<std::size_t>(workers)) {
  MOTLEY_CHECK(low <= high, "a bound from {} to {}", low, high);
}

void DynamicStaleness::note_pace(Worker& worker, Seconds now) {
  if (std::exchange(worker.has_committed, true)) {
    worker.pace.interval = now - worker.pace.last;
  }
  worker.pace.last = now;
}

// A worker's next commit is its first of the term: the time since its last one is not an interval.
void DynamicStaleness::state(Archive& archive) {
  archive("granted", granted_);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    archive(std::to_string(i), workers_[i].pace);
  }
}

void DynamicStaleness::leave(Rank worker) {
  workers_[static_cast<std::size_t>(worker)].left = true;
  bound_.leave(worker);
}

// The search over all workers is needed only if this worker is the slowest itself.
std::optional<Rank> DynamicStaleness::slowest_but(Rank worker) const {
  if (const auto slowest = bound_.slowest(); slowest != worker) {
    return slowest;
  }
  std::optional<Rank> slowest;
  for (Rank other = 0; other < std::ssize(workers_); ++other) {
    const bool is_there = other != worker && !workers_[static_cast<std::size_t>(other)].left;
    if (is_there && (!slowest || bound_.step_of(other) < bound_.step_of(*slowest))) {
      slowest = other;
    }
  }
  return slowest;
}

std::int64_t DynamicStaleness::grant(const ArrivedCommit& commit, Worker& worker, Rank slowest) {
  if (*commit.step < newest_) {
    return 0;
  }
  const CommitPace& its = workers_[static_cast<std::size_t>(slowest)].pace;
  const std::int64_t extra = extra_commits(worker.pace, its, high_ - low_);
  if (extra > 0) {
    worker.reason = fmt::format(
        "{} more commits allowed: it then stops closest to a commit of worker {}, the slowest",
        extra, slowest);
  }
  return extra;
}

// Commits beyond the lower bound use up the granted ones. Commits of the slowest worker in the
// meantime only reduce the gap, so it never exceeds low + r* <= high.
void DynamicStaleness::arrive(const ArrivedCommit& commit) {
  Worker& worker = workers_[static_cast<std::size_t>(commit.worker)];
  note_pace(worker, commit.at);
  const std::optional<Rank> slowest = slowest_but(commit.worker);
  if (!commit.step || !slowest) {
    return bound_.arrive(commit);
  }
  newest_ = std::max(newest_, *commit.step);
  const std::int64_t beyond = *commit.step - bound_.step_of(*slowest) - low_;
  if (beyond > 0 && worker.extra == 0) {
    worker.extra = grant(commit, worker, *slowest);
  }
  if (beyond <= 0 || beyond > high_ - low_ || worker.extra == 0) {
    return bound_.arrive(commit);
  }
  --worker.extra;
  ++granted_;
  bound_.arrive(commit, beyond);
}

std::vector<GateDecision> DynamicStaleness::decide() {
  std::vector<GateDecision> decisions = bound_.decide();
  for (GateDecision& decision : decisions) {
    Worker& worker = workers_[static_cast<std::size_t>(decision.worker)];
    if (decision.applied && !worker.reason.empty()) {
      decision.reason = std::exchange(worker.reason, {});
    }
  }
  return decisions;
}

const Method kPsDssp = {
    .schema = {.name = "ps_dssp",
               .summary =
                   "stale synchronous, with a bound that moves between two values to keep waits "
                   "short (Zhao et al.)",
               .keys = {{"strategy.ps_dssp.staleness_low", option<&PsDsspOptions::staleness_low>,
                         Range{0, 1000},
                         "commits that a worker may always be ahead of the slowest"},
                        {"strategy.ps_dssp.staleness_high", option<&PsDsspOptions::staleness_high>,
                         Range{0, 1000}, "commits that it may be ahead if that shortens its wait"}},
               .exchanges = ExchangeKind::kChanges,
               .has_servers = true,
               .check = check_ps_dssp},
    .advance = Advance::kAtOwnPace,
    .make = make_bounded_committer,
    .serve = serve_committers,
    .run_server = run_server_of_ps_dssp,
    .fit = fit_ps_dssp,
};

}  // namespace motley
