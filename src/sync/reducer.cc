#include "sync/reducer.h"

#include "sync/codec_options.h"
#include "sync/coded_reducer.h"
#include "sync/collective.h"

namespace motley {
namespace {

class PlainReducer final : public Reducer {
 public:
  PlainReducer(Node& node, Channel channel) : collective_(node, channel, all_ranks(node.size())) {}

  void sum(Block block) override { collective_.sum(block); }
  Seconds waited() const override { return collective_.waited(); }

 private:
  Collective collective_;
};

}  // namespace

std::unique_ptr<Reducer> make_reducer(Node& node, const Job& job, Channel channel) {
  const CodecOptions codec = codec_options_of(job);
  if (codec.kind == CodecKind::kNone) {
    return std::make_unique<PlainReducer>(node, channel);
  }
  return std::make_unique<CodedReducer>(node, channel, codec, job.seed);
}

}  // namespace motley
