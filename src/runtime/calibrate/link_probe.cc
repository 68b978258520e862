#include "runtime/calibrate/link_probe.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "runtime/calibrate/link_director.h"
#include "runtime/calibrate/probe_messages.h"
#include "sync/registry.h"

namespace motley {
namespace {

// A rank that does what it is ordered, and answers the others meanwhile.
class ProbeParticipant {
 public:
  explicit ProbeParticipant(Node& node) : node_(node) {}

  void take_part() {
    while (true) {
      const Message message = node_.receive({kProbeChannel});
      const auto bytes = static_cast<std::int64_t>(message.payload.size());
      switch (probe_kind(message)) {
        case ProbeKind::kOrder:
          order_ = decode_order(message.payload);
          arrivals_ = {};
          repeats_ = 0;
          begin();
          break;
        case ProbeKind::kPushed:
          node_.send(message.from, kProbeChannel, probe_header(ProbeKind::kReceived, bytes));
          break;
        case ProbeKind::kReceived:
          on_arrival(message.from, message.header.a);
          break;
        case ProbeKind::kPull:
          send_pieces(std::array{message.from}, std::array{message.header.a}, ProbeKind::kPulled);
          break;
        case ProbeKind::kPulled:
          on_arrival(message.from, bytes);
          break;
        case ProbeKind::kProcess:
          process(message.header.a);
          break;
        default:
          return;
      }
    }
  }

 private:
  static constexpr std::int64_t kMostPieceBytes = 1 << 20;
  static constexpr std::int64_t kPieces = 32;  // or more, if they would be too large
  // Between two repeats. A rank that has waited is slower to answer than one that was just asked,
  // and in training ranks wait for milliseconds.
  static constexpr Seconds kPause = 2e-3;

  // Enough pieces to see how fast they arrive, and not so large that they need much memory.
  static std::int64_t piece_of(std::int64_t bytes) {
    return std::clamp(bytes / kPieces, std::int64_t{1}, kMostPieceBytes);
  }

  void begin() {
    began_ = node_.now();
    awaited_ = std::accumulate(order_.bytes.begin(), order_.bytes.end(), std::int64_t{0});
    if (!order_.pull) {
      return send_pieces(order_.peers, order_.bytes, ProbeKind::kPushed);
    }
    for (std::size_t i = 0; i < order_.peers.size(); ++i) {
      node_.send(order_.peers[i], kProbeChannel, probe_header(ProbeKind::kPull, order_.bytes[i]));
    }
  }

  void on_arrival(Rank from, std::int64_t bytes) {
    arrivals_.at.push_back(node_.now() - began_);
    arrivals_.bytes.push_back(bytes);
    arrivals_.with.push_back(from);
    awaited_ -= bytes;
    if (awaited_ > 0) {
      return;
    }
    if (++repeats_ < order_.repeats) {
      node_.sleep(kPause);
      begin();
    } else {
      node_.send(kCoordinator, kProbeChannel, {}, encode_arrivals(arrivals_));
    }
  }

  // As methods add and average what they have received.
  void process(std::int64_t repeats) {
    constexpr std::size_t kNumbers = 1 << 20;
    constexpr std::size_t kBytes = 3 * sizeof(float) * kNumbers;  // two are read, one is written
    std::vector<float> sum(kNumbers);
    const std::vector<float> more(kNumbers, 1);
    ProbeArrivals done;
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
      const Seconds began = node_.now();
      node_.process(kBytes, [&] { std::ranges::transform(sum, more, sum.begin(), std::plus<>()); });
      done.at.push_back(node_.now() - began);
      done.bytes.push_back(kBytes);
      done.with.push_back(node_.rank());
    }
    node_.send(kCoordinator, kProbeChannel, {}, encode_arrivals(done));
  }

  // To all of them in turn; at least one piece to each.
  void send_pieces(std::span<const Rank> to, std::span<const std::int64_t> bytes, ProbeKind kind) {
    bool more = true;
    for (std::int64_t round = 0; more; ++round) {
      more = false;
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::int64_t piece = piece_of(bytes[i]);
        const std::int64_t left = bytes[i] - round * piece;
        if (left > 0 || round == 0) {
          node_.send(to[i], kProbeChannel, probe_header(kind), payload(std::min(piece, left)));
        }
        more = more || left > piece;
      }
    }
  }

  Payload payload(std::int64_t bytes) const {
    return Payload::adopt(piece_, std::span(*piece_).first(static_cast<std::size_t>(bytes)));
  }

  Node& node_;
  const std::shared_ptr<const std::vector<std::byte>> piece_ =
      std::make_shared<const std::vector<std::byte>>(kMostPieceBytes, std::byte{1});
  ProbeOrder order_;
  ProbeArrivals arrivals_;  // of all repeats so far
  std::int64_t repeats_ = 0;
  Seconds began_ = 0;
  std::int64_t awaited_ = 0;  // bytes
};

// Takes part in begin(), and computes nothing.
class ProbeStrategy final : public Strategy {
 public:
  explicit ProbeStrategy(Node& node) : node_(node) {}
  std::optional<Work> begin() override {
    ProbeParticipant(node_).take_part();
    return std::nullopt;
  }
  Progress finish(const Computed&) override { return {}; }
  Seconds waited() const override { return 0; }
  void state(Archive&) override {}

 private:
  Node& node_;
};

std::unique_ptr<Strategy> make_participant(const StrategyContext& context) {
  return std::make_unique<ProbeStrategy>(context.node);
}

Figures run_participating_server(const ServerContext& context) {
  ProbeParticipant(context.node).take_part();
  return {};
}

ServiceResult direct_probe(const ServiceContext& context) {
  LinkDirector director(context.node);
  ServiceResult result;
  result.figures =
      figures_of(director.measure(context.machines, context.node.size() + servers_of(context.job)));
  return result;
}

const Method kLinkProbe = {
    .schema = {.name = "link_probe", .summary = "measures links (motley calibrate)"},
    .advance = Advance::kAtOwnPace,
    .make = make_participant,
    .serve = direct_probe,
};

const Method kLinkProbeWithServer = {
    .schema = {.name = "link_probe_with_server",
               .summary = "measures links, a server's too (motley calibrate)",
               .has_servers = true},
    .advance = Advance::kAtOwnPace,
    .make = make_participant,
    .serve = direct_probe,
    .run_server = run_participating_server,
};

}  // namespace

void register_link_probes() {
  for (const Method* probe : {&kLinkProbe, &kLinkProbeWithServer}) {
    if (!find_method(probe->name())) {
      register_method(*probe);
    }
  }
}

Job link_probe_for(const Job& job) {
  Job probe;
  probe.name = "calibration";
  probe.seed = job.seed;
  probe.model = {.kind = ModelKind::kPhantom, .path = "", .parameters = 1};
  probe.train.batch = job.cluster.workers;
  probe.train.steps = 1;
  probe.train.eval_every = 0;
  probe.strategy.sync = (servers_of(job) > 0 ? kLinkProbeWithServer : kLinkProbe).name();
  probe.strategy.allocation = "equal";
  probe.cluster = job.cluster;
  probe.cluster.isolate = Isolation::kNone;
  probe.cluster.elastic = false;  // what is measured are the links of these workers
  probe.cluster.server_hosts.resize(
      std::min<std::size_t>(probe.cluster.server_hosts.size(), 1));  // one stands for all
  probe.cluster.events.clear();
  probe.cluster.churn.reset();
  probe.cluster.slowdowns.clear();
  return probe;
}

}  // namespace motley
