// Checks that processes which meet belong to the same run, and explains the difference if not.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "motley/base/ids.h"

namespace motley {

// How a process introduces itself at the rendezvous (runtime/rendezvous/rendezvous.h).
struct Peer {
  std::string version = {};       // of motley
  std::optional<Rank> rank = {};  // nullopt: any free rank
  std::string host = {};          // host and process id are for messages
  std::int64_t pid = 0;
  std::string token = {};       // shared by the run
  std::string job = {};         // resolved job file (job/print.h); "": accepts the host's
  std::string parameters = {};  // one line per tensor, "fc1.weight 128x784"; "": not compared
};

// "rank 2 (pid 77 on b)". Without a rank it is called a worker, or the coordinator if it is the
// host.
std::string name_of_peer(const Peer& peer);
std::string name_of_host(const Peer& host);

// Makes untrusted text printable: one line, no control characters, cut to `longest`.
std::string for_people(const std::string& text, std::size_t longest = 200);

// Why the two cannot be in one run, such as "train.batch is 128 for rank 2 (pid 77 on b), 256 for
// rank 0 (pid 70 on a)"; nullopt if they agree or one of them does not care.
std::optional<std::string> version_difference(const Peer& peer, const Peer& host);
std::optional<std::string> job_difference(const Peer& peer, const Peer& host);
std::optional<std::string> parameter_difference(const Peer& peer, const Peer& host);

}  // namespace motley
