#include "motley/sync/sample_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/bytes.h"
#include "motley/sync/method.h"

namespace motley {
namespace {

void expect(bool is_sound, Rank rank) {
  if (!is_sound) {
    throw std::runtime_error(fmt::format("worker {} sent an invalid request for samples", rank));
  }
}

}  // namespace

SampleServer::SampleServer(const ServiceContext& context, GapMeter gaps, EvaluatedModel evaluated,
                           SampleServerListener* listener)
    : context_(context),
      dealer_(context, evaluated),
      gaps_(std::move(gaps)),
      listener_(listener),
      workers_(static_cast<std::size_t>(context.node.size())),
      counts_(workers_.size()) {}

void SampleServer::run() {
  while (left_ < workers_.size()) {
    const Message message = context_.node.receive({Channel::kSamples});
    const Rank rank = message.from;
    expect(rank >= 0 && rank < context_.node.size(), rank);
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    expect(!worker.left, rank);
    if (message.header.tag == static_cast<std::int64_t>(SampleMessage::kFarewell)) {
      on_farewell(rank, worker, message);
    } else if (message.header.tag == static_cast<std::int64_t>(SampleMessage::kNote)) {
      expect(listener_ && listener_->on_note(rank, message.payload), rank);
    } else {
      const auto request = message.payload.record<SampleRequest>();
      expect(request.has_value(), rank);
      on_request(rank, worker, *request);
    }
  }
}

// A worker that begins an iteration has computed the previous one.
void SampleServer::on_request(Rank rank, Worker& worker, const SampleRequest& request) {
  expect(request.iteration > worker.iteration && request.samples >= 0 && request.want >= kNoMore,
         rank);
  gaps_.begins(rank, request.iteration, request.at);
  context_.journal.set_behind("iterations behind the fastest worker, when a step began",
                              gaps_.behind(), gaps_.farthest_behind());
  note_unshared(rank, worker, request);
  worker.iteration = request.iteration;
  const std::int64_t before = std::exchange(worker.samples, request.samples);
  dealer_.deal(rank, before, request.want);
  context_.node.send(rank, Channel::kSamples, {},
                     Payload::of_record(dealer_.grant(rank, request.eligible != 0)));
  if (listener_) {
    listener_->on_request(rank, request, before);
  }
}

// Workers with servers share their updates in commits, others about once in an iteration.
void SampleServer::note_unshared(Rank rank, Worker& worker, const SampleRequest& request) {
  if (context_.dealings) {
    const bool is_first = worker.iteration < 0;
    const std::int64_t commits = std::exchange(worker.commits, request.commits);
    const bool counts = method_of(context_.job).run_server != nullptr;
    const bool has_committed = counts && !is_first && request.commits > commits;
    if (has_committed) {  // also what it has computed since it asked last
      context_.dealings->set_served(rank, worker.unshared + 1);
    }
    worker.unshared = is_first ? context_.dealings->own(rank).unshared  // from before the term
                      : has_committed ? 0
                                      : worker.unshared + 1;
    context_.dealings->set_unshared(
        rank, counts ? worker.unshared : std::min<std::int64_t>(worker.unshared, 1));
  }
}

void SampleServer::on_farewell(Rank rank, Worker& worker, const Message& message) {
  const Farewell farewell = Farewell::of(message.header);
  expect(farewell.iteration == worker.iteration, rank);
  gaps_.leaves(rank, farewell.at);
  worker.left = true;
  ++left_;
  ByteReader bytes(message.payload.bytes());
  counts_[static_cast<std::size_t>(rank)] = bytes.get_numbers<std::int64_t>();
  expect(bytes.complete(), rank);
  if (listener_) {
    listener_->on_leave(rank);
  }
}

double SampleServer::mean_iterations() const {
  return static_cast<double>(all_iterations()) / static_cast<double>(workers_.size());
}

std::int64_t SampleServer::all_iterations() const {
  std::int64_t sum = iterations_before_;
  for (const Worker& worker : workers_) {
    sum += worker.iteration + 1;
  }
  return sum;
}

void SampleServer::state(Archive& archive) {
  archive("dealer", dealer_);
  archive("gaps", gaps_);
  std::int64_t iterations = all_iterations();
  archive("iterations", iterations);
  if (!archive.is_saving()) {
    iterations_before_ = iterations;
  }
}

}  // namespace motley
