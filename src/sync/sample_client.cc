#include "sync/sample_client.h"

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "sync/allocator.h"

namespace motley {

// The first step is dealt out as every rank can work out for itself.
SampleClient::SampleClient(const StrategyContext& context, Evaluated judged)
    : context_(context), parts_(judged == Evaluated::kMean ? context.node.size() : 1) {
  samples_ = context.allocator.part_of(context.ledger.step_after(0));
}

Work SampleClient::begin(std::int64_t iteration, const CommitState& standing) {
  iteration_ = iteration;
  context_.allocator.take_effect();  // what was decided before this iteration was asked for
  // With fewer samples than workers some have no share of a common step; here they take one.
  const std::size_t want = std::max<std::size_t>(context_.allocator.next_share(), 1);
  const SampleRequest request{.iteration = iteration,
                              .samples = samples_.count,
                              .want = static_cast<std::int64_t>(want),
                              .at = context_.node.now(),
                              .loss_sum = loss_sum_,
                              .commits = standing.commits,
                              .commit_seconds = standing.commit_seconds,
                              .fit = standing.fit};
  context_.node.send(kCoordinator, Channel::kSamples,
                     {static_cast<std::int64_t>(SampleMessage::kRequest)},
                     Payload::of_record(request));
  Work work;
  work.count = static_cast<std::size_t>(samples_.count);
  if (!context_.replica.gradient().phantom()) {
    work.samples = context_.ledger.samples(samples_);
  }
  return work;
}

Progress SampleClient::finish(const Computed& computed) {
  const Seconds began = context_.node.now();
  const Message answer = context_.node.receive({Channel::kSamples, kCoordinator});
  waited_ += context_.node.now() - began;
  const auto ticket = answer.payload.record<Grant>();
  if (!ticket) {
    throw Interrupted(kCoordinator, "the coordinator's answer is damaged");
  }
  samples_ = ticket->next;
  const bool has_loss = !context_.replica.gradient().phantom();
  loss_sum_ = has_loss ? computed.loss_sum : std::numeric_limits<double>::quiet_NaN();
  Progress progress;
  progress.samples = ticket->used;
  if (ticket->evaluation > 0) {
    progress.evaluate = Evaluate{ticket->evaluation, parts_};
  }
  if (!context_.replica.gradient().phantom()) {
    progress.loss_sum = computed.loss_sum;
    progress.loss_samples = static_cast<std::int64_t>(computed.samples);
  }
  return progress;
}

void SampleClient::note(Payload payload) {
  context_.node.send(kCoordinator, Channel::kSamples,
                     {static_cast<std::int64_t>(SampleMessage::kNote)}, std::move(payload));
}

void SampleClient::leave(std::span<const std::int64_t> counts) {
  ByteWriter bytes;
  bytes.put_numbers(counts);
  const Farewell farewell{iteration_, context_.node.now()};
  context_.node.send(kCoordinator, Channel::kSamples, farewell.header(),
                     Payload::copy_of(std::span(bytes.bytes())));
}

}  // namespace motley
