#include "motley/sync/strategy.h"

#include <algorithm>

namespace motley {

LedgerOptions ledger_options(const Job& job, std::int64_t training_samples, const Term& term) {
  LedgerOptions options;
  options.dataset = epoch_samples(training_samples, job.train.batch, job.train.drops_last());
  options.left_out = training_samples - options.dataset;
  options.order = job.train.order;
  options.batch = job.train.batch;
  options.limit = sample_limit(options.dataset, job.train.batch, job.train.epochs.value_or(0),
                               job.train.steps.value_or(0));
  options.seed = job.seed;
  options.begin = term.begin;
  options.end = term.end;
  options.owed = term.owed;
  return options;
}

double own_step_scale(const LedgerOptions& ledger, int workers) {
  return static_cast<double>(workers) / static_cast<double>(std::min(ledger.batch, ledger.dataset));
}

}  // namespace motley
