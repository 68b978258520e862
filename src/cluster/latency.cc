#include "motley/cluster/latency.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace motley {

Latency::Latency(Form form, std::size_t workers, std::vector<Seconds> values)
    : form_(form), workers_(workers), values_(std::move(values)) {
  MOTLEY_CHECK(values_.size() == (form == Form::kMatrix ? workers * workers : workers),
               "{} latencies for {} workers", values_.size(), workers);
  find_largest();
}

Latency Latency::per_worker(std::vector<Seconds> values) {
  const std::size_t workers = values.size();
  return {Form::kPerWorker, workers, std::move(values)};
}

Latency Latency::matrix(int workers, std::vector<Seconds> values) {
  return {Form::kMatrix, static_cast<std::size_t>(workers), std::move(values)};
}

Seconds Latency::between(Rank from, Rank to) const {
  if (form_ == Form::kNumber) {
    return values_.front();
  }
  const auto sender = static_cast<std::size_t>(from);  // huge for the coordinator
  const auto receiver = static_cast<std::size_t>(to);
  if (form_ == Form::kMatrix && sender < workers_ && receiver < workers_) {
    return values_[sender * workers_ + receiver];
  }
  const auto& of_senders = form_ == Form::kMatrix ? sending_ : values_;
  const auto& of_receivers = form_ == Form::kMatrix ? receiving_ : values_;
  return std::max(sender < workers_ ? of_senders[sender] : 0,
                  receiver < workers_ ? of_receivers[receiver] : 0);
}

void Latency::change(Rank worker, int workers, Seconds latency) {
  if (form_ == Form::kNumber) {
    *this = per_worker(std::vector<Seconds>(static_cast<std::size_t>(workers), values_.front()));
  }
  const auto changed = static_cast<std::size_t>(worker);
  if (form_ == Form::kPerWorker) {
    values_.at(changed) = latency;
    return;
  }
  for (std::size_t other = 0; other < workers_; ++other) {
    values_[changed * workers_ + other] = latency;
    values_[other * workers_ + changed] = latency;
  }
  find_largest();
}

void Latency::find_largest() {
  if (form_ != Form::kMatrix) {
    return;
  }
  sending_.assign(workers_, 0);
  receiving_.assign(workers_, 0);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t from = i / workers_;
    const std::size_t to = i % workers_;
    if (from != to) {
      sending_[from] = std::max(sending_[from], values_[i]);
      receiving_[to] = std::max(receiving_[to], values_[i]);
    }
  }
}

void Latency::leave_out_machines(std::span<const int> hosts) {
  if (form_ != Form::kMatrix) {
    return;
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (hosts[i / workers_] == hosts[i % workers_]) {
      values_[i] = 0;
    }
  }
  find_largest();
}

}  // namespace motley
