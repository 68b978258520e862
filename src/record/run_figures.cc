#include "record/run_figures.h"

namespace motley {

RunFigures figures_of(const RunRecord& record) {
  const RunFacts& facts = record.facts();
  RunFigures figures;
  figures.name = facts.name;
  figures.mode = facts.mode;
  figures.sync = facts.sync;
  figures.allocation = facts.allocation;
  figures.codec = facts.codec;
  figures.running = record.state() == RunState::kRunning;
  figures.seconds = record.seconds();
  figures.samples = record.samples();
  figures.limit = facts.limit;
  figures.samples_per_second = record.samples_per_second();
  figures.bytes_sent = record.bytes_sent();
  if (!record.metrics().empty()) {
    figures.test = record.metrics().back();
  }
  figures.train_loss = record.train_loss();
  for (const RunRecord::Worker& worker : record.workers()) {
    figures.workers.emplace(worker.id, worker.latest);
  }
  return figures;
}

}  // namespace motley
