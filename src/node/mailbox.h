// Mailbox: messages that have arrived at a node and wait to be received, and the peers that are
// lost. Plain data without locks: the real node guards it with a mutex; the simulator needs none.
//
// A node may run several terms, one after the other. Messages and forgotten peers belong to a
// term; lost peers, control messages and the end of the run do not. A message of an earlier term is
// dropped; one of a later term, from a peer that was faster, waits until that begins.
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

  void put(Message message) {
    const int ahead = is_of_term(message) ? terms_ahead(message) : 0;
    if (ahead >= 0) {
      (ahead == 0 ? arrived_ : early_).push_back(std::move(message));
    }
  }

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
  // Empties the mailbox for the next term. A stop remains in effect. Without a number the term has
  // the number of the last one: then messages that are under way arrive in it.
  void begin_term(std::optional<std::uint16_t> number = {}) {
    term_ = number.value_or(term_);
    std::erase_if(arrived_, is_of_term);
    forgotten_.clear();
    term_end_.reset();
    std::pmr::deque<Message> early = std::move(early_);
    early_.clear();
    for (Message& message : early) {
      put(std::move(message));
    }
  }
  std::uint16_t term() const { return term_; }

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
  static bool is_of_term(const Message& message) { return message.channel != Channel::kControl; }
  // Numbers are modulo 2^16, so half of them are ahead.
  int terms_ahead(const Message& message) const {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(message.term - term_));
  }

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
  std::pmr::deque<Message> early_{memory_.get()};  // of later terms
  std::uint16_t term_ = 0;
  std::map<Rank, std::string> lost_;
  std::set<Rank> forgotten_;
  std::optional<std::string> stopped_;
  std::optional<std::string> term_end_;
};

}  // namespace motley
