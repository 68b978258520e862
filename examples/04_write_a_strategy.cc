// A method of your own: `pairs`. Every worker takes a step on its own model; then it averages with
// one neighbour on a ring, alternately to the right and to the left. After a few steps every model
// has influenced every other, and no worker sends more than one model per step.
//
// This program is the `motley` command with one more method:
//
//   ./04_write_a_strategy simulate 04_job.toml --set strategy.sync=pairs    simulated
//   ./04_write_a_strategy train 04_job.toml --set strategy.sync=pairs       the same code, for real
#include <motley/command_line.h>
#include <motley/method.h>

using namespace motley;

class Pairs final : public Strategy {
 public:
  explicit Pairs(const StrategyContext& context)
      : context_(context), steps_(context), sums_(context.node, kSums) {}

  std::optional<Work> begin() override { return steps_.begin(); }

  Progress finish(const Computed& computed) override {
    const double scale = own_step_scale(context_.ledger.options(), context_.node.size());
    context_.node.busy(0, [&] { context_.replica.apply(scale); });
    average_with(++round_ % 2 == 0 ? 1 : -1);

    steps_.tell(computed);  // the loss and the vote to stop, summed so that all workers know
    sums_.sum(context_.replica.tail());
    return steps_.conclude();
  }

  Seconds waited() const override { return sums_.waited(); }
  void state(Archive& archive) override { archive("round", round_); }  // for checkpoints

 private:
  static constexpr auto kModels = method_channel(0);
  static constexpr auto kSums = method_channel(1);

  // Even ranks look to one side, odd ranks to the other, so partners find each other.
  void average_with(int side) {
    Node& node = context_.node;
    const int other = node.rank() + (node.rank() % 2 == 0 ? side : -side);
    const Rank peer = (other + node.size()) % node.size();
    if (node.size() % 2 != 0) {
      return;  // on an odd ring one worker has no partner
    }
    const Block model = context_.replica.parameters();
    node.send(peer, kModels, {.tag = round_}, payload_of(model));
    const Message theirs = node.receive({kModels, peer});
    node.process(3 * model.size * sizeof(float), [&] {  // two models read, one written
      for (std::size_t i = 0; i < model.floats().size(); ++i) {
        model.data[i] = (model.data[i] + theirs.payload.floats()[i]) / 2;
      }
    });
  }

  StrategyContext context_;
  CommonSteps steps_;
  Collective sums_;
  std::int64_t round_ = 0;
};

std::unique_ptr<Strategy> make_pairs(const StrategyContext& context) {
  return std::make_unique<Pairs>(context);
}

const Method kPairs = {
    .schema = {.name = "pairs", .summary = "averages with one neighbour (example)"},
    .advance = Advance::kTogether,
    .make = make_pairs,
};

int main(int argc, char** argv) {
  register_method(kPairs);
  return command_line(argc, argv);
}
