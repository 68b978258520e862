#include "sync/reducer.h"

#include <algorithm>

#include "motley/sync/collective.h"
#include "sync/codec_options.h"
#include "sync/coded_reducer.h"

namespace motley {
namespace {

class PlainReducer final : public Reducer {
 public:
  PlainReducer(const StrategyContext& context, Channel channel)
      : collective_(context.node, channel, context.meeting), alone_(context.node.size() == 1) {}

  void sum(Block block) override { collective_.sum(block); }
  bool is_idle() const override { return alone_; }
  Seconds waited() const override { return collective_.waited(); }

 private:
  Collective collective_;
  const bool alone_;
};

}  // namespace

std::unique_ptr<Reducer> make_reducer(const StrategyContext& context, Channel channel) {
  const CodecOptions codec = codec_options_of(context.job);
  if (codec.kind == CodecKind::kNone) {
    return std::make_unique<PlainReducer>(context, channel);
  }
  return std::make_unique<CodedReducer>(context.node, channel, codec, context.seed);
}

std::vector<State> fitted_reducers(const std::vector<State>& before, const Refit& refit) {
  const int workers = refit.members.now();
  if (codec_options_of(refit.job).kind == CodecKind::kNone) {
    return std::vector<State>(static_cast<std::size_t>(workers));
  }
  Residuals residuals(before.size());
  if (workers > 1) {
    residuals = joined_residuals(before, refit);
  }
  std::vector<State> now;
  for (const std::vector<float>& residual : fitted_residuals(residuals, refit.members)) {
    const bool is_prepared = !residual.empty();
    now.push_back(is_prepared ? cut_residual(residual, workers, refit.job) : State{});
    save_value(now.back(), "is_prepared", is_prepared);
  }
  return now;
}

}  // namespace motley
