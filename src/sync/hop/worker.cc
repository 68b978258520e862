#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/check.h"
#include "codec/traffic.h"
#include "motley/sync/final_average.h"
#include "motley/sync/sample_client.h"
#include "sync/hop/hop.h"
#include "sync/hop/messages.h"
#include "sync/hop/rules.h"
#include "sync/hop/token_queue.h"
#include "sync/hop/update_queue.h"
#include "sync/weighted_mean.h"

namespace motley {
namespace {

// The neighbours of one worker in the graph.
struct Neighbourhood {
  Neighbourhood(const Graph& graph, Rank self)
      : in(graph.in_neighbours(self)), out(graph.out_neighbours(self)) {
    std::ranges::set_union(in, out, std::back_inserter(all));
  }
  static std::size_t place(const std::vector<Rank>& ranks, Rank rank) {
    const auto found = std::ranges::lower_bound(ranks, rank);
    MOTLEY_CHECK(found != ranks.end() && *found == rank, "worker {} is not a neighbour", rank);
    return static_cast<std::size_t>(found - ranks.begin());
  }
  static bool contains(const std::vector<Rank>& ranks, Rank rank) {
    return std::ranges::binary_search(ranks, rank);
  }

  const std::vector<Rank> in;
  const std::vector<Rank> out;
  std::vector<Rank> all;  // in or out, without duplicates
};

class Hop final : public Strategy {
 public:
  Hop(const StrategyContext& context, const Graph& graph)
      : context_(context),
        rules_(rules_of(context.job.strategy.of<HopOptions>())),
        near_(graph, context.node.rank()),
        updates_(near_.in.size(), slots_of(rules_, graph, context.node.rank())),
        out_(near_.out.size(), Follower{TokenQueue(rules_.max_gap)}),
        sample_client_(context) {
    models_.reserve(near_.in.size());
  }

  std::optional<Work> begin() override {
    if (over_) {
      return std::nullopt;
    }
    const Work work = sample_client_.begin(iteration_);
    give_tokens();
    send_update();
    return work;
  }

  Progress finish(const Computed& computed) override {
    reduce(iteration_, iteration_);
    if (computed.samples > 0) {
      const double scale = own_step_scale(context_.ledger.options(), context_.node.size());
      context_.node.busy(0, [&] { context_.replica.apply(scale); });
    }
    const Progress progress = sample_client_.finish(computed);
    if (sample_client_.goes_on()) {
      advance();
    } else {
      leave();
    }
    return progress;
  }

  // The workers' models become one.
  void end_run() override { waited_ += average_all(context_, undo_); }
  Seconds waited() const override { return waited_ + sample_client_.waited(); }
  std::optional<Settled> settle() override {
    undo_.take_back();
    return Settled{};
  }
  // A term begins with empty queues, and with iteration 0 on every worker.
  void state(Archive& archive) override { archive("counts", counts_); }

 private:
  // What this worker knows about an out-neighbour.
  struct Follower {
    TokenQueue tokens;        // received from it
    std::int64_t acked = -1;  // the last update of this worker that it used
    bool left = false;
  };

  void give_tokens() {
    if (rules_.has_tokens()) {
      const HopNews news{HopKind::kToken, iteration_, iteration_ - given_};
      for (const Rank rank : near_.in) {
        context_.node.send(rank, kHopChannel, news.header());
      }
      given_ = iteration_;
    }
  }

  // All neighbours share one copy of the model.
  void send_update() {
    if (all_out([](const Follower&) { return false; })) {
      return;  // they have all left
    }
    const Block own = context_.replica.parameters();
    Payload model;
    const auto copy = [&] { model = payload_of(own); };
    context_.node.process(copy_traffic(own.size), std::ref(copy));
    const HopNews news{HopKind::kUpdate, iteration_};
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (!out_[i].left) {
        context_.node.send(near_.out[i], kHopChannel, news.header(), model);
      }
    }
  }

  // Replaces the model, which is of iteration `own`, by the mean of itself and of the
  // in-neighbours' updates for iteration k.
  void reduce(std::int64_t k, std::int64_t own) {
    const Block model = context_.replica.parameters();
    wait_until([&] { return updates_.coming(k, rules_.staleness) <= rules_.backup; });
    models_.clear();
    for (const UpdateQueue::Update* update : updates_.collect(k, rules_.staleness)) {
      models_.push_back({update->model.floats(), update_weight(rules_, update->iteration, k)});
    }
    const auto average = [&] { weighted_mean(model, update_weight(rules_, own, k), models_); };
    context_.node.process(mean_traffic(model.size, models_.size()), std::ref(average));
    updates_.release(k, rules_.staleness);
    if (rules_.has_acks()) {
      const HopNews news{HopKind::kAck, k};
      for (const Rank rank : near_.in) {
        context_.node.send(rank, kHopChannel, news.header());
      }
    }
  }

  // Goes to the next iteration, or skips some.
  void advance() {
    if (rules_.has_acks()) {
      wait_until([&] { return all_out([&](const Follower& o) { return o.acked >= iteration_; }); });
    }
    if (!rules_.has_tokens()) {
      ++iteration_;
      return;
    }
    wait_until([&] { return all_out([](const Follower& o) { return o.tokens.size() > 0; }); });
    const auto [next, reason] = next_iteration(rules_, iteration_, lag());
    const std::int64_t jump = next - iteration_;
    for (Follower& follower : out_) {
      if (!follower.left) {
        follower.tokens.remove(jump);
      }
    }
    if (jump > 1) {
      counts_[kJumps] += 1;
      counts_[kJumpsCutShort] += reason == kLongestJump ? 1 : 0;
      counts_[kIterationsSkipped] += jump - 1;
      context_.journal.add({context_.node.now(), "jump",
                            fmt::format("iteration {} -> {}", iteration_, next),
                            std::string(reason)});
      reduce(next - 1, iteration_ + 1);
    }
    iteration_ = next;
  }

  // How many iterations the slowest out-neighbour is ahead.
  std::int64_t lag() const {
    std::int64_t lag = kNoBound;
    for (const Follower& follower : out_) {
      lag = follower.left ? lag : std::min(lag, follower.tokens.size() - rules_.max_gap);
    }
    return lag == kNoBound ? 0 : lag;
  }

  // Tells the neighbours not to wait for this worker any more.
  void leave() {
    const HopNews news{HopKind::kLeave, iteration_};
    for (const Rank rank : near_.all) {
      context_.node.send(rank, kHopChannel, news.header());
    }
    counts_[kLargestUpdateQueue] =
        std::max(counts_[kLargestUpdateQueue], static_cast<std::int64_t>(updates_.largest_size()));
    counts_[kUpdatesDropped] += updates_.dropped();
    for (const Follower& follower : out_) {
      counts_[kLargestTokenQueue] =
          std::max(counts_[kLargestTokenQueue], follower.tokens.largest_size());
    }
    sample_client_.leave(counts_);
    over_ = true;
  }

  template <class Predicate>
  bool all_out(Predicate predicate) const {
    return std::ranges::all_of(
        out_, [&](const Follower& follower) { return follower.left || predicate(follower); });
  }

  // Processes the messages that have arrived, then waits for more until the condition holds.
  template <class Condition>
  void wait_until(Condition holds) {
    while (auto message = context_.node.receive_until({kHopChannel}, context_.node.now())) {
      take(std::move(*message));
    }
    const Seconds began = context_.node.now();
    while (!holds()) {
      take(context_.node.receive({kHopChannel}));
    }
    waited_ += context_.node.now() - began;
  }

  void take(Message message) {
    const HopNews news = HopNews::of(message.header);
    switch (news.kind) {
      case HopKind::kUpdate:
        updates_.enqueue(std::move(message.payload), news.iteration,
                         Neighbourhood::place(near_.in, message.from));
        break;
      case HopKind::kToken:
        follower(message.from).tokens.insert(news.tokens);
        break;
      case HopKind::kAck:
        follower(message.from).acked = news.iteration;
        break;
      case HopKind::kLeave:
        if (Neighbourhood::contains(near_.in, message.from)) {
          updates_.leave(Neighbourhood::place(near_.in, message.from));
        }
        if (Neighbourhood::contains(near_.out, message.from)) {
          follower(message.from).left = true;
        }
        break;
    }
  }

  Follower& follower(Rank rank) { return out_[Neighbourhood::place(near_.out, rank)]; }

  StrategyContext context_;
  const HopRules rules_;
  const Neighbourhood near_;
  UpdateQueue updates_;        // senders in the order of near_.in
  std::vector<Follower> out_;  // in the order of near_.out
  SampleClient sample_client_;
  std::vector<WeightedModel> models_;  // the models to average
  std::int64_t iteration_ = 0;         // k
  std::int64_t given_ = -1;            // the last iteration for which tokens were sent
  HopCounts counts_{};
  Undo undo_;  // of the average at the end
  bool over_ = false;
  Seconds waited_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_hop(const StrategyContext& context) {
  return std::make_unique<Hop>(
      context, context.job.strategy.of<HopOptions>().graph_among(context.node.size()));
}

}  // namespace motley
