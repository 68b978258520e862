#include "sync/allocator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace motley {
namespace {

// What a worker tells about itself: a StepCost as floats.
constexpr std::size_t kNumbers = 3;

// Samples of a full step, over all workers.
std::int64_t full_step(const LedgerOptions& ledger) {
  return std::min(ledger.batch, ledger.dataset);
}

AllocationOptions options_of(const Job& job, const LedgerOptions& ledger) {
  AllocationOptions options;
  options.workers = job.cluster.workers;
  options.total = static_cast<std::size_t>(full_step(ledger));
  options.shares = job.strategy.shares;
  options.dead_band = job.strategy.adaptive.dead_band;
  return options;
}

void put(std::span<float> room, const StepCost& cost) {
  room[0] = static_cast<float>(cost.fixed);
  room[1] = static_cast<float>(cost.per_sample);
  room[2] = static_cast<float>(cost.error);
}

StepCost take(std::span<const float> numbers, std::size_t micro_batch) {
  StepCost cost{.fixed = numbers[0], .per_sample = numbers[1], .error = numbers[2]};
  cost.micro_batch = micro_batch;
  return cost;
}

// A part of a full step, in this step.
StepSamples part_at(const StepSamples& step, const StepSamples& part) {
  return {step.epoch, step.begin + part.begin, part.count};
}

// The shares of a short step.
Shares in_proportion(const StepSamples& step, const Shares& shares) {
  std::vector<double> weights;
  for (const std::size_t share : shares) {
    weights.push_back(std::max(static_cast<double>(share), 1e-3));
  }
  return integer_shares(static_cast<std::size_t>(step.count), weights);
}

// The first few shares as text.
std::string in_words(const Shares& shares) {
  constexpr std::size_t kFew = 16;
  const auto few = std::span(shares).first(std::min(shares.size(), kFew));
  return fmt::format("{}{}", fmt::join(few, " "), shares.size() > kFew ? " ..." : "");
}

}  // namespace

Allocator::Allocator(Node& node, const Job& job, const LedgerOptions& ledger, Advance advance,
                     Journal& journal)
    : node_(node),
      allocation_(*find_allocation(job.strategy.allocation)),
      job_(job),
      advance_(advance),
      journal_(journal),
      ledger_(ledger),
      window_(job.strategy.adaptive.window),
      collective_(node, Channel::kShares),
      speed_(job.train.micro_batch_of(node.rank())),
      costs_(is_fixed() ? 0 : static_cast<std::size_t>(node.size())) {
  Decision first = allocation_.first(options_of(job, ledger));
  set_own(first.shares);
  initial_own_ = own_;
  if (!is_fixed() || node.rank() == 0) {
    history_.push_back({0, std::move(first)});
  }
}

StepSamples Allocator::part_of(const StepSamples& step) {
  next_share();
  take_effect();
  if (step.count == full_step(ledger_)) {
    return part_at(step, own_);
  }
  return share_of(step, in_proportion(step, current()), node_.rank());
}

StepSamples Allocator::first_part_of(const StepSamples& step) const {
  if (step.count == full_step(ledger_)) {
    return part_at(step, initial_own_);
  }
  return share_of(step, in_proportion(step, initial()), node_.rank());
}

Shares Allocator::initial() const { return allocation_.first(options_of(job_, ledger_)).shares; }

Shares Allocator::current() const {
  return history_.empty() ? initial() : history_.back().decision.shares;
}

void Allocator::set_own(const Shares& shares) {
  own_ = share_of({0, 0, full_step(ledger_)}, shares, node_.rank());
}

std::size_t Allocator::next_share() {
  if (decided_) {
    asked_ = std::exchange(decided_, std::nullopt);
  }
  return asked_ ? asked_->decision.shares[self()] : static_cast<std::size_t>(own_.count);
}

// Only shares that a step was asked for go into the history: the run may end before.
void Allocator::take_effect() {
  if (asked_) {
    write_down(current(), asked_->decision);
    set_own(asked_->decision.shares);
    history_.push_back(std::move(*asked_));
    asked_.reset();
  }
}

// If all workers hold the same shares, one of them writes it down; otherwise each does.
void Allocator::write_down(const Shares& before, const Decision& decision) {
  if (advance_ == Advance::kAtOwnPace && before[self()] != decision.shares[self()]) {
    journal_.add({node_.now(), "shares",
                  fmt::format("{} -> {}", before[self()], decision.shares[self()]),
                  decision.reason});
  } else if (advance_ == Advance::kTogether && node_.rank() == 0) {
    journal_.add({node_.now(), "shares",
                  fmt::format("{} -> {}", in_words(before), in_words(decision.shares)),
                  decision.reason});
  }
}

void Allocator::after_step(std::size_t samples, Seconds seconds, std::int64_t used) {
  // A short step is not measured: its cost is different, and there is only one of it.
  if (samples == static_cast<std::size_t>(own_.count)) {
    speed_.add(samples, seconds);
    mean_.add(samples, seconds);
  }
  ++steps_;
  const std::optional<StepCost> mine = news(used);
  used_ = used;
  if (!mine || node_.size() == 1 || used >= ledger_.limit) {
    return;  // nothing to tell, nobody to tell it to, or no decision depends on it
  }
  advance_ == Advance::kTogether ? hear_together(*mine) : hear_at_own_pace(*mine);
  if (asked_) {
    return;  // the next step already has other shares: measure them first
  }
  const Shares& shares = history_.back().decision.shares;
  Decision decision = allocation_.next(shares, costs_, options_of(job_, ledger_));
  const std::int64_t step = (used_ + ledger_.batch - 1) / ledger_.batch;
  last_look_ = fmt::format("step {}: {}", step, decision.reason);
  if (decision.shares != shares) {
    decided_ = {step, std::move(decision)};
  }
}

// What to tell the others now, if anything.
std::optional<StepCost> Allocator::news(std::int64_t used) {
  // The first evaluation comes as soon as possible: shares that are plainly wrong cost more than
  // another evaluation.
  constexpr int kFirstLook = SpeedEstimate::kWarmUp + SpeedEstimate::kFewestAtFirst;
  const bool window_ended = steps_ % window_ == 0 || steps_ == kFirstLook;
  if (window_ended) {
    cost_ = speed_.end_window();
  }
  if (allocation_.told == CostReport::kWindowMedian && window_ended) {
    return cost_;
  }
  if (allocation_.told == CostReport::kEpochMean &&
      used / ledger_.dataset > used_ / ledger_.dataset) {
    return in_parts(mean_.take(), static_cast<std::size_t>(own_.count), cost_);
  }
  return std::nullopt;
}

// Every worker adds its own numbers to zeros: the sum holds all of them, with the same bits
// everywhere.
void Allocator::hear_together(const StepCost& mine) {
  std::vector<float> numbers(kNumbers * costs_.size(), 0.0F);
  put(std::span(numbers).subspan(kNumbers * self(), kNumbers), mine);
  collective_.sum({numbers.data(), numbers.size()});
  for (std::size_t rank = 0; rank < costs_.size(); ++rank) {
    costs_[rank] = take(std::span(numbers).subspan(kNumbers * rank, kNumbers),
                        job_.train.micro_batch_of(static_cast<Rank>(rank)));
  }
}

void Allocator::hear_at_own_pace(const StepCost& mine) {
  std::array<float, kNumbers> numbers{};
  put(numbers, mine);
  for (Rank rank = 0; rank < node_.size(); ++rank) {
    if (rank != node_.rank()) {
      node_.send(rank, Channel::kShares, {}, Payload::borrow(std::span<const float>(numbers)));
    }
  }
  costs_[self()] = mine;
  while (auto message = node_.receive_until({Channel::kShares}, node_.now())) {
    const auto heard = message->payload.floats();
    MOTLEY_CHECK(heard.size() == kNumbers, "{} numbers from {}", heard.size(), message->from);
    costs_[static_cast<std::size_t>(message->from)] =
        take(heard, job_.train.micro_batch_of(message->from));
  }
}

void Allocator::state(Archive& archive) {
  archive("speed", speed_);
  archive("mean", mean_);
  archive("cost", cost_);
  archive("costs", costs_);
  archive("steps", steps_);
  archive("used", used_);
  archive("history", history_);
  archive("decided", decided_);
  archive("asked", asked_);
  archive("last_look", last_look_);
  set_own(current());
}

AllocationResult Allocator::result() {
  cost_ = speed_.end_window();
  return {history_, last_look_, static_cast<std::size_t>(own_.count), cost_};
}

}  // namespace motley
