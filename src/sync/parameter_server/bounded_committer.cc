#include "motley/sync/parameter_server/bounded_committer.h"

#include "motley/sync/parameter_server/committer.h"
#include "motley/sync/sample_server.h"

namespace motley {
namespace {

class BoundedCommitter final : public Committer {
 public:
  BoundedCommitter(const StrategyContext& context, bool bounded)
      : Committer(context), bounded_(bounded) {}

 private:
  bool commits_after_this() override { return true; }

  CommitHeader next_commit() override {
    ++step_;
    return {.step = bounded_ ? std::optional(step_) : std::nullopt, .weight = equal_weight()};
  }

  const bool bounded_;
  std::int64_t step_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_bounded_committer(const StrategyContext& context) {
  return std::make_unique<BoundedCommitter>(context, true);
}

std::unique_ptr<Strategy> make_unbounded_committer(const StrategyContext& context) {
  return std::make_unique<BoundedCommitter>(context, false);
}

ServiceResult serve_committers(const ServiceContext& context) {
  SampleServer server(context, GapMeter(context.node.size()), EvaluatedModel::kAnyWorker);
  KeptState::restore(context.kept, server);
  KeptState::save_after(context.kept, server, [&] { server.run(); });
  return {CommitCounts::of(server.counts()).figures(), server.gaps().largest()};
}

}  // namespace motley
