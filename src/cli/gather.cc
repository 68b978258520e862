#include "cli/gather.h"

#include <fmt/format.h>

#include "job/choices.h"
#include "job/print.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/rendezvous.h"
#include "runtime/rendezvous/token.h"
#include "sync/registry.h"

namespace motley {

namespace {

// What in the job wants something to happen to a worker's process, if there is anything.
std::optional<std::string> fault_of_workers(const ClusterSpec& cluster) {
  for (const ClusterEvent& event : cluster.events) {
    if (concerns_members(event.kind) && !event.server) {
      return fmt::format("the cluster.event of kind \"{}\" at {:g} s", name_of(event.kind),
                         event.at);
    }
  }
  return cluster.churn ? std::optional<std::string>("cluster.churn") : std::nullopt;
}

}  // namespace

Result<Gathering> gathering_for(const ListenFlags& flags, const Job& job) {
  Gathering gathering{{"/proc/self/exe", "worker", "--quiet", "--once"},
                      to_toml(job_schema(), job)};
  gathering.host = peer_of_this_process();
  if (!flags.listen) {
    return gathering;
  }
  const auto endpoint = parse_endpoint(*flags.listen);
  if (!endpoint) {
    return fail("--listen {}", endpoint.error().message);
  }
  if (job.cluster.has_quotas()) {
    return fail("--listen: cluster.isolate = \"cgroup\" limits only workers started here");
  }
  if (const auto fault = fault_of_workers(job.cluster)) {
    return fail("--listen: {} is only for workers started here", *fault);
  }
  gathering.workers_come = true;
  gathering.address = address_to_listen_on(endpoint->host);
  if (gathering.address == kAnyAddress && endpoint->host != kAnyAddress &&
      is_number(endpoint->host)) {
    return fail("--listen {}: not an address of this machine; use {} for all of them",
                *flags.listen, kAnyAddress);
  }
  gathering.port = endpoint->port;
  gathering.patience = flags.join_timeout;
  if (servers_of(job) > 0 && gathering.address == kAnyAddress) {
    return fail(
        "--listen {}: strategy.sync = \"{}\" has servers on this machine: give the IP address at "
        "which workers can reach it",
        *flags.listen, job.strategy.sync);
  }
  gathering.host.token = token_of_environment();
  return gathering;
}

void invite(const ListenFlags& flags, const Job& job, const Coordinator& coordinator) {
  if (!flags.listen) {
    return;
  }
  const auto port = coordinator.rendezvous().port;
  const std::string host = parse_endpoint(*flags.listen)->host;
  const bool known = !token_of_environment().empty();
  fmt::print(stderr, "motley: waiting for {} {}; start each with:\n  {}motley worker --join {}\n",
             job.cluster.workers, job.cluster.workers == 1 ? "worker" : "workers",
             known ? "" : fmt::format("{}={} ", kTokenVariable, coordinator.token()),
             show(Endpoint{host, port}));
}

}  // namespace motley
