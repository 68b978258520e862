#include "motley/sync/parameter_server/committer.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "codec/traffic.h"
#include "motley/sync/final_average.h"

namespace motley {
namespace {

constexpr std::int64_t kStalest = 64;  // staler commits are counted as this stale

Block without_tail(Block gradient) { return gradient.part(0, gradient.size - Replica::kTail); }

}  // namespace

Committer::Committer(const StrategyContext& context)
    : context_(context),
      sample_client_(context, EvaluatedModel::kAnyWorker),
      client_(context.node, context.job, context.seed, context.replica.parameters().size, 0) {
  const Block parameters = context.replica.parameters();
  client_.begin(parameters);
  base_.assign(parameters.floats().begin(), parameters.floats().end());
}

std::optional<Work> Committer::begin() {
  if (over_) {
    return std::nullopt;
  }
  commits_now_ = commits_after_this();
  const Work work = sample_client_.begin(
      iteration_,
      {.commits = commits_, .commit_seconds = commit_seconds_, .eligible = commits_now_});
  began_ = context_.node.now();
  return work;
}

Progress Committer::finish(const Computed& computed) {
  iteration_seconds_ = context_.node.now() - began_;
  if (computed.samples > 0) {
    const double scale = own_step_scale(context_.ledger.options(), context_.node.size());
    context_.node.busy(0, [&] { context_.replica.apply(scale); });
  }
  ++iteration_;
  ++since_commit_;
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
  const auto keep_base = [&] { std::ranges::copy(parameters.floats(), base_.begin()); };
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
  since_commit_ = 0;
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

void Committer::end_run() { waited_ += average_buffers(context_); }

void Committer::state(Archive& archive) {
  archive("commits", commits_);
  archive("commit_seconds", commit_seconds_);
  archive("staleness_sum", staleness_sum_);
  archive("staleness", staleness_);
  archive("iteration_seconds", iteration_seconds_);
  archive("codec", client_);
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
  const auto all = std::accumulate(commits.begin(), commits.end(), std::int64_t{0});
  const double mean = all > 0 ? static_cast<double>(staleness_sum) / static_cast<double>(all) : 0.0;
  return {{"commits", commits}, {"mean_staleness", mean}, {"staleness", staleness}};
}

}  // namespace motley
