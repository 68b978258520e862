#include "runtime/calibrate/link_probe.h"

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
      switch (probe_kind(message)) {
        case ProbeKind::kOrder:
          order_ = decode_order(message.payload);
          seconds_.clear();
          begin();
          break;
        case ProbeKind::kRequest:
          send_bytes(message.from, {.tag = static_cast<std::int64_t>(ProbeKind::kReply)},
                     message.header.a);
          break;
        case ProbeKind::kReply:
          on_reply();
          break;
        case ProbeKind::kPiece:
          break;  // the last part of the transfer will be a request or a reply
        default:
          return;
      }
    }
  }

 private:
  void begin() {
    began_ = node_.now();
    awaited_ = order_.peers.size();
    for (std::size_t i = 0; i < order_.peers.size(); ++i) {
      const std::int64_t bytes = order_.bytes[i];
      const Header request{.tag = static_cast<std::int64_t>(ProbeKind::kRequest),
                           .a = order_.pull ? bytes : 0};
      send_bytes(order_.peers[i], request, order_.pull ? 0 : bytes);
    }
  }

  void on_reply() {
    if (awaited_ == 0 || --awaited_ > 0) {
      return;
    }
    seconds_.push_back(node_.now() - began_);
    if (std::ssize(seconds_) < order_.repeats) {
      node_.sleep(kPause);
      begin();
    } else {
      node_.send(kCoordinator, kProbeChannel, {}, encode_seconds(seconds_));
    }
  }

  // In pieces, as methods send their models, so that the receiver needs little memory.
  void send_bytes(Rank to, Header last, std::int64_t bytes) {
    for (; bytes > kPieceBytes; bytes -= kPieceBytes) {
      node_.send(to, kProbeChannel, {.tag = static_cast<std::int64_t>(ProbeKind::kPiece)},
                 payload(kPieceBytes));
    }
    node_.send(to, kProbeChannel, last, payload(bytes));
  }

  Payload payload(std::int64_t bytes) const {
    return Payload::adopt(piece_, std::span(*piece_).first(static_cast<std::size_t>(bytes)));
  }

  static constexpr std::int64_t kPieceBytes = 1 << 20;
  // Between two repeats. A rank that has waited is slower to answer than one that was just asked,
  // and in training ranks wait for milliseconds.
  static constexpr Seconds kPause = 2e-3;

  Node& node_;
  const std::shared_ptr<const std::vector<std::byte>> piece_ =
      std::make_shared<const std::vector<std::byte>>(kPieceBytes, std::byte{1});
  ProbeOrder order_;
  std::vector<Seconds> seconds_;  // of the order's repeats so far
  Seconds began_ = 0;
  std::size_t awaited_ = 0;  // replies
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
  probe.cluster.events.clear();
  probe.cluster.slowdowns.clear();
  return probe;
}

}  // namespace motley
