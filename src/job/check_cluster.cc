#include "job/check_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "job/choices.h"

namespace motley {
namespace {

// An error at one item of a list in the file, or at the value itself if it is not a list.
tl::unexpected<Error> at_item(const Document& document, std::string_view key, std::size_t item,
                              std::string_view message) {
  const Entry* entry = document.find(key);
  if (!entry) {
    return tl::unexpected(document.error_at({key}, message));
  }
  const toml::array* list = entry->value->as_array();
  const toml::node* place = list ? list->get(item) : nullptr;
  return tl::unexpected(Document::error(*entry, place ? *place : *entry->value, message));
}

Status check_latency(const Job& job, const Document& document) {
  const Latency& latency = job.cluster.latency;
  if (latency.form() == Latency::Form::kNumber || latency.workers() == job.cluster.workers) {
    return {};
  }
  const bool is_matrix = latency.form() == Latency::Form::kMatrix;
  return tl::unexpected(document.error_at(
      {"cluster.latency"},
      fmt::format("cluster.latency has {} {}, but cluster.workers is {}", latency.workers(),
                  is_matrix ? "rows" : "entries", job.cluster.workers)));
}

// Two workers on one machine.
struct MachinePair {
  std::size_t first;
  std::size_t second;
};

// Every worker with the first one of its machine.
std::vector<MachinePair> pairs_of(const std::vector<int>& hosts) {
  std::vector<MachinePair> pairs;
  std::map<int, std::size_t> first_of;
  for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
    const auto [first, is_new] = first_of.emplace(hosts[worker], worker);
    if (!is_new) {
      pairs.push_back({first->second, worker});
    }
  }
  return pairs;
}

constexpr std::string_view kOneLink =
    "both are on one machine (cluster.hosts), which has one link: give them the same value";

Status check_links(const std::vector<MachinePair>& pairs, std::string_view key,
                   std::span<const double> values, const Document& document) {
  for (const auto& [first, second] : pairs) {
    if (!values.empty() && values[first] != values[second]) {
      return at_item(document, key, second,
                     fmt::format("{} is {} for worker {}, but {} for worker {}: {}", key,
                                 values[first], first, values[second], second, kOneLink));
    }
  }
  return {};
}

// The latencies of two workers on one machine, to the others if they send and from the others if
// not. Within the machine latencies are not used.
Status check_matrix(MachinePair pair, bool sends, const ClusterSpec& cluster,
                    const Document& document) {
  const auto latency = [&](std::size_t worker, std::size_t other) {
    const Rank a = static_cast<Rank>(worker);
    const Rank b = static_cast<Rank>(other);
    return sends ? cluster.latency.between(a, b) : cluster.latency.between(b, a);
  };
  for (std::size_t other = 0; other < cluster.hosts.size(); ++other) {
    const bool is_outside = cluster.hosts[other] != cluster.hosts[pair.first];
    const Seconds first = latency(pair.first, other);
    const Seconds second = latency(pair.second, other);
    if (is_outside && first != second) {
      return at_item(
          document, "cluster.latency", sends ? pair.second : other,
          fmt::format("cluster.latency {} worker {} is {} for worker {}, but {} for worker {}: {}",
                      sends ? "to" : "from", other, first, pair.first, second, pair.second,
                      kOneLink));
    }
  }
  return {};
}

Status check_matrix(const std::vector<MachinePair>& pairs, const ClusterSpec& cluster,
                    const Document& document) {
  for (const MachinePair& pair : pairs) {
    Status status = check_matrix(pair, true, cluster, document);
    status = status ? check_matrix(pair, false, cluster, document) : status;
    if (!status) {
      return status;
    }
  }
  return {};
}

Status check_machines(const Job& job, const Document& document) {
  const ClusterSpec& cluster = job.cluster;
  const std::vector<MachinePair> pairs = pairs_of(cluster.hosts);
  Status status = check_links(pairs, "cluster.bandwidth", cluster.bandwidth, document);
  status =
      status ? check_links(pairs, "cluster.bandwidth_up", cluster.bandwidth_up, document) : status;
  status = status ? check_links(pairs, "cluster.bandwidth_down", cluster.bandwidth_down, document)
                  : status;
  if (!status || cluster.latency.form() == Latency::Form::kNumber) {
    return status;
  }
  return cluster.latency.form() == Latency::Form::kMatrix
             ? check_matrix(pairs, cluster, document)
             : check_links(pairs, "cluster.latency", cluster.latency.values(), document);
}

tl::unexpected<Error> at_event(const Document& document, std::size_t event, std::string_view key,
                               std::string_view message) {
  const Entry& entry = *document.find("cluster.event");
  const toml::node& table = *entry.value->as_array()->get(event);
  return tl::unexpected(Document::error(entry, *table.as_table()->get(key), message));
}

// Servers have no speed, and a job has as many as it says.
Status check_server(const Job& job, const Document& document, std::size_t i) {
  const ClusterEvent& event = job.cluster.events[i];
  if (event.kind != EventKind::kDies && event.kind != EventKind::kFreezes) {
    return at_event(document, i, "server",
                    fmt::format("cluster.event[{}].server is only for kind = \"dies\" and kind = "
                                "\"freezes\", but the kind is \"{}\"",
                                i, name_of(event.kind)));
  }
  const int servers = job.strategy.ps.servers;
  if (document.schema().method_of(job).has_servers && *event.server >= servers) {
    return at_event(document, i, "server",
                    fmt::format("cluster.event[{}].server is {}, but strategy.ps.servers is {} and "
                                "servers count from 0",
                                i, *event.server, servers));
  }
  return {};
}

// A real run does this to processes that it has started itself.
Status check_member_event(const Job& job, const Document& document, std::size_t i, Mode mode) {
  const ClusterEvent& event = job.cluster.events[i];
  if (mode == Mode::kProgram) {
    return at_event(document, i, "kind",
                    fmt::format("cluster.event[{}].kind = \"{}\" is not for programs: motley has "
                                "not started their workers; remove the event",
                                i, name_of(event.kind)));
  }
  const bool needs_elastic = event.kind == EventKind::kLeaves || event.kind == EventKind::kJoins;
  if (mode == Mode::kTrain && needs_elastic && !job.cluster.elastic) {
    return at_event(document, i, "kind",
                    fmt::format("cluster.event[{}].kind = \"{}\" needs cluster.elastic = true: "
                                "otherwise no worker can leave or join",
                                i, name_of(event.kind)));
  }
  const bool is_beyond = event.kind == EventKind::kJoins && event.worker >= job.cluster.workers;
  if (mode == Mode::kTrain && is_beyond && job.cluster.has_quotas()) {
    return at_event(
        document, i, "worker",
        fmt::format("cluster.event[{}].worker is {}, but cluster.isolate = \"cgroup\" limits only "
                    "workers below cluster.workers, {}",
                    i, event.worker, job.cluster.workers));
  }
  return {};
}

// A real run cannot change the links between its machines.
Status check_events(const Job& job, const Document& document, Mode mode) {
  const bool is_real = mode == Mode::kTrain || mode == Mode::kProgram;
  for (std::size_t i = 0; i < job.cluster.events.size(); ++i) {
    const ClusterEvent& event = job.cluster.events[i];
    const bool may_be_new = event.kind == EventKind::kJoins;
    if (event.server) {
      if (Status status = check_server(job, document, i); !status) {
        return status;
      }
    } else if (event.worker >= job.cluster.workers && !may_be_new) {
      return at_event(document, i, "worker",
                      fmt::format("cluster.event[{}].worker is {}, but cluster.workers is {} and "
                                  "workers count from 0",
                                  i, event.worker, job.cluster.workers));
    }
    if (concerns_members(event.kind)) {
      if (Status status = check_member_event(job, document, i, mode); !status) {
        return status;
      }
    } else if (is_real && event.kind != EventKind::kSpeed) {
      return at_event(
          document, i, "kind",
          fmt::format("cluster.event[{}].kind = \"{}\" can only be simulated: a real run "
                      "has the links that its machines have; remove the event",
                      i, name_of(event.kind)));
    }
  }
  return {};
}

Status check_members(const Job& job, const Document& document) {
  if (job.cluster.min_workers <= job.cluster.workers) {
    return {};
  }
  return tl::unexpected(document.error_at(
      {"cluster.min_workers", "cluster.workers"},
      fmt::format("cluster.min_workers is {}, but cluster.workers is {}: the run would begin with "
                  "too few workers",
                  job.cluster.min_workers, job.cluster.workers)));
}

Status check_churn(const Job& job, const Document& document, Mode mode) {
  if (!job.cluster.churn) {
    return {};
  }
  const auto refused = [&](std::string_view message) {
    return tl::unexpected(document.error_at(
        {"cluster.churn.mtbf", "cluster.churn.mttr", "cluster.churn.seed"}, message));
  };
  for (const std::string_view key : {"mtbf", "mttr"}) {
    if (!document.find(fmt::format("cluster.churn.{}", key))) {
      return refused(fmt::format(
          "cluster.churn.{} is missing; [cluster.churn] needs both mtbf and mttr", key));
    }
  }
  if (mode == Mode::kProgram) {
    return refused(
        "cluster.churn is not for programs: motley has not started their workers; remove it");
  }
  return {};
}

// CPU quotas slow down a whole machine. They cannot slow down a single step or add time to a step
// whatever its samples.
Status check_quotas(const Job& job, const Document& document, Mode mode) {
  if (mode != Mode::kTrain || !job.cluster.has_quotas()) {
    return {};
  }
  const std::string_view key = !job.cluster.slowdowns.empty() ? "cluster.slowdown"
                               : job.cluster.has_overhead()   ? "cluster.overhead"
                                                              : "";
  if (key.empty()) {
    return {};
  }
  return tl::unexpected(document.error_at(
      {key},
      fmt::format("{} needs pacing, but cluster.isolate = \"cgroup\" replaces pacing by quotas",
                  key)));
}

}  // namespace

Status check_cluster(const Job& job, const Document& document, Mode mode) {
  Status status = check_latency(job, document);
  status = status ? check_machines(job, document) : status;
  status = status ? check_events(job, document, mode) : status;
  status = status ? check_members(job, document) : status;
  status = status ? check_churn(job, document, mode) : status;
  return status ? check_quotas(job, document, mode) : status;
}

}  // namespace motley
