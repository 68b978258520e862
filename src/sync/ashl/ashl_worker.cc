#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "codec/traffic.h"
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
        measures_with_all_(context.term.number == 0),
        drift_(options_.drift) {
    client().set_ratio(1);
  }

  // The rounds of a term are watched from its beginning.
  void state(Archive& archive) override {
    Committer::state(archive);
    archive("measured", measured_);
    if (is_measuring()) {
      measured_ = 0;  // measured again from the beginning
    }
    archive("iterations", iterations_);
    archive("pushes", pushes_);
    archive("pulls", pulls_);
    archive("profile", profile_);
    archive("order", order_);
  }

 private:
  static constexpr std::int64_t kWatchedIterations = 32;  // iterations between two checks for drift
  static constexpr std::size_t kMeasured = 3;             // commits; the median counts

  bool is_measuring() const { return measured_ < kMeasured; }
  const RoundOrder& round() const { return order_->fine ? order_->shl : order_->ahl; }

  // While measuring, the worker commits after every iteration.
  bool commits_after_this() override {
    if (is_measuring()) {
      return true;
    }
    hear();
    return since_commit() + 1 >= round().iterations;
  }

  // Before the first plan, waits for it: all workers measure at the same time, and each waits once
  // for the others. Later orders are taken if they have arrived.
  void hear() {
    if (!order_ && !has_told_) {
      tell_profile();  // the term in which it was told was cut off before the plan came
    }
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
      round_began_.reset();  // the current round belongs to neither plan
    }
    client().set_ratio(round().ratio);
  }

  void tell_profile() {
    sample_client().note(Payload::of_record(ProfileNote{profile_}));
    has_told_ = true;
  }

  CommitHeader next_commit() override {
    CommitHeader commit;
    commit.measured = is_measuring();
    commit.weight = order_ ? options_.eta * order_->weight : equal_weight();
    // In the first term all measure together. Later, others may not: their steps would not rise.
    if (is_measuring() ? measures_with_all_ : order_->fine != 0) {
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
        tell_profile();
      }
      return;
    }
    watch_round(reply);
    round_began_ = node().now();
  }

  // Measures how long choosing the largest entries takes, with numbers like those to be pushed.
  Seconds compress_seconds() {
    if (!compresses_) {
      return 0;
    }
    const CodecOptions options{CodecKind::kTopk, options_.r_preset};
    Encoder encoder(options, job().seed, 0);
    const Block model = parameters();
    std::vector<std::byte> room(encoded_size(options, model.floats().size()));
    const Seconds began = node().now();
    node().process(encode_traffic(options, model.size),
                   [&] { encoder.encode(model.floats(), room); });
    return node().now() - began;
  }

  // Measures rounds that belong to one plan from beginning to end. Checks several rounds together,
  // because a single iteration may be slow by chance.
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
    Seconds took = 0;       // without the time that servers held commits back
    Seconds exchanged = 0;  // the part spent in commits
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
    tell_profile();
  }

  const AshlOptions options_;
  const bool compresses_;
  const bool measures_with_all_;
  DriftWatch drift_;
  Watched watched_;           // since the last check
  std::size_t measured_ = 0;  // commits
  std::array<Seconds, kMeasured> iterations_{};
  std::array<Seconds, kMeasured> pushes_{};
  std::array<Seconds, kMeasured> pulls_{};
  WorkerProfile profile_;
  bool has_told_ = false;       // the profile, in this term
  std::optional<Order> order_;  // nullopt before the first plan
  std::optional<Seconds> round_began_;
  std::int64_t step_ = 0;  // commits under the staleness bound
};

}  // namespace

std::unique_ptr<Strategy> make_ashl(const StrategyContext& context) {
  return std::make_unique<AshlWorker>(context);
}

}  // namespace motley
