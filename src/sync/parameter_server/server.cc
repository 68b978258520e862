#include "sync/parameter_server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "sync/codec_options.h"
#include "sync/parameter_server/messages.h"
#include "sync/parameter_server/staleness_bound.h"
#include "sync/replica.h"

namespace motley {
namespace {

std::optional<std::int64_t> bound_of(const StrategySpec& strategy) {
  if (strategy.sync == "ps_bsp") {
    return 0;
  }
  if (strategy.sync == "ps_ssp") {
    return strategy.ps.staleness;
  }
  return strategy.sync == "ashl" ? std::optional(strategy.ashl.staleness) : std::nullopt;
}

class Server {
 public:
  Server(Node& node, const Job& job)
      : node_(node),
        codec_(codec_options_of(job)),
        sums_(job.strategy.sync == "ps_bsp"),
        bound_(job.cluster.workers, bound_of(job.strategy)),
        commits_(static_cast<std::size_t>(job.cluster.workers)) {}

  void run() {
    begin();
    std::size_t left = 0;
    while (left < commits_.size()) {
      Message message = node_.receive({Channel::kServer});
      expect(message.from >= 0 && message.from < std::ssize(commits_), message.from);
      if (message.header.tag == static_cast<std::int64_t>(ServerKind::kLeave)) {
        bound_.leave(message.from);
        ++left;
      } else {
        arrive(std::move(message));
      }
      release();
    }
    for (std::size_t rank = 0; rank < commits_.size(); ++rank) {
      answer(static_cast<Rank>(rank), {applied_, applied_, 0});
    }
  }

 private:
  // A commit that has arrived.
  struct Commit {
    CommitHeader header;
    Payload payload;
    Seconds arrived = 0;
    std::int64_t before = 0;  // commits applied before it
    bool waits = false;
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

  void arrive(Message message) {
    Commit& commit = commits_[static_cast<std::size_t>(message.from)];
    expect(!commit.waits, message.from);
    commit = {CommitHeader::of(message.header), std::move(message.payload), node_.now(), 0, true};
    if (commit.header.measured) {
      node_.send(message.from, Channel::kServer, {});
    }
    bound_.arrive(message.from, commit.header.step);
  }

  void release() {
    std::vector<Rank> released = bound_.release();
    std::ranges::sort(released);  // sums are the same bits whoever came first
    for (const Rank rank : released) {
      apply(rank);
    }
    for (const Rank rank : released) {
      const Commit& commit = commits_[static_cast<std::size_t>(rank)];
      answer(rank, {applied_, commit.before, node_.now() - commit.arrived});
    }
    if (sums_ && !released.empty()) {  // the next sum begins
      std::ranges::fill(values_, 0.0F);
    }
  }

  void apply(Rank rank) {
    Commit& commit = commits_[static_cast<std::size_t>(rank)];
    commit.waits = false;
    commit.before = applied_++;
    const Payload payload = std::exchange(commit.payload, {});
    phantom_ = payload.is_phantom();
    if (phantom_) {
      return;
    }
    values_.resize(size_);  // zeros, where nothing was said
    const std::size_t plain_bytes = (size_ - coded_) * sizeof(float);
    expect(payload.bytes().size() >= plain_bytes, rank);
    const auto weight = static_cast<float>(commit.header.weight);
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

  void answer(Rank rank, const AnswerHeader& header) {
    node_.send(rank, Channel::kServer, header.header(),
               phantom_ ? Payload::phantom(size_ * sizeof(float)) : Payload::borrow(values_));
  }

  Node& node_;
  const CodecOptions codec_;
  const bool sums_;
  StalenessBound bound_;
  std::vector<Commit> commits_;  // by worker, its last one
  std::vector<float> values_;    // none of a phantom
  std::size_t coded_ = 0;        // numbers that travel in the codec
  std::size_t size_ = 0;
  bool phantom_ = false;      // as what was committed last
  std::int64_t applied_ = 0;  // commits
};

}  // namespace

void hold_parameters(Node& node, const Job& job) { Server(node, job).run(); }

}  // namespace motley
