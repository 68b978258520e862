#include "runtime/coordinator/local_processes.h"

#include <unistd.h>

#include "cluster/quotas.h"
#include "motley/base/failure.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/token.h"

namespace motley {
namespace {

void expect(const Status& status) {
  if (!status) {
    throw RunFailed(status.error().message);
  }
}

}  // namespace

bool LocalProcesses::starts(Rank rank) const {
  return !gathering_.worker_command.empty() && !(gathering_.workers_come && is_worker(rank));
}

pid_t LocalProcesses::start(Rank process, std::optional<int> worker, const Endpoint& rendezvous,
                            const std::string& token) {
  const std::string threads = std::to_string(job_.cluster.threads);
  const std::vector<std::string> environment = {
      std::string(kTokenVariable) + "=" + token, "OMP_NUM_THREADS=" + threads,
      "OPENBLAS_NUM_THREADS=" + threads, "MKL_NUM_THREADS=" + threads};
  auto command = gathering_.worker_command;
  command.insert(command.end(), {"--join", show(rendezvous), "--rank", std::to_string(process)});
  const pid_t pid = children_.start(process, command, environment, STDERR_FILENO);
  if (gathering_.quotas && worker && *worker < job_.cluster.workers) {
    expect(gathering_.quotas->add(*worker, pid));
  }
  return pid;
}

void LocalProcesses::set_quotas(Seconds now) {
  if (!gathering_.quotas) {
    return;
  }
  const auto wanted = quotas_at(job_.cluster, now, cores_here());
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    if (quotas_[rank] != wanted[rank]) {
      quotas_[rank] = wanted[rank];
      expect(gathering_.quotas->set(static_cast<Rank>(rank), wanted[rank]));
    }
  }
}

}  // namespace motley
