#include "sync/ad_psgd/ad_psgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>

#include "base/random.h"
#include "codec/traffic.h"
#include "motley/sync/ad_psgd.h"
#include "motley/sync/final_average.h"
#include "motley/sync/sample_client.h"
#include "motley/sync/sample_server.h"
#include "sync/refit.h"
#include "sync/weighted_mean.h"

namespace motley {
namespace {

// Models, to the activity that answers requests.
constexpr Channel kGossipModels = method_channel(0);
// "No more requests", to the activity that trains.
constexpr Channel kGossipEnd = method_channel(1);

enum class GossipKind : std::int64_t { kExchange, kEnd };
constexpr Header kExchange{static_cast<std::int64_t>(GossipKind::kExchange)};
constexpr Header kEnd{static_cast<std::int64_t>(GossipKind::kEnd)};

bool is_active(Rank rank) { return rank % 2 == 0; }

// The neighbours that have the other role.
std::vector<Rank> partners_of(const Job& job, Rank self) {
  const Graph graph = Graph::of(job.strategy.of<AdPsgdOptions>().graph, job.cluster.workers);
  std::vector<Rank> partners = graph.out_neighbours(self);
  std::erase_if(partners, [&](Rank rank) { return is_active(rank) == is_active(self); });
  return partners;
}

void average_with(Block model, const Payload& other) {
  const WeightedModel its{other.floats()};
  weighted_mean(model, 1, std::span(&its, 1));
}

// Common to both roles: compute at their own pace, and leave together.
class Gossip : public Strategy {
 public:
  explicit Gossip(const StrategyContext& context)
      : context_(context),
        partners_(partners_of(context.job, context.node.rank())),
        sample_client_(context) {}

  std::optional<Work> begin() final {
    if (over_) {
      return std::nullopt;
    }
    const Work work = sample_client_.begin(iteration_);
    begin_exchange();
    return work;
  }

  Progress finish(const Computed& computed) final {
    end_exchange();
    apply(computed.samples > 0);
    ++iteration_;
    const Progress progress = sample_client_.finish(computed);
    if (!sample_client_.goes_on()) {
      sample_client_.leave(std::array{exchanges_});
      part();
      over_ = true;
    }
    return progress;
  }

  void end_run() final { waited_ += average_all(context_, undo_); }
  std::optional<Settled> settle() final {
    undo_.take_back();
    take_own();
    return Settled{};
  }
  Seconds waited() const final { return waited_ + sample_client_.waited(); }
  void state(Archive& archive) final { archive("exchanges", exchanges_); }

 protected:
  virtual void begin_exchange() = 0;
  virtual void end_exchange() = 0;
  virtual void apply(bool computed) = 0;
  // Called when this worker is done: says goodbye to its partners.
  virtual void part() = 0;
  // Called when the term was cut off: makes the replica's model this worker's newest.
  virtual void take_own() {}

  void step() {
    context_.replica.apply(own_step_scale(context_.ledger.options(), context_.node.size()));
  }

  // True once it has parted from its partners.
  bool over() const { return over_; }

  StrategyContext context_;
  const std::vector<Rank> partners_;
  std::int64_t exchanges_ = 0;  // requested by this worker
  Seconds waited_ = 0;

 private:
  SampleClient sample_client_;
  Undo undo_;  // of the average at the end
  std::int64_t iteration_ = 0;
  bool over_ = false;
};

class Active final : public Gossip {
 public:
  explicit Active(const StrategyContext& context)
      : Gossip(context),
        random_(context.seed, kStream + static_cast<std::uint64_t>(context.node.rank())) {}

 private:
  static constexpr std::uint64_t kStream = 0xad950d;

  void begin_exchange() override {
    if (!partners_.empty()) {
      partner_ = partners_[random_.below(partners_.size())];
      const Block own = context_.replica.parameters();
      Payload model;
      context_.node.process(copy_traffic(own.size), [&] { model = payload_of(own); });
      context_.node.send(partner_, kGossipModels, kExchange, std::move(model));
      ++exchanges_;
    }
  }

  void end_exchange() override {
    if (partners_.empty()) {
      return;
    }
    const Seconds began = context_.node.now();
    const Message mean = context_.node.receive({kGossipModels, partner_});
    waited_ += context_.node.now() - began;
    const Block own = context_.replica.parameters();
    context_.node.process(copy_traffic(own.size),
                          [&] { std::ranges::copy(mean.payload.floats(), own.floats().begin()); });
  }

  void apply(bool computed) override {
    if (computed) {
      context_.node.busy(0, [&] { step(); });
    }
  }

  // Tells each activity of a partner: the one that answers, and the one that trains.
  void part() override {
    for (const Rank partner : partners_) {
      context_.node.send(partner, kGossipModels, kEnd);
      context_.node.send(partner, kGossipEnd, kEnd);
    }
  }

  Random random_;
  Rank partner_ = kAnyRank;
};

// While its own thread computes with its model, others average with a copy.
class Passive final : public Gossip {
 public:
  explicit Passive(const StrategyContext& context)
      : Gossip(context), shared_(std::make_shared<Shared>(context.replica.parameters())) {
    context.node.spawn("gossip", [shared = shared_, left = partners_.size()](Node& node) {
      answer(node, *shared, left);
    });
  }

 private:
  struct Shared {
    explicit Shared(Block model)
        : numbers(model.floats().begin(), model.floats().end()),
          block{model.phantom() ? nullptr : numbers.data(), model.size} {}

    std::mutex mutex;
    std::vector<float> numbers;
    const Block block;
  };

  // Runs until all active partners have said that they need no more answers.
  static void answer(Node& node, Shared& shared, std::size_t partners) {
    while (partners > 0) {
      const Message message = node.receive({kGossipModels});
      if (message.header == kEnd) {
        --partners;
        continue;
      }
      Payload mean;
      const auto average = [&] {
        std::lock_guard lock(shared.mutex);
        average_with(shared.block, message.payload);
        mean = payload_of(shared.block);
      };
      const std::size_t size = shared.block.size;
      node.process(mean_traffic(size, 1) + copy_traffic(size), std::ref(average));
      node.send(message.from, kGossipModels, kExchange, std::move(mean));
    }
  }

  void begin_exchange() override { take_shared(); }
  void end_exchange() override {}

  // The copies are part of the step: nobody may average between them.
  void apply(bool computed) override {
    context_.node.busy(0, [&] {
      std::lock_guard lock(shared_->mutex);
      const auto model = context_.replica.parameters().floats();
      std::ranges::copy(shared_->numbers, model.begin());
      if (computed) {
        step();
        std::ranges::copy(model, shared_->numbers.begin());
      }
    });
  }

  // Others may still average with this worker; its model is final when they are done.
  void part() override {
    const Seconds began = context_.node.now();
    for (std::size_t left = partners_.size(); left > 0; --left) {
      context_.node.receive({kGossipEnd});
    }
    waited_ += context_.node.now() - began;
    take_shared();
  }

  void take_own() override {
    if (!over()) {
      copy_shared();
    }
  }
  void copy_shared() {
    std::lock_guard lock(shared_->mutex);
    std::ranges::copy(shared_->numbers, context_.replica.parameters().floats().begin());
  }
  void take_shared() {
    context_.node.process(copy_traffic(shared_->block.size), [&] { copy_shared(); });
  }

  const std::shared_ptr<Shared> shared_;
};

std::unique_ptr<Strategy> make_ad_psgd(const StrategyContext& context) {
  if (is_active(context.node.rank())) {
    return std::make_unique<Active>(context);
  }
  return std::make_unique<Passive>(context);
}

ServiceResult serve_ad_psgd(const ServiceContext& context) {
  SampleServer server(context, GapMeter(context.node.size()));
  KeptState::restore(context.kept, server);
  KeptState::save_after(context.kept, server, [&] { server.run(); });
  std::int64_t exchanges = 0;
  for (const auto& counts : server.counts()) {
    exchanges += counts.empty() ? 0 : counts.front();
  }
  ServiceResult result;
  result.max_iteration_gap = server.gaps().largest();
  result.figures = {{"exchanges", exchanges}, {"mean_iterations", server.mean_iterations()}};
  return result;
}

MethodState fit_ad_psgd(const MethodState& before, const Refit& refit) {
  MethodState now{.service = before.service,
                  .workers = arranged_states(before.workers, refit.members),
                  .servers = {}};
  inherit<std::int64_t>(now.workers, before.workers, refit.members, "exchanges",
                        [](std::int64_t& sum, std::int64_t more) { sum += more; });
  return now;
}

constexpr Choice kGossipGraphs[] = {choice("ring", GraphKind::kRing),
                                    choice("complete", GraphKind::kComplete)};

// Limits the number of workers, because any two of them may be neighbours.
Checked check_ad_psgd(const Job& job, const IsGiven&) {
  constexpr int kMostWorkers = 4096;
  if (job.cluster.workers <= kMostWorkers) {
    return {};
  }
  return JobProblem{
      {"cluster.workers"},
      fmt::format("cluster.workers is {}, but strategy.sync = \"ad_psgd\" takes at most {}",
                  job.cluster.workers, kMostWorkers)};
}

}  // namespace

const Method kAdPsgd = {
    .schema = {.name = "ad_psgd",
               .summary = "while a worker computes, it averages with a random other one (Lian et "
                          "al.)",
               .keys = {{"strategy.ad_psgd.graph", option<&AdPsgdOptions::graph>,
                         OneOf{"a graph", kGossipGraphs}, "with whom a worker may average"}},
               .exchanges = ExchangeKind::kModels,
               .check = check_ad_psgd},
    .advance = Advance::kAtOwnPace,
    .make = make_ad_psgd,
    .serve = serve_ad_psgd,
    .fit = fit_ad_psgd,
};

}  // namespace motley
