#include "motley/sync/dealer.h"

#include <utility>

#include "sync/evaluation_due.h"

namespace motley {

Dealer::Dealer(const ServiceContext& context, EvaluatedModel evaluated)
    : workers_(context.node.size()),
      dealings_(context.dealings),
      evaluated_model_(evaluated),
      samples_per_evaluation_(samples_per_evaluation(context.job, context.ledger.dataset)),
      stop_requested_(context.stop_requested),
      dispenser_(context.ledger, context.ledger.begin + Ledger(context.ledger).first_step().count,
                 context.job.train.min_share),
      next_(static_cast<std::size_t>(workers_)),
      used_(context.ledger.begin),
      evaluated_(context.ledger.begin),
      evaluated_before_(context.ledger.begin) {}

void Dealer::state(Archive& archive) {
  const bool is_pending = archive.is_saving() && !to_ask_.empty();
  archive("evaluation", evaluation_);
  archive("evaluated", is_pending ? evaluated_before_ : evaluated_);
}

std::int64_t Dealer::deal(Rank worker, std::int64_t computed, std::int64_t want) {
  used_ += computed;
  if (stop_requested_() || want == kNoMore) {
    dispenser_.close();
  }
  StepSamples& next = next_[static_cast<std::size_t>(worker)];
  next = dispenser_.next(want);
  if (dealings_) {
    dealings_->deal(worker, next);
  }
  return next.count;
}

Grant Dealer::grant(Rank worker, bool eligible) {
  Grant grant;
  grant.next = next_[static_cast<std::size_t>(worker)];
  const bool is_last = grant.next.count == 0;
  grant.used = is_last ? dispenser_.dealt() : used_;
  grant.evaluation = is_last ? 0 : evaluation_for(worker, eligible);
  return grant;
}

std::int64_t Dealer::evaluation_for(Rank worker, bool eligible) {
  if (evaluating_ == worker) {
    evaluating_.reset();
  }
  const bool is_due = is_evaluation_due(samples_per_evaluation_, evaluated_, used_);
  if (is_due && eligible && to_ask_.empty() && !evaluating_) {
    evaluated_before_ = std::exchange(evaluated_, used_);
    ++evaluation_;
    if (evaluated_model_ == EvaluatedModel::kAnyWorker) {
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
