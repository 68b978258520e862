// ServerSum: a Reducer that uses parameter servers. Each worker pushes its numbers, the servers add
// them up, and all workers get the sum.
#pragma once

#include <cstdint>

#include "motley/sync/parameter_server/client.h"
#include "sync/reducer.h"

namespace motley {

class ServerSum final : public Reducer {
 public:
  // All blocks must have the size of the replica's gradient.
  ServerSum(const StrategyContext& context, Block gradient)
      : client_(context.node, context.job, context.seed, gradient.size - Replica::kTail,
                Replica::kTail),
        last_(gradient) {
    client_.begin(std::nullopt);
  }

  void sum(Block block) override {
    const ServerClient::Reply reply = client_.commit(block, {.step = ++step_}, block);
    waited_ += reply.held;
  }
  // All workers already have the last sum; the servers' answer is not used.
  void leave() override { client_.leave(last_); }
  Seconds waited() const override { return waited_; }
  void conclude() override { client_.forget_commit(); }
  void state(Archive& archive) override { client_.state(archive); }

 private:
  ServerClient client_;
  const Block last_;
  std::int64_t step_ = 0;
  Seconds waited_ = 0;
};

}  // namespace motley
