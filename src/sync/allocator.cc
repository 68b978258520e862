#include "sync/allocator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace motley {
namespace {

// What a worker tells about itself: a StepCost as floats.
constexpr std::size_t kNumbers = 3;

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
Shares in_proportion(const StepSamples& step, const Shares& shares, const TrainSpec& train) {
  std::vector<double> weights;
  for (const std::size_t share : shares) {
    weights.push_back(std::max(static_cast<double>(share), 1e-3));
  }
  return without_small_shares(integer_shares(static_cast<std::size_t>(step.count), weights),
                              static_cast<std::size_t>(train.min_share));
}

// The first few shares as text.
std::string in_words(const Shares& shares) {
  constexpr std::size_t kFew = 16;
  const auto few = std::span(shares).first(std::min(shares.size(), kFew));
  return fmt::format("{}{}", fmt::join(few, " "), shares.size() > kFew ? " ..." : "");
}

}  // namespace

std::int64_t full_step(const LedgerOptions& ledger) {
  return std::min(ledger.batch, ledger.dataset);
}

AllocationOptions allocation_options(const Job& job, const LedgerOptions& ledger) {
  AllocationOptions options;
  options.workers = job.cluster.workers;
  options.total = static_cast<std::size_t>(full_step(ledger));
  options.shares = job.strategy.shares;
  options.dead_band = job.strategy.adaptive.dead_band;
  options.least = static_cast<std::size_t>(job.train.min_share);
  return options;
}

std::vector<StepSamples> first_parts(const Job& job, const LedgerOptions& ledger) {
  const StepSamples step = Ledger(ledger).first_step();
  Shares shares =
      first_shares(*find_allocation(job.strategy.allocation), allocation_options(job, ledger))
          .shares;
  if (step.count != full_step(ledger)) {
    shares = in_proportion(step, shares, job.train);
  }
  std::vector<StepSamples> parts;
  std::int64_t begin = step.begin;
  for (const std::size_t share : shares) {
    parts.push_back({step.epoch, begin, static_cast<std::int64_t>(share)});
    begin += static_cast<std::int64_t>(share);
  }
  return parts;
}

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
      kept_{
          .speed = SpeedEstimate(job.train.micro_batch_of(node.rank())),
          .costs = std::vector<StepCost>(is_fixed() ? 0 : static_cast<std::size_t>(node.size()))} {
  Decision first = first_shares(allocation_, allocation_options(job, ledger));
  set_own(first.shares);
  initial_own_ = own_;
  if (!is_fixed() || node.rank() == 0) {
    kept_.history.push_back({0, std::move(first)});
  }
}

StepSamples Allocator::part_of(const StepSamples& step) {
  next_share();
  take_effect();
  return current_part_of(step);
}

StepSamples Allocator::current_part_of(const StepSamples& step) const {
  if (step.count == full_step(ledger_)) {
    return part_at(step, own_);
  }
  return share_of(step, in_proportion(step, current(), job_.train), node_.rank());
}

StepSamples Allocator::first_part_of(const StepSamples& step) const {
  if (step.count == full_step(ledger_)) {
    return part_at(step, initial_own_);
  }
  return share_of(step, in_proportion(step, initial(), job_.train), node_.rank());
}

Shares Allocator::initial() const {
  return first_shares(allocation_, allocation_options(job_, ledger_)).shares;
}

Shares Allocator::current() const {
  return kept_.history.empty() ? initial() : kept_.history.back().decision.shares;
}

void Allocator::set_own(const Shares& shares) {
  own_ = share_of({0, 0, full_step(ledger_)}, shares, node_.rank());
}

std::size_t Allocator::next_share() {
  if (kept_.decided) {
    kept_.asked = std::exchange(kept_.decided, std::nullopt);
  }
  return kept_.asked ? kept_.asked->decision.shares[self()] : static_cast<std::size_t>(own_.count);
}

// Only shares that a step was asked for go into the history: the run may end before.
void Allocator::take_effect() {
  if (kept_.asked) {
    write_down(current(), kept_.asked->decision);
    set_own(kept_.asked->decision.shares);
    kept_.history.push_back(std::move(*kept_.asked));
    kept_.asked.reset();
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
    kept_.speed.add(samples, seconds);
    kept_.mean.add(samples, seconds);
  }
  ++kept_.steps;
  const std::optional<StepCost> mine = news(used);
  kept_.used = used;
  if (!mine || node_.size() == 1 || used >= ledger_.limit) {
    return;  // nothing to tell, nobody to tell it to, or no decision depends on it
  }
  advance_ == Advance::kTogether ? hear_together(*mine) : hear_at_own_pace(*mine);
  if (kept_.asked) {
    return;  // the next step already has other shares: measure them first
  }
  const Shares& shares = kept_.history.back().decision.shares;
  Decision decision =
      next_shares(allocation_, shares, kept_.costs, allocation_options(job_, ledger_));
  const std::int64_t step = (kept_.used + ledger_.batch - 1) / ledger_.batch;
  kept_.last_look = fmt::format("step {}: {}", step, decision.reason);
  if (decision.shares != shares) {
    kept_.decided = {step, std::move(decision)};
  }
}

// What to tell the others now, if anything.
std::optional<StepCost> Allocator::news(std::int64_t used) {
  // The first evaluation comes as soon as possible: shares that are plainly wrong cost more than
  // another evaluation.
  constexpr int kFirstLook = SpeedEstimate::kWarmUp + SpeedEstimate::kFewestAtFirst;
  const bool window_ended = kept_.steps % window_ == 0 || kept_.steps == kFirstLook;
  if (window_ended) {
    kept_.cost = kept_.speed.end_window();
  }
  if (allocation_.told == CostReport::kWindowMedian && window_ended) {
    return kept_.cost;
  }
  if (allocation_.told == CostReport::kEpochMean &&
      used / ledger_.dataset > kept_.used / ledger_.dataset) {
    return in_parts(kept_.mean.take(), static_cast<std::size_t>(own_.count), kept_.cost);
  }
  return std::nullopt;
}

// Every worker adds its own numbers to zeros: the sum holds all of them, with the same bits
// everywhere.
void Allocator::hear_together(const StepCost& mine) {
  std::vector<float> numbers(kNumbers * kept_.costs.size(), 0.0F);
  put(std::span(numbers).subspan(kNumbers * self(), kNumbers), mine);
  collective_.sum({numbers.data(), numbers.size()});
  for (std::size_t rank = 0; rank < kept_.costs.size(); ++rank) {
    kept_.costs[rank] = take(std::span(numbers).subspan(kNumbers * rank, kNumbers),
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
  kept_.costs[self()] = mine;
  while (auto message = node_.receive_until({Channel::kShares}, node_.now())) {
    const auto heard = message->payload.floats();
    MOTLEY_CHECK(heard.size() == kNumbers, "{} numbers from {}", heard.size(), message->from);
    kept_.costs[static_cast<std::size_t>(message->from)] =
        take(heard, job_.train.micro_batch_of(message->from));
  }
}

void Allocator::state(Archive& archive) {
  kept_.state(archive);
  set_own(current());
}

void AllocatorState::state(Archive& archive) {
  archive("speed", speed);
  archive("mean", mean);
  archive("cost", cost);
  archive("costs", costs);
  archive("steps", steps);
  archive("used", used);
  archive("history", history);
  archive("decided", decided);
  archive("asked", asked);
  archive("last_look", last_look);
}

AllocationResult Allocator::result() {
  kept_.cost = kept_.speed.end_window();
  return {kept_.history, kept_.last_look, static_cast<std::size_t>(own_.count), kept_.cost};
}

}  // namespace motley
