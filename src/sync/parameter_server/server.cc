#include "motley/sync/parameter_server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "codec/traffic.h"
#include "motley/sync/parameter_server/messages.h"
#include "motley/sync/replica.h"
#include "state/state.h"
#include "sync/codec_options.h"
#include "sync/parameter_server/gate_journal.h"
#include "sync/parameter_server/server_values.h"

namespace motley {
namespace {

// Sums begin with it: a positive zero would change a negative one, which can have a meaning.
constexpr float kNothing = -0.0F;

class Server {
 public:
  Server(const ServerContext& context, ServerRules rules)
      : node_(context.node),
        codec_(codec_options_of(context.job)),
        sums_(rules.sums),
        gate_(std::move(rules.gate)),
        journal_(context.journal, context.job.cluster.workers),
        workers_(static_cast<std::size_t>(context.job.cluster.workers)) {}

  Figures run() {
    begin();
    while (left_ < workers_.size()) {
      Message message = node_.receive({Channel::kServer});
      expect(message.from >= 0 && message.from < std::ssize(workers_), message.from);
      hear(std::move(message));
      release();
    }
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      send_values(static_cast<Rank>(rank), {.version = version_now()});
    }
    is_over_ = true;
    return gate_->figures();
  }

  // At the end of a term all workers have the values; if it was cut off, only the server has the
  // newest ones. Sums that are not complete are forgotten.
  void state(Archive& archive) {
    archive(kServerGate, *gate_);
    if (!sums_ && !is_over_ && !values_.empty()) {
      archive.tensor(kServerValues, values_);
      std::int64_t version = version_now();
      archive(kServerVersion, version);
    }
  }

  // A server in the place of one that was lost may have values only.
  void go_on_with(const State& state) {
    if (state.has(kServerGate)) {
      restore(*gate_, state.part(kServerGate));
    }
    if (state.tensors.contains(std::string(kServerValues))) {
      Archive archive = Archive::restoring(state);
      archive.tensor(kServerValues, values_);
      archive(kServerVersion, first_version_);
    }
  }

 private:
  // A worker and its last commit.
  struct Worker {
    CommitHeader commit;
    Payload payload;
    Payload note;                // from the gate, sent with the answer
    std::int64_t step = 0;       // number of its last bounded commit
    std::int64_t answered = 0;   // commits applied when its last answer was sent
    std::int64_t staleness = 0;  // commits of others applied between then and this commit
    Seconds asked = 0;           // when it asked for its answer
    bool waits = false;          // the commit is not applied yet
    bool wants = false;          // the answer is not sent yet
    bool left = false;
  };

  static void expect(bool is_sound, Rank rank) {
    if (!is_sound) {
      throw std::runtime_error(fmt::format("worker {} sent an invalid commit", rank));
    }
  }

  // Messages of one sender keep their order, so this one comes before the first worker's commits.
  // Commits of other workers wait in the mailbox.
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
    if (values_.size() != size_) {  // otherwise they are those of a term that was cut off
      values_.assign(first.begin(), first.end());
    }
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
        return gate_->leave(message.from);
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
    gate_->arrive({message.from, commit.step, node_.now()});
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
      answer(rank, worker.asked);  // the commit was applied before the worker asked
    }
  }

  // The workers whose commits the gate releases now, sorted by rank, so that sums have the same
  // bits in any order of arrival.
  std::vector<Rank> decide(Seconds now) {
    std::vector<Rank> released;
    for (GateDecision& decision : gate_->decide()) {
      journal_.write(decision, now);
      if (decision.applied) {
        released.push_back(decision.worker);
        workers_[static_cast<std::size_t>(decision.worker)].note = std::move(decision.note);
      }
    }
    std::ranges::sort(released);
    return released;
  }

  void release() {
    const Seconds now = node_.now();
    const std::vector<Rank> released = decide(now);
    if (released.empty()) {
      return;
    }
    apply(released);
    for (const Rank rank : released) {
      if (workers_[static_cast<std::size_t>(rank)].wants) {
        answer(rank, now);
      }
    }
    if (sums_) {  // the next sum begins
      node_.process(size_ * sizeof(float), [&] { std::ranges::fill(values_, kNothing); });
    }
  }

  // One after the other; whatever arrives meanwhile waits in the mailbox.
  void apply(const std::vector<Rank>& released) {
    std::size_t traffic = 0;
    for (const Rank rank : released) {
      traffic += traffic_of(workers_[static_cast<std::size_t>(rank)].payload);
    }
    node_.process(traffic, [&] {
      for (const Rank rank : released) {
        apply(rank);
      }
    });
  }

  std::size_t traffic_of(const Payload& commit) const {
    const std::size_t plain = size_ - coded_;
    const std::size_t plain_bytes = std::min(commit.size(), plain * sizeof(float));
    return add_decoded_traffic(codec_.kind, coded_, commit.size() - plain_bytes) +
           add_traffic(plain);
  }

  void apply(Rank rank) {
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    worker.waits = false;
    worker.staleness = applied_++ - worker.answered;
    const Payload payload = std::exchange(worker.payload, {});
    phantom_ = payload.is_phantom();
    if (phantom_) {
      return;
    }
    values_.resize(size_, kNothing);  // if there were no first values
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
    worker.answered = applied_;
    Payload note = std::exchange(worker.note, {});
    const bool has_note = note.size() > 0;
    send_values(rank, {.staleness = worker.staleness,
                       .held = applied_at - worker.asked,
                       .version = version_now(),
                       .has_note = has_note});
    if (has_note) {
      node_.send(rank, Channel::kServer, {}, std::move(note));
    }
  }

  void send_values(Rank rank, const ServerAnswer& answer) {
    node_.send(rank, Channel::kServer, answer.header(),
               phantom_ ? Payload::phantom(size_ * sizeof(float)) : Payload::borrow(values_));
  }

  std::int64_t version_now() const { return first_version_ + applied_; }

  Node& node_;
  const CodecOptions codec_;
  const bool sums_;
  const std::unique_ptr<CommitGate> gate_;
  GateJournal journal_;
  std::vector<Worker> workers_;
  std::size_t left_ = 0;       // how many have left
  std::vector<float> values_;  // empty for a phantom
  std::size_t coded_ = 0;      // numbers that are sent in the codec
  std::size_t size_ = 0;
  bool is_over_ = false;            // the term
  bool phantom_ = false;            // whether the last commit was a phantom
  std::int64_t applied_ = 0;        // commits in this term
  std::int64_t first_version_ = 0;  // of the values with which the term began
};

}  // namespace

Figures run_parameter_server(const ServerContext& context, ServerRules rules) {
  Server server(context, std::move(rules));
  if (context.kept) {
    server.go_on_with(context.kept->state());
  }
  Figures figures;
  KeptState::save_after(context.kept, server, [&] { figures = server.run(); });
  return figures;
}

}  // namespace motley
