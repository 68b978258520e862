// Gathering: who takes part in a real run, and where they meet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "runtime/coordinator/cpu_quota.h"
#include "runtime/rendezvous/rendezvous.h"

namespace motley {

// Who takes part: processes that are started here, or that come by themselves.
struct Gathering {
  // The program that runs a worker or a server; "--join HOST:PORT --rank N" is added, and the token
  // is in its environment as kTokenVariable. None: all come by themselves.
  std::vector<std::string> worker_command = {};
  std::string job_text = {};    // the resolved job, handed to every worker
  CpuQuotas* quotas = nullptr;  // gives the workers their speeds; without it they are paced
  bool workers_come = false;    // only servers are started here

  // Where the rendezvous is; port 0: any.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  // What all must agree with (runtime/rendezvous/rendezvous.h). Without a token one is made up.
  // With a rank, the worker of that rank is in this process and needs no rendezvous.
  Peer host = {};
  Seconds patience = 60;  // for everybody to come
};

}  // namespace motley
