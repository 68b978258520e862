#include "runtime/coordinator/members.h"

#include <fmt/format.h>

#include "cluster/fault_plan.h"
#include "motley/sync/method.h"
#include "runtime/launch/first_failure.h"
#include "runtime/rendezvous/addresses.h"

namespace motley {

Members::Members(const Job& job, const Gathering& gathering, const std::string& fabric_token,
                 std::uint16_t fabric_port)
    : job_(job),
      gathering_(gathering),
      roster_(job.cluster.workers, servers_of(job)),
      processes_(job, gathering) {
  RendezvousRules rules;
  rules.host = gathering_.host;
  rules.ranks = static_cast<int>(roster_.members().size());
  rules.without_rank = job.cluster.workers;
  rules.fabric_token = fabric_token;
  rules.fabric_port = fabric_port;
  auto rendezvous = Rendezvous::open(gathering_.address, gathering_.port, std::move(rules));
  if (!rendezvous) {
    throw RunFailed(rendezvous.error().message);
  }
  rendezvous_ = std::move(*rendezvous);
}

Endpoint Members::local_rendezvous() const {
  const Endpoint there = rendezvous_->endpoint();
  return {there.host == kAnyAddress ? "127.0.0.1" : there.host, there.port};
}

void Members::start_processes() {
  for (const Rank process : roster_.members()) {
    if (processes_.starts(process)) {
      ProcessState& state = roster_[process];
      const auto worker = state.is_server ? std::nullopt : std::optional(state.id);
      state.pid = processes_.start(process, worker, local_rendezvous(), gathering_.host.token);
    }
  }
}

void Members::throw_if_hopeless(Seconds now) const {
  if (const auto conflict = rendezvous_->conflict()) {
    throw RunFailed(*conflict);
  }
  const auto missing = roster_.missing();
  if (!missing.empty() && now > gathering_.patience) {
    throw RunFailed(fmt::format("timed out after {:g} s waiting for {} to join",
                                gathering_.patience, show_ranks(missing)));
  }
}

bool Members::respawn(const ProcessState& lost, Seconds now) {
  const std::string name = fmt::format("{} {}", lost.is_server ? "server" : "worker", lost.id);
  if (lost.pid == 0 || respawned_[name] >= most_respawns(job_.cluster, id_of(lost).kind)) {
    return false;
  }
  ++respawned_[name];
  start_newcomer(id_of(lost), now);
  return true;
}

void Members::start_newcomer(ProcessId id, Seconds now) {
  const bool is_server = id.kind == ProcessKind::kServer;
  const Rank process = rendezvous_->add_place();
  ProcessState& state = roster_.add(process, id.id, is_server);
  state.heard = now;
  const auto worker = is_server ? std::nullopt : std::optional(id.id);
  state.pid = processes_.start(process, worker, local_rendezvous(), gathering_.host.token);
}

void Members::take_newcomers(Seconds now) {
  for (const Newcomer& newcomer : rendezvous_->take_newcomers()) {
    if (roster_.contains(newcomer.process)) {
      continue;  // it was started again by respawn()
    }
    const Rank asked = newcomer.peer.rank.value_or(kAnyId);
    const bool is_server = asked >= job_.cluster.workers;
    const int id = is_server ? asked - job_.cluster.workers : asked;
    roster_.add(newcomer.process, id, is_server).heard = now;
  }
}

void Members::remove(Rank process) {
  processes_.kill(process);
  rendezvous_->forget(process);
  roster_.remove(process);
}

std::string Members::host_of(Rank process) const {
  const auto peer = rendezvous_->peer(process);
  return peer ? peer->host : gathering_.host.host;
}

pid_t Members::pid_of(Rank process) const {
  const pid_t pid = roster_.contains(process) ? roster_[process].pid : 0;
  const auto peer = pid == 0 ? rendezvous_->peer(process) : std::nullopt;
  return peer ? static_cast<pid_t>(peer->pid) : pid;
}

std::string Members::describe(Rank process) const {
  const bool is_local = roster_.contains(process) && roster_[process].pid != 0;
  const auto peer = is_local ? std::nullopt : rendezvous_->peer(process);
  return peer ? fmt::format("{} (pid {} on {})", roster_.name(process), peer->pid, peer->host)
              : fmt::format("{} (pid {})", roster_.name(process), pid_of(process));
}

std::vector<int> Members::machines() const {
  std::vector<std::string> names;
  for (const Rank process : roster_.members()) {
    names.push_back(host_of(process));
  }
  return machines_of(names);
}

}  // namespace motley
