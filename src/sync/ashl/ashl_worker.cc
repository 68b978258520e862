#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "motley/sync/parameter_server/committer.h"
#include "sync/ashl/ashl.h"
#include "sync/ashl/ashl_messages.h"
#include "sync/ashl/drift.h"

namespace motley {
namespace {

Seconds middle(std::array<Seconds, 3> values) {
  std::ranges::sort(values);
  return values[1];
}

class AshlWorker final : public Committer {
 public:
  explicit AshlWorker(const StrategyContext& context)
      : Committer(context),
        options_(context.job.strategy.of<AshlOptions>()),
        compresses_(context.job.strategy.codec == CodecKind::kTopk),
        drift_(options_.drift) {
    client().set_ratio(1);
  }

 private:
  static constexpr std::int64_t kWatchedIterations = 32;  // between two looks at their time
  static constexpr std::size_t kMeasured = 3;  // commits; what counts of them is the middle one

  bool is_measuring() const { return measured_ < kMeasured; }
  const RoundOrder& round() const { return order_->fine ? order_->shl : order_->ahl; }

  // While it measures, every iteration is followed by a commit.
  bool commits_after_this() override {
    if (is_measuring()) {
      return true;
    }
    hear();
    return since_commit() + 1 >= round().iterations;
  }

  // Without a plan there is nothing to do: everybody measures at the same time, and who is through
  // waits for the others, once. Later orders are taken when they are there.
  void hear() {
    const Seconds began = node().now();
    const Match orders{kAshlOrders, kCoordinator};
    std::optional<Message> message =
        order_ ? node().receive_until(orders, began) : node().receive(orders);
    add_wait(node().now() - began);
    for (; message; message = node().receive_until(orders, node().now())) {
      order_ = message->payload.record<Order>();
      if (!order_) {
        throw Interrupted(kCoordinator, "the coordinator's plan is damaged");
      }
      drift_.restart();
      watched_ = {};
      round_began_.reset();  // the round under way is of neither plan
    }
    client().set_ratio(round().ratio);
  }

  CommitHeader next_commit() override {
    CommitHeader commit;
    commit.measured = is_measuring();
    commit.weight = order_ ? options_.eta * order_->weight : equal_weight();
    if (is_measuring() || order_->fine) {
      commit.step = ++step_;
    }
    return commit;
  }

  void committed(const ServerClient::Reply& reply) override {
    if (is_measuring()) {
      iterations_[measured_] = iteration_seconds();
      pushes_[measured_] = reply.push;
      pulls_[measured_] = std::max(0.0, reply.seconds - reply.held - reply.push);
      if (++measured_ == kMeasured) {
        profile_ = {middle(iterations_), middle(pushes_), middle(pulls_), compress_seconds()};
        sample_client().note(Payload::of_record(ProfileNote{profile_}));
      }
      return;
    }
    watch_round(reply);
    round_began_ = node().now();
  }

  // What choosing the largest entries takes here, of numbers like those that will be pushed.
  Seconds compress_seconds() {
    if (!compresses_ || parameters().phantom()) {
      return 0;
    }
    const CodecOptions options{CodecKind::kTopk, options_.r_preset};
    Encoder encoder(options, job().seed, 0);
    const auto numbers = parameters().floats();
    std::vector<std::byte> room(encoded_size(options, numbers.size()));
    const Seconds began = node().now();
    encoder.encode(numbers, room);
    return node().now() - began;
  }

  // Looks at rounds that were of one plan from their beginning to their end, some of them at a
  // time: a single iteration may be slow by chance.
  void watch_round(const ServerClient::Reply& reply) {
    if (!round_began_ || since_commit() != round().iterations) {
      return;
    }
    ++watched_.rounds;
    watched_.took += node().now() - *round_began_ - reply.held;
    watched_.exchanged += reply.seconds - reply.held;
    if (watched_.rounds * since_commit() >= kWatchedIterations) {
      look_for_drift(std::exchange(watched_, {}));
    }
  }

  struct Watched {
    std::int64_t rounds = 0;
    Seconds took = 0;       // without what servers held back
    Seconds exchanged = 0;  // of that
  };

  void look_for_drift(const Watched& watched) {
    const auto rounds = static_cast<double>(watched.rounds);
    if (!drift_.round(round().seconds, watched.took / rounds).drifted) {
      return;
    }
    const Seconds planned = profile_.compress + profile_.push * round().ratio + profile_.pull;
    const double factor = planned > 0 ? watched.exchanged / rounds / planned : 1;
    const auto iterations = rounds * static_cast<double>(since_commit());
    profile_.iteration = std::max(0.0, watched.took - watched.exchanged) / iterations;
    profile_.push *= factor;
    profile_.pull *= factor;
    sample_client().note(Payload::of_record(ProfileNote{profile_}));
  }

  const AshlOptions options_;
  const bool compresses_;
  DriftWatch drift_;
  Watched watched_;           // since the last look
  std::size_t measured_ = 0;  // commits
  std::array<Seconds, kMeasured> iterations_{};
  std::array<Seconds, kMeasured> pushes_{};
  std::array<Seconds, kMeasured> pulls_{};
  WorkerProfile profile_;
  std::optional<Order> order_;  // none before the first
  std::optional<Seconds> round_began_;
  std::int64_t step_ = 0;  // commits under the staleness bound
};

}  // namespace

std::unique_ptr<Strategy> make_ashl(const StrategyContext& context) {
  return std::make_unique<AshlWorker>(context);
}

}  // namespace motley
