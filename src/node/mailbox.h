// Mailbox: messages that have arrived at a node and wait to be received, and the peers that are
// lost. Plain data without locks: the real node guards it with a mutex; the simulator needs none.
//
// A node may run several terms, one after the other. Messages and forgotten peers belong to a
// term; lost peers and the end of the run do not.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>

#include "motley/node/message.h"
#include "motley/node/node.h"

namespace motley {

class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(Mailbox&&) = default;
  Mailbox& operator=(Mailbox&&) = delete;  // messages use the memory of their own mailbox

  void put(Message message) { arrived_.push_back(std::move(message)); }

  // The oldest match, if any. Throws Interrupted if there is none and none can come any more.
  std::optional<Message> take(Match match) {
    for (auto it = arrived_.begin(); it != arrived_.end(); ++it) {
      if (match.takes(*it)) {
        Message message = std::move(*it);
        arrived_.erase(it);
        return message;
      }
    }
    throw_if_hopeless(match);
    return std::nullopt;
  }

  void lose(Rank peer, std::string reason) { lost_.emplace(peer, std::move(reason)); }
  bool is_lost(Rank peer) const { return lost_.contains(peer); }
  void forget(Rank peer) { forgotten_.insert(peer); }

  // The run is over: after this, every take() that finds no message throws.
  void stop(std::string reason) {
    if (!stopped_) {
      stopped_ = std::move(reason);
    }
  }
  // The same for the current term only. The first reason is kept.
  void end_term(std::string reason) {
    if (!term_end_) {
      term_end_ = std::move(reason);
    }
  }
  // Empties the mailbox for the next term. A stop remains in effect.
  void begin_term() {
    arrived_.clear();
    forgotten_.clear();
    term_end_.reset();
  }

  bool run_stopped() const { return stopped_.has_value(); }
  bool term_ended() const { return term_end_.has_value(); }
  bool over() const { return run_stopped() || term_ended(); }
  void throw_if_over() const {
    if (over()) {
      throw Interrupted(kAnyRank, stopped_ ? *stopped_ : *term_end_);
    }
  }

  std::size_t size() const { return arrived_.size(); }

 private:
  void throw_if_hopeless(Match match) const {
    throw_if_over();
    for (const auto& [peer, reason] : lost_) {
      const bool waited_for =
          match.from == peer || (match.from == kAnyRank && !forgotten_.contains(peer));
      if (waited_for) {
        throw Interrupted(peer, reason);
      }
    }
  }

  // Messages reuse the memory of earlier ones: in steady state nothing is allocated.
  std::unique_ptr<std::pmr::memory_resource> memory_ =
      std::make_unique<std::pmr::unsynchronized_pool_resource>();
  std::pmr::deque<Message> arrived_{memory_.get()};
  std::map<Rank, std::string> lost_;
  std::set<Rank> forgotten_;
  std::optional<std::string> stopped_;
  std::optional<std::string> term_end_;
};

}  // namespace motley
