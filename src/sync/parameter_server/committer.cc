#include "motley/sync/parameter_server/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "codec/traffic.h"
#include "motley/sync/final_average.h"
#include "sync/parameter_server/server_values.h"
#include "sync/refit.h"

namespace motley {
namespace {

constexpr std::int64_t kStalest = 64;  // staler commits are counted as this stale

Block without_tail(Block gradient) { return gradient.part(0, gradient.size - Replica::kTail); }

}  // namespace

Committer::Committer(const StrategyContext& context)
    : context_(context),
      sample_client_(context, EvaluatedModel::kAnyWorker),
      client_(context.node, context.job, context.seed, context.replica.parameters().size, 0),
      workers_before_(context.node.size()) {
  const Block parameters = context.replica.parameters();
  base_.assign(parameters.floats().begin(), parameters.floats().end());
  if (context.term.number > 0) {
    client_.set_held({parameters.size, HeldVersions::kNone});  // unless state() says otherwise
  }
}

std::optional<Work> Committer::begin() {
  if (over_) {
    return std::nullopt;
  }
  if (iteration_ == 0) {
    const Block parameters = context_.replica.parameters();
    weigh_anew();
    client_.begin(parameters.phantom() ? parameters : Block{base_.data(), base_.size()});
  }
  commits_now_ = commits_after_this();
  const Work work = sample_client_.begin(
      iteration_,
      {.commits = commits_, .commit_seconds = commit_seconds_, .eligible = commits_now_});
  began_ = context_.node.now();
  return work;
}

// Own steps are as large as those of all workers together, and each counts for one of them. If
// there are more or fewer now, what is not committed yet is as large as if there had always been so
// many.
void Committer::weigh_anew() {
  const auto factor = static_cast<float>(node().size()) /
                      static_cast<float>(std::exchange(workers_before_, node().size()));
  if (since_commit_ == 0 || base_.empty() || factor == 1) {
    return;
  }
  const Block parameters = context_.replica.parameters();
  context_.node.process(add_traffic(parameters.size), [&] {
    for (std::size_t i = 0; i < base_.size(); ++i) {
      parameters.data[i] = base_[i] + factor * (parameters.data[i] - base_[i]);
    }
  });
}

Progress Committer::finish(const Computed& computed) {
  iteration_seconds_ = context_.node.now() - began_;
  context_.node.busy(0, [&] {  // all or nothing, if the term is cut off here
    if (computed.samples > 0) {
      context_.replica.apply(own_step_scale(context_.ledger.options(), context_.node.size()));
    }
    ++since_commit_;
    samples_since_commit_ += static_cast<std::int64_t>(computed.samples);
  });
  ++iteration_;
  const Progress progress = sample_client_.finish(computed);
  if (commits_now_ || !sample_client_.goes_on()) {
    commit();
  }
  if (!sample_client_.goes_on()) {
    leave();
  }
  return progress;
}

// The gradient is no longer needed, so its block is reused for the change.
void Committer::commit() {
  const Block parameters = context_.replica.parameters();
  const Block change = without_tail(context_.replica.gradient());
  const auto take_change = [&] {
    for (std::size_t i = 0; i < base_.size(); ++i) {
      change.data[i] = parameters.data[i] - base_[i];
    }
  };
  const auto keep_base = [&] {
    std::ranges::copy(parameters.floats(), base_.begin());
    client_.forget_commit();
  };
  context_.node.process(add_traffic(parameters.size), std::ref(take_change));
  const ServerClient::Reply reply = client_.commit(change, next_commit(), parameters);
  context_.node.process(copy_traffic(parameters.size), std::ref(keep_base));
  waited_ += reply.held;
  commit_seconds_ = reply.seconds - reply.held;
  ++commits_;
  staleness_sum_ += reply.staleness;
  const auto stale =
      static_cast<std::size_t>(std::clamp(reply.staleness, std::int64_t{0}, kStalest));
  staleness_.resize(std::max(staleness_.size(), stale + 1));
  ++staleness_[stale];
  committed(reply);
  served_ = std::exchange(since_commit_, 0);
  samples_since_commit_ = 0;
}

void Committer::leave() {
  std::vector<std::int64_t> counts = {commits_, staleness_sum_};
  counts.insert(counts.end(), staleness_.begin(), staleness_.end());
  sample_client_.leave(counts);
  const Seconds began = context_.node.now();
  client_.leave(context_.replica.parameters());
  waited_ += context_.node.now() - began;
  over_ = true;
}

void Committer::end_run() { waited_ += average_buffers(context_, undo_); }

// A push of which the answer did not come is made again: it may be applied twice. What has been
// answered has not.
std::optional<Settled> Committer::settle() {
  is_cut_off_ = true;
  undo_.take_back();
  const bool repeats =
      client_.take_back(context_.replica.parameters(), {base_.data(), base_.size()});
  if (since_commit_ == 0) {  // perhaps it has the servers' last values already
    std::ranges::copy(context_.replica.parameters().floats(), base_.begin());
  }
  return Settled{.repeated = repeats ? samples_since_commit_ : 0,
                 .unshared = since_commit_,
                 .served = served_};
}

void Committer::state(Archive& archive) {
  archive("commits", commits_);
  archive("commit_seconds", commit_seconds_);
  archive("staleness_sum", staleness_sum_);
  archive("staleness", staleness_);
  archive("iteration_seconds", iteration_seconds_);
  archive("codec", client_);
  // If the term was cut off, changes may not be committed yet, and a server may have lost its part.
  archive("since_commit", since_commit_);
  archive("samples_since_commit", samples_since_commit_);
  std::optional<HeldVersions> held;
  if (is_cut_off_) {
    held = client_.held();
  }
  archive(kHeldVersions, held);
  archive("workers", workers_before_);
  if (since_commit_ > 0 || held) {
    archive.tensor(kHeldCopy, base_);
  }
  if (!archive.is_saving()) {
    take_held(std::move(held));
  }
}

// After a term that ended in order all have what the servers begin with.
void Committer::take_held(std::optional<HeldVersions> held) {
  const std::size_t size = context_.replica.parameters().size;
  if (held && held->size() != size) {
    throw StateError("a worker's copy of the servers' numbers is of another model");
  }
  if (workers_before_ < 1) {
    throw StateError(fmt::format("a worker was one of {} workers", workers_before_));
  }
  client_.set_held(held.value_or(HeldVersions(size, 0)));
}

namespace {

// Those who stay keep their counters.
void inherit_statistics(MethodState& now, const MethodState& before, const MemberChange& members) {
  inherit<std::int64_t>(now.workers, before.workers, members, "staleness_sum",
                        [](std::int64_t& sum, std::int64_t more) { sum += more; });
  inherit<std::vector<std::int64_t>>(now.workers, before.workers, members, "staleness",
                                     [](auto& sum, const auto& more) {
                                       sum.resize(std::max(sum.size(), more.size()));
                                       for (std::size_t i = 0; i < more.size(); ++i) {
                                         sum[i] += more[i];
                                       }
                                     });
}

}  // namespace

MethodState fit_committers(const MethodState& before, const Refit& refit) {
  const MemberChange& members = refit.members;
  MethodState now{.service = before.service,
                  .workers = arranged_states(before.workers, members),
                  .servers = {}};
  std::vector<State> clients;
  for (const State& worker : before.workers) {
    clients.push_back(worker.part("codec"));
  }
  const double scale = static_cast<double>(members.now()) / members.before;
  clients = fitted_clients(clients, refit, scale);
  for (std::size_t i = 0; i < now.workers.size(); ++i) {
    if (members.previous[i]) {
      now.workers[i].put("codec", std::move(clients[i]));
    }
  }
  inherit_statistics(now, before, members);
  fit_server_values(before, refit, now.servers);
  return now;
}

CommitCounts CommitCounts::of(const std::vector<std::vector<std::int64_t>>& farewells) {
  constexpr std::size_t kBefore = 2;  // numbers before the histogram
  CommitCounts counts;
  for (const auto& farewell : farewells) {
    if (farewell.size() < kBefore) {
      throw std::runtime_error("a worker sent an invalid farewell");
    }
    counts.commits.push_back(farewell[0]);
    counts.staleness_sum += farewell[1];
    counts.staleness.resize(std::max(counts.staleness.size(), farewell.size() - kBefore));
    for (std::size_t i = kBefore; i < farewell.size(); ++i) {
      counts.staleness[i - kBefore] += farewell[i];
    }
  }
  return counts;
}

Figures CommitCounts::figures() const {
  const auto all = std::accumulate(staleness.begin(), staleness.end(), std::int64_t{0});
  const double mean = all > 0 ? static_cast<double>(staleness_sum) / static_cast<double>(all) : 0.0;
  return {{"commits", commits}, {"mean_staleness", mean}, {"staleness", staleness}};
}

}  // namespace motley
