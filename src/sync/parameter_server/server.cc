#include "sync/parameter_server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "motley/sync/replica.h"
#include "sync/codec_options.h"
#include "sync/parameter_server/messages.h"
#include "sync/parameter_server/staleness_bound.h"

namespace motley {
namespace {

class Server {
 public:
  Server(Node& node, const Job& job, const ServerRules& rules)
      : node_(node),
        codec_(codec_options_of(job)),
        sums_(rules.sums),
        bound_(job.cluster.workers, rules.bound),
        workers_(static_cast<std::size_t>(job.cluster.workers)) {}

  void run() {
    begin();
    while (left_ < workers_.size()) {
      Message message = node_.receive({Channel::kServer});
      expect(message.from >= 0 && message.from < std::ssize(workers_), message.from);
      hear(std::move(message));
      release();
    }
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      send_values(static_cast<Rank>(rank), {applied_, applied_, 0});
    }
  }

 private:
  // With its last commit.
  struct Worker {
    CommitHeader commit;
    Payload payload;
    std::int64_t step = 0;    // under the bound, so far
    std::int64_t before = 0;  // commits applied before this one
    Seconds asked = 0;        // for its answer
    bool waits = false;       // to be applied
    bool wants = false;       // its answer
    bool left = false;
  };

  static void expect(bool is_sound, Rank rank) {
    if (!is_sound) {
      throw std::runtime_error(fmt::format("worker {} sent a commit that makes no sense", rank));
    }
  }

  // Order is kept per sender, so this comes before the first worker's commits; others wait.
  void begin() {
    const Message message = node_.receive({Channel::kServer, kFirstWorker});
    const BeginHeader begin = BeginHeader::of(message.header);
    expect(message.header.tag == static_cast<std::int64_t>(ServerKind::kBegin) &&
               begin.coded >= 0 && begin.plain >= 0,
           kFirstWorker);
    coded_ = static_cast<std::size_t>(begin.coded);
    size_ = coded_ + static_cast<std::size_t>(begin.plain);
    const auto first = message.payload.floats();
    expect(first.empty() || first.size() == size_, kFirstWorker);
    values_.assign(first.begin(), first.end());
  }

  void hear(Message message) {
    Worker& worker = workers_[static_cast<std::size_t>(message.from)];
    expect(!worker.left, message.from);
    switch (static_cast<ServerKind>(message.header.tag)) {
      case ServerKind::kCommit:
      case ServerKind::kMeasuredCommit:
        return arrive(worker, std::move(message));
      case ServerKind::kPull:
        expect(worker.commit.measured && !worker.wants, message.from);
        return want(worker, message.from);
      case ServerKind::kLeave:
        expect(!worker.waits && !worker.wants, message.from);
        worker.left = true;
        ++left_;
        return bound_.leave(message.from);
      default:
        expect(false, message.from);
    }
  }

  void arrive(Worker& worker, Message message) {
    const CommitHeader commit = CommitHeader::of(message.header);
    expect(!worker.waits && !worker.wants && commit.step.value_or(worker.step + 1) > worker.step,
           message.from);
    worker.commit = commit;
    worker.step = commit.step.value_or(worker.step);
    worker.payload = std::move(message.payload);
    worker.waits = true;
    bound_.arrive(message.from, commit.step);
    if (commit.measured) {
      node_.send(message.from, Channel::kServer, {});
    } else {
      want(worker, message.from);
    }
  }

  void want(Worker& worker, Rank rank) {
    worker.wants = true;
    worker.asked = node_.now();
    if (!worker.waits) {
      answer(rank, worker.asked);  // it was applied before it was asked for
    }
  }

  void release() {
    std::vector<Rank> released = bound_.release();
    std::ranges::sort(released);  // sums are the same bits whoever came first
    const Seconds now = node_.now();
    for (const Rank rank : released) {
      apply(rank);
    }
    for (const Rank rank : released) {
      if (workers_[static_cast<std::size_t>(rank)].wants) {
        answer(rank, now);
      }
    }
    if (sums_ && !released.empty()) {  // the next sum begins
      std::ranges::fill(values_, 0.0F);
    }
  }

  void apply(Rank rank) {
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    worker.waits = false;
    worker.before = applied_++;
    const Payload payload = std::exchange(worker.payload, {});
    phantom_ = payload.is_phantom();
    if (phantom_) {
      return;
    }
    values_.resize(size_);  // zeros, where nothing was said
    const std::size_t plain_bytes = (size_ - coded_) * sizeof(float);
    expect(payload.bytes().size() >= plain_bytes, rank);
    const auto weight = static_cast<float>(worker.commit.weight);
    const auto coded = payload.bytes().first(payload.bytes().size() - plain_bytes);
    const Status sound = add_decoded(codec_.kind, coded, weight, std::span(values_).first(coded_));
    expect(sound.has_value(), rank);
    add_plain(payload.bytes().last(plain_bytes));
  }

  void add_plain(std::span<const std::byte> bytes) {
    for (std::size_t i = coded_; i < size_; ++i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + (i - coded_) * sizeof value, sizeof value);
      values_[i] += value;
    }
  }

  void answer(Rank rank, Seconds applied_at) {
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    worker.wants = false;
    send_values(rank, {applied_, worker.before, applied_at - worker.asked});
  }

  void send_values(Rank rank, const AnswerHeader& header) {
    node_.send(rank, Channel::kServer, header.header(),
               phantom_ ? Payload::phantom(size_ * sizeof(float)) : Payload::borrow(values_));
  }

  Node& node_;
  const CodecOptions codec_;
  const bool sums_;
  StalenessBound bound_;
  std::vector<Worker> workers_;
  std::size_t left_ = 0;       // of them
  std::vector<float> values_;  // none of a phantom
  std::size_t coded_ = 0;      // numbers that travel in the codec
  std::size_t size_ = 0;
  bool phantom_ = false;      // as what was committed last
  std::int64_t applied_ = 0;  // commits
};

}  // namespace

void run_parameter_server(Node& node, const Job& job, const ServerRules& rules) {
  Server(node, job, rules).run();
}

}  // namespace motley
