// Rendezvous: where the processes of a run meet, before there is a fabric between them.
//
//   auto rendezvous = Rendezvous::open("0.0.0.0", 29500, rules);       on the coordinator
//   while (!rendezvous->missing().empty()) { rendezvous->look(); ... }
//
//   auto admission = join_rendezvous({"10.0.0.1", 29500}, me, 60);   on every other process
//
// Each peer opens one connection and says who it is and what it will train. The answer is its rank
// and the address of the fabric, or why it is refused. A peer that would train something else than
// the host is refused with the first difference, before training starts.
//
// Each side sends one line of JSON, ended by '\n', of at most 4 MiB. The keys `motley` (the
// version, both ways) and `refused` (the reason, a whole sentence, in the answer) never change:
// versions are compared first, so everything else may differ between versions.
//
// Anyone who can reach the port can connect. A peer without the token learns nothing about the run.
// Malformed input and silence occupy a connection for at most 5 s and never end a run.
//
// People ask here what a run is doing (runtime/rendezvous/requests.h): a line with the key
// `request` is not of a peer.
//
// The rendezvous stays open during the run: to let late peers in (let_late_in()), else to refuse
// them. A process that has already joined this run is waiting for the session's next one: it gets
// no answer and tries again.
//
// Cost: look() makes one system call per waiting peer, plus one. It takes at most 10 ms and one
// answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "fabric/fabric.h"
#include "motley/base/ids.h"
#include "runtime/rendezvous/agreement.h"
#include "runtime/rendezvous/exchange.h"
#include "runtime/rendezvous/places.h"
#include "runtime/rendezvous/requests.h"

namespace motley {

// The answer to a peer.
struct Admission {
  Rank rank = 0;         // the number of the process: its address on the fabric
  std::string token;     // of the fabric
  Endpoint coordinator;  // of the fabric, with the numeric address at which it was reached
  std::string here;  // this process's numeric address towards the rendezvous, for its own fabric
};

struct RendezvousRules {
  // What all must agree with: version, token, job, parameters. Without a rank, it is a coordinator
  // without a worker in its process. With one, that rank is occupied from the start.
  Peer host;
  // Ranks of workers and servers that may join: first .. first+ranks-1.
  int first = 0;
  int ranks = 1;
  // A peer without a rank gets one below this: the ranks of servers are not given out.
  Rank without_rank = std::numeric_limits<Rank>::max();
  std::string fabric_token;
  std::uint16_t fabric_port = 0;
  Seconds patience = 5;  // with a silent peer
  Seconds grace = 1;     // for other peers to arrive and be told of a conflict
};

// The coordinator's side. Thread rule: one thread. No call blocks.
class Rendezvous {
 public:
  // `address` is a name or a numeric address; port 0 means any free port. The error says which
  // address and why: "127.0.0.1:29500 is in use".
  static Result<std::unique_ptr<Rendezvous>> open(const std::string& address, std::uint16_t port,
                                                  RendezvousRules rules);

  Endpoint endpoint() const { return endpoint_; }

  // Accepts, reads and answers whatever is pending. Call it often.
  void look();

  // From now on peers are let in while the run goes on, as processes with numbers of their own.
  //
  //   a peer without a rank                       a fresh number
  //   a rank whose process was forgotten          a fresh number
  //   a rank whose process is thought to be here  no answer for now: the peer tries again by itself
  //   a number of add_place()                     that number, once
  //   the host's rank, or any other               refused
  //
  // All ranks of the run count as here until they are forgotten. A peer that differs from the host
  // in version, job or parameters is refused, as before; but that is no conflict(). A peer that
  // repeats its attempt gets the same answer, unless its process was forgotten meanwhile.
  void let_late_in();
  // A number for a process that the coordinator is about to start itself. That process asks for
  // exactly this number as its rank, and is let in as a newcomer with it.
  Rank add_place() { return places_.add_place(); }
  // This process is gone: the rank it had may be asked for again. A place that nobody took yet is
  // withdrawn. The host cannot be forgotten.
  void forget(Rank process) { places_.forget(process); }
  // Those who were let in since the last call, in their order.
  std::vector<Newcomer> take_newcomers() { return places_.take_newcomers(); }

  // What `motley status` is told from now on. Before the first call the run has not begun.
  void set_status(RunStatus status) { requests_.set_status(std::move(status)); }
  // Ids of the workers that `motley drain` asks to leave since the last call, each of which is a
  // member in the status that can leave.
  std::vector<int> take_drain_requests() { return requests_.take_drain_requests(); }

  // The peer that joined as this process, also if it is forgotten; without job and parameters.
  std::optional<Peer> peer(Rank process) const { return places_.peer(process); }
  // Ranks of the run that nobody has joined with.
  std::vector<Rank> missing() const { return places_.missing(); }
  // Peers whose request or answer is not complete.
  std::size_t waiting() const { return connections_.size(); }
  // Set if a peer of this run was refused because version, job or parameters differ: the run cannot
  // start. It is the first such reason, reported once the grace period is over; peers that arrive
  // meanwhile are told. A duplicate rank, a wrong token or malformed input is not a conflict.
  std::optional<std::string> conflict() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct PeerConnection {
    Descriptor socket;
    Clock::time_point deadline;
    std::string heard = {};
    std::string answer = {};  // the rest to send; once set, nothing more is read
  };

  Rendezvous(Descriptor socket, RendezvousRules rules);

  void let_in();
  bool is_over(
      PeerConnection& connection);  // reads and answers; true when the connection can be closed
  bool hear(PeerConnection& connection);  // false if it is gone or sends too much
  std::string answer(const std::string& line, const Endpoint& from);  // "": none
  nlohmann::ordered_json answer_peer(const nlohmann::ordered_json& said, const Endpoint& from);
  nlohmann::ordered_json answer_request(const nlohmann::ordered_json& said);
  std::optional<std::string> objection(const Peer& peer, const Placing& place);

  const Descriptor socket_;
  const RendezvousRules rules_;
  const Endpoint endpoint_;
  std::list<PeerConnection> connections_;
  std::size_t held_ = 0;  // bytes read, over all connections
  Places places_;
  RunRequests requests_;
  std::optional<std::string> conflict_;
  Clock::time_point conflict_began_;
};

// How this process introduces itself; rank, token and what it trains are left to the caller.
Peer peer_of_this_process();

// The side of all other processes. Blocks for at most `deadline` seconds; retries while nothing
// listens (rank 0 may start later) or if the connection is lost. Resolves host names. An error is a
// whole sentence: "timed out after 60 s waiting for rank 0: nothing listens at 10.0.0.1:29500",
// "refused by rank 0 (pid 70 on a): rank 2 (pid 77 on b) has motley 0.2.0, rank 0 (pid 70 on a) has
// 0.1.0". `interrupted` is called ten times a second; if it returns a reason, that ends the wait.
Result<Admission> join_rendezvous(const Endpoint& rendezvous, const Peer& me, Seconds deadline,
                                  const Interruption& interrupted = {});

// The longest line of the exchange.
inline constexpr std::size_t kLongestLine = 4 << 20;

}  // namespace motley
