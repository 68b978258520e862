#include "sync/dealer.h"

namespace motley {

Dealer::Dealer(const ServiceContext& context, Evaluated judged)
    : workers_(context.node.size()),
      evaluated_kind_(judged),
      samples_per_evaluation_(context.job.train.eval_every * context.job.train.batch),
      stop_requested_(context.stop_requested),
      dispenser_(context.ledger, Ledger(context.ledger).step_after(0).count) {}

StepSamples Dealer::next(std::int64_t want) {
  if (stop_requested_()) {
    dispenser_.close();
  }
  return dispenser_.next(want);
}

std::int64_t Dealer::evaluation_for(Rank worker, bool fit) {
  if (evaluating_ == worker) {
    evaluating_.reset();
  }
  const std::int64_t every = samples_per_evaluation_;
  const bool is_due = every > 0 && used_ / every > evaluated_ / every;
  if (is_due && fit && to_ask_.empty() && !evaluating_) {
    evaluated_ = used_;
    ++evaluation_;
    if (evaluated_kind_ == Evaluated::kAnyone) {
      evaluating_ = worker;
      return evaluation_;
    }
    for (Rank rank = 0; rank < workers_; ++rank) {
      to_ask_.insert(rank);
    }
  }
  return to_ask_.erase(worker) > 0 ? evaluation_ : 0;
}

}  // namespace motley
