// Places: which process of a run has which number. Pure: peers in, numbers out; no socket, no
// clock. Agreement (runtime/rendezvous/agreement.h) is not looked at here, nor is the token.
//
// At the start a process's number is its rank. Once late peers are let in, each gets a number that
// no process of this run had before, so that what a lost process had sent is never taken for the
// words of its successor. The rank that a late peer asks for says what it is to be: a restarted
// worker, or a server.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/rendezvous/agreement.h"

namespace motley {

// A process that was let in while the run goes on. `peer.rank` is the rank that it asked for, if
// any; `process` is its number.
struct Newcomer {
  Rank process = 0;
  Peer peer;
};

// What a peer gets.
struct Placing {
  enum class Kind {
    kGiven,
    kLater,  // nothing for now: it may ask again
    kRefused
  };
  Kind kind = Kind::kRefused;
  Rank process = 0;      // kGiven
  std::string why = {};  // kRefused
};

class Places {
 public:
  // The run has ranks first .. first+ranks-1. Before late peers are let in, a peer without a rank
  // gets one below `without_rank`.
  Places(Peer host, Rank first, int ranks, Rank without_rank);

  // As in Rendezvous.
  void let_late_in() { late_ = true; }
  bool lets_late_in() const { return late_; }
  Rank add_place();
  void forget(Rank process);
  std::vector<Newcomer> take_newcomers();

  // `attempt` identifies one attempt to join, so that its repetitions get the same answer.
  // Nothing changes before the peer takes what it is given.
  Placing place_for(const Peer& peer, const std::string& attempt) const;
  void take(Rank process, Peer peer, const std::string& attempt);

  // Whoever took this number last, also if it is forgotten.
  std::optional<Peer> peer(Rank process) const;
  // Ranks that nobody ever took.
  std::vector<Rank> missing() const;

 private:
  struct Process {
    Peer peer;
    std::string attempt;
    bool is_gone = false;
  };

  Rank end() const { return first_ + ranks_; }
  bool is_of_this_run(Rank rank) const { return rank >= first_ && rank < end(); }
  bool is_host(const Peer& peer) const;
  bool has(const Peer& peer) const;
  bool is_here_already(const Peer& peer, const std::string& attempt) const;
  Placing early_place(const Peer& peer, const std::string& attempt) const;
  Placing early_place_without_rank(const Peer& peer, const std::string& attempt) const;
  Placing late_place(const Peer& peer, const std::string& attempt) const;
  Placing late_place_outside(const Peer& peer) const;
  Placing fresh_place(const Peer& peer) const;
  std::optional<Rank> repeated(const Peer& peer, const std::string& attempt) const;
  Placing joined_twice(const Peer& peer) const;
  Placing outside(const Peer& peer) const;

  const Peer host_;
  const Rank first_;
  const int ranks_;
  const Rank without_rank_;
  bool late_ = false;
  Rank next_;                          // the next fresh number
  std::map<Rank, Process> processes_;  // by number
  std::map<Rank, Rank> holders_;       // rank of the run -> the process that is believed to have it
  std::set<Rank> promised_;            // places that nobody has taken yet
  std::vector<Newcomer> newcomers_;
};

}  // namespace motley
