// The rendezvous: where the processes of a run come together, before there is a fabric between
// them.
//
//   auto rendezvous = Rendezvous::open("0.0.0.0", 29500, rules);       the coordinator's side
//   while (!rendezvous->missing().empty()) { rendezvous->look(); ... }
//
//   auto admission = join_rendezvous({"10.0.0.1", 29500}, me, 60);   everybody else's
//
// One connection for each peer: it says who it is and what it is about to train, and is told its
// rank and where the fabric is, or why it is refused. Whoever would train something else than the
// host is refused with the first difference, before anything is trained.
//
// The exchange is one line of JSON each way, ended by '\n', of at most 4 MiB. `motley` (the
// version) in both, and `refused` (the reason, a whole sentence) in the answer, stay readable for
// all versions to come: versions are compared first, so that anything else may change with them.
//
// The rendezvous is open to whoever can reach its port. A stranger without the token is told
// nothing of the run; noise and silence cost a connection for at most 5 s, and never end a run.
//
// It stays open during the run: whoever comes too late is told so. But a process that is in this
// run already has come for the session's next one: it gets no answer, and asks again.
//
// Cost: look() makes one system call for every peer that waits, and one more; it takes 10 ms and
// at most one answer longer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "fabric/fabric.h"
#include "motley/base/ids.h"
#include "runtime/rendezvous/agreement.h"

namespace motley {

// What a peer is told.
struct Admission {
  Rank rank = 0;
  std::string token;     // of the fabric
  Endpoint coordinator;  // of the fabric; host: the address, in numbers, at which it was reached
  std::string here;  // this process's own address on the way to the rendezvous, in numbers: where
                     // its fabric should listen
};

struct RendezvousRules {
  // What all must agree with: version, token, job, parameters. Without a rank it is a coordinator
  // without a worker in its process; a rank that it has is taken by it from the start.
  Peer host;
  // Workers and servers that may come are first .. first+ranks-1.
  int first = 0;
  int ranks = 1;
  // Whoever has no rank is given one below this: those of servers are not for everybody.
  Rank without_rank = std::numeric_limits<Rank>::max();
  std::string fabric_token;
  std::uint16_t fabric_port = 0;
  Seconds patience = 5;  // with a peer that says nothing
  Seconds grace = 1;     // for others to come and hear of a conflict
};

// The coordinator's side. One thread; nothing in it waits.
class Rendezvous {
 public:
  // `address` is a name or a number; port 0 is any that is free. The error says which address and
  // why: "127.0.0.1:29500 is in use".
  static Result<std::unique_ptr<Rendezvous>> open(const std::string& address, std::uint16_t port,
                                                  RendezvousRules rules);

  Endpoint endpoint() const { return endpoint_; }

  // Lets in, hears and answers whoever is there. Call it often.
  void look();

  // Who came as that rank.
  std::optional<Peer> peer(Rank rank) const;
  // Who has not come yet.
  std::vector<Rank> missing() const;
  // Visitors that have not said all, or not heard all.
  std::size_t waiting() const { return visits_.size(); }
  // Somebody of this run was refused because it does not agree (version, job, parameters): the run
  // cannot be. The first reason, once the grace is over; whoever comes meanwhile is told. A
  // duplicate rank, a wrong token or noise are no conflict.
  std::optional<std::string> conflict() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Visit {
    Descriptor socket;
    Clock::time_point deadline;
    std::string heard = {};
    std::string answer = {};  // what is left of it to send; once there is one, nothing is heard
  };
  struct Joined {
    Peer peer;
    std::string
        visit;  // names one call of join_rendezvous(): who asks again is told the same again
  };

  Rendezvous(Descriptor socket, RendezvousRules rules);

  void let_in();
  bool is_over(Visit& visit);  // hears and answers; true when the connection can be closed
  bool hear(Visit& visit);     // false when it is gone or says too much
  std::string answer(const std::string& line, const Endpoint& from);  // "": none
  bool is_of_this_run(Rank rank) const {
    return rank >= rules_.first && rank - rules_.first < rules_.ranks;
  }
  bool is_here_already(const Peer& peer, const std::string& visit) const;
  std::optional<std::string> objection(Peer& peer, const std::string& visit);
  Result<Rank> rank_for(const Peer& peer, const std::string& visit) const;

  const Descriptor socket_;
  const RendezvousRules rules_;
  const Endpoint endpoint_;
  std::list<Visit> visits_;
  std::size_t held_ = 0;  // bytes heard, of all visits
  std::map<Rank, Joined> joined_;
  std::optional<std::string> conflict_;
  Clock::time_point conflict_began_;
};

// Who this process is, as it says there; rank, token and what it trains are left to the caller.
Peer peer_of_this_process();

// The others' side. Waits, for `deadline` seconds at most; asks again while nobody listens (rank 0
// may come later) or the connection is lost. Names of hosts are resolved. An error is a whole
// sentence: "rank 0 is missing: nobody listens at 10.0.0.1:29500 after 60 s", "refused by rank 0
// (pid 70 on a): rank 2 (pid 77 on b) has motley 0.2.0, rank 0 (pid 70 on a) has 0.1.0".
// `interrupted` is asked ten times a second: what it says ends the waiting, as "stopped by SIGTERM
// before everybody had come".
using Interruption = std::function<std::optional<std::string>()>;
Result<Admission> join_rendezvous(const Endpoint& rendezvous, const Peer& me, Seconds deadline,
                                  const Interruption& interrupted = {});

// The longest line of the exchange.
inline constexpr std::size_t kLongestLine = 4 << 20;

}  // namespace motley
