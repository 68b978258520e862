#include "motley/sync/dealings.h"

#include <algorithm>

namespace motley {
namespace {

// A worker asks for the grant behind the next one, at the earliest.
constexpr std::size_t kHeld = 2;

}  // namespace

void Dealings::begin(const std::vector<StepSamples>& first, const LedgerOptions& ledger) {
  dataset_ = ledger.dataset;
  dealt_ = 0;
  workers_.assign(first.size(), {});
  for (std::size_t rank = 0; rank < first.size(); ++rank) {
    deal(static_cast<Rank>(rank), first[rank]);
  }
}

void Dealings::deal(Rank worker, const StepSamples& samples) {
  Worker& its = workers_.at(static_cast<std::size_t>(worker));
  its.grants.push_back({samples.epoch * dataset_ + samples.begin, samples.count});
  dealt_ += samples.count;
  if (its.grants.size() > kHeld) {
    its.grants.pop_front();
    ++its.forgotten;
  }
}

void Dealings::set_unshared(Rank worker, std::int64_t updates) {
  if (are_dealt()) {
    workers_.at(static_cast<std::size_t>(worker)).own.unshared = updates;
  }
}

void Dealings::set_served(Rank worker, std::int64_t updates) {
  if (are_dealt()) {
    Worker& its = workers_.at(static_cast<std::size_t>(worker));
    for (Worker& other : workers_) {
      if (&other != &its) {  // it may have pulled before the other's last commit
        other.own.served = std::min(other.own.served, other.last_served);
      }
    }
    its.own.served += updates;
    its.last_served = updates;
    its.has_pulled = true;
  }
}

void Dealings::carry(const std::vector<OwnUpdates>& own) {
  for (std::size_t rank = 0; rank < std::min(own.size(), workers_.size()); ++rank) {
    workers_[rank].own = own[rank];
  }
}

std::vector<SampleRange> Dealings::outstanding(Rank worker, std::int64_t iterations) const {
  const Worker& its = of(worker);
  std::vector<SampleRange> rest;
  for (std::size_t i = 0; i < its.grants.size(); ++i) {
    if (its.forgotten + static_cast<std::int64_t>(i) >= iterations && its.grants[i].count > 0) {
      rest.push_back(its.grants[i]);
    }
  }
  return rest;
}

void Dealings::computed_all(Rank worker) {
  Worker& its = workers_.at(static_cast<std::size_t>(worker));
  its.computed = its.forgotten + std::ssize(its.grants);
}

std::int64_t Dealings::known_iterations(Rank worker) const {
  return std::max(of(worker).forgotten, of(worker).computed);
}

}  // namespace motley
