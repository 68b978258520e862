// Whether processes that come together are of one run, and the words for it when they are not.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "motley/base/ids.h"

namespace motley {

// What a process says at the rendezvous (runtime/rendezvous/rendezvous.h).
struct Peer {
  std::string version = {};       // of motley
  std::optional<Rank> rank = {};  // none: any that is free
  std::string host = {};          // for messages, as the process id
  std::int64_t pid = 0;
  std::string token = {};       // shared by the run
  std::string job = {};         // resolved job file (job/print.h); "": it takes what it is given
  std::string parameters = {};  // one line per tensor, "fc1.weight 128x784"; "": likewise
};

// "rank 2 (pid 77 on b)"; one without a rank is a worker, or the coordinator when it is the host.
std::string name_of_peer(const Peer& peer);
std::string name_of_host(const Peer& host);

// What others wrote, fit for a terminal: one line, no control characters, cut where it is longer.
std::string for_people(const std::string& text, std::size_t longest = 200);

// Why the two cannot be of one run, as "train.batch is 128 for rank 2 (pid 77 on b), 256 for rank 0
// (pid 70 on a)"; nullopt when they agree, or one of them makes no demand.
std::optional<std::string> version_difference(const Peer& peer, const Peer& host);
std::optional<std::string> job_difference(const Peer& peer, const Peer& host);
std::optional<std::string> parameter_difference(const Peer& peer, const Peer& host);

}  // namespace motley
