#include "motley/sync/sample_client.h"

#include <limits>
#include <utility>

#include "base/bytes.h"

namespace motley {
namespace {

// Tells the replica what each answer is about, until the last one.
void pass_on_grants(Node& node, Replica& replica, const LedgerOptions& options) {
  Ledger ledger(options);
  for (bool goes_on = true; goes_on;) {
    Message answer = node.receive({Channel::kSamples, kCoordinator});
    const auto grant = answer.payload.record<Grant>();
    goes_on = grant && grant->next.count > 0;
    if (goes_on) {
      const auto samples = ledger.samples(grant->next);
      replica.expect({{samples.begin(), samples.end()}});
    }
    node.send(node.rank(), Channel::kGrants, answer.header, std::move(answer.payload));
  }
}

}  // namespace

SampleClient::SampleClient(const StrategyContext& context, EvaluatedModel evaluated)
    : context_(context),
      samples_(context, evaluated),
      reads_ahead_(context.replica.reads_ahead() > 0) {
  if (reads_ahead_) {
    context_.node.spawn(
        "grants", [&replica = context_.replica, options = context_.ledger.options()](Node& node) {
          pass_on_grants(node, replica, options);
        });
  }
}

Message SampleClient::receive_answer() {
  return reads_ahead_ ? context_.node.receive({Channel::kGrants, context_.node.rank()})
                      : context_.node.receive({Channel::kSamples, kCoordinator});
}

Work SampleClient::begin(std::int64_t iteration, const CommitState& state) {
  iteration_ = iteration;
  samples_.begin();
  const SampleRequest request{.iteration = iteration,
                              .samples = samples_.count(),
                              .want = samples_.want(),
                              .at = context_.node.now(),
                              .loss_sum = loss_sum_,
                              .commits = state.commits,
                              .commit_seconds = state.commit_seconds,
                              .eligible = state.eligible};
  context_.node.send(kCoordinator, Channel::kSamples,
                     {static_cast<std::int64_t>(SampleMessage::kRequest)},
                     Payload::of_record(request));
  return samples_.work();
}

Progress SampleClient::finish(const Computed& computed) {
  const Seconds began = context_.node.now();
  const Message answer = receive_answer();
  waited_ += context_.node.now() - began;
  const auto grant = answer.payload.record<Grant>();
  if (!grant) {
    throw Interrupted(kCoordinator, "the coordinator's answer is damaged");
  }
  const bool has_loss = !context_.replica.gradient().phantom();
  loss_sum_ = has_loss ? computed.loss_sum : std::numeric_limits<double>::quiet_NaN();
  return samples_.take(*grant, computed);
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
