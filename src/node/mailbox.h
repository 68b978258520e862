// Mailbox: messages that have arrived at a node and wait to be received, and the peers that are
// lost. Plain data without locks: the real node guards it with a mutex; the simulator needs none.
//
// A node may run several terms, one after the other. Messages and forgotten peers belong to a
// term; lost peers, control messages and the end of the run do not. A message of an earlier term is
// dropped; one of a later term, from a peer that was faster, waits until that begins.
//
// Messages come from processes and are received from ranks: each term says which process has which
// rank. Processes that are not members of the term are not heard. Control messages, which belong to
// no term, keep the number of the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "motley/node/message.h"
#include "motley/node/node.h"

namespace motley {

class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(Mailbox&&) = default;
  Mailbox& operator=(Mailbox&&) = delete;  // messages use the memory of their own mailbox

  void put(Message message) {
    if (!is_of_term(message)) {
      arrived_.push_back(std::move(message));
      return;
    }
    const int ahead = terms_ahead(message);
    if (ahead > 0) {
      early_.push_back(std::move(message));
    } else if (const auto rank = rank_of(message.from); ahead == 0 && rank) {
      message.from = *rank;
      ++arrived_in_term_;
      arrived_.push_back(std::move(message));
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
  // Drops the messages of earlier terms. A stop remains in effect. Without a number the term has
  // the number of the last one: then what has arrived is dropped, and what is under way is not.
  // `processes`: of each rank; if empty, a process and its rank have the same number.
  void begin_term(std::optional<std::uint16_t> number = {}, std::vector<Rank> processes = {}) {
    term_ = number.value_or(term_);
    processes_ = std::move(processes);
    std::erase_if(arrived_, [&](const Message& message) {
      return is_of_term(message) && (!number || terms_ahead(message) < 0);
    });
    arrived_in_term_ = static_cast<std::uint64_t>(std::ranges::count_if(arrived_, is_of_term));
    forgotten_.clear();
    term_end_.reset();
    std::pmr::deque<Message> early = std::move(early_);
    early_.clear();
    for (Message& message : early) {
      put(std::move(message));
    }
  }
  std::uint16_t term() const { return term_; }
  // Messages of this term that have arrived so far.
  std::uint64_t arrived_in_term() const { return arrived_in_term_; }
  // The process of this rank.
  Rank process_of(Rank rank) const {
    return rank < 0 || processes_.empty() ? rank : processes_.at(static_cast<std::size_t>(rank));
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
  static bool is_of_term(const Message& message) { return message.channel != Channel::kControl; }
  // Numbers are modulo 2^16, so half of them are ahead.
  int terms_ahead(const Message& message) const {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(message.term - term_));
  }

  std::optional<Rank> rank_of(Rank process) const {
    if (process < 0 || processes_.empty()) {
      return process;
    }
    const auto found = std::ranges::find(processes_, process);
    return found == processes_.end() ? std::nullopt
                                     : std::optional(static_cast<Rank>(found - processes_.begin()));
  }

  // The end of a term does not end control messages: they say what follows.
  void throw_if_hopeless(Match match) const {
    const bool is_control = match.channel == Channel::kControl;
    if (!is_control || run_stopped()) {
      throw_if_over();
    }
    for (const auto& [process, reason] : lost_) {
      const std::optional<Rank> peer = is_control ? process : rank_of(process);
      const bool waited_for =
          peer && (match.from == *peer || (match.from == kAnyRank && !forgotten_.contains(*peer)));
      if (waited_for) {
        throw Interrupted(*peer, reason);
      }
    }
  }

  // Messages reuse the memory of earlier ones: in steady state nothing is allocated.
  std::unique_ptr<std::pmr::memory_resource> memory_ =
      std::make_unique<std::pmr::unsynchronized_pool_resource>();
  std::pmr::deque<Message> arrived_{memory_.get()};
  std::pmr::deque<Message> early_{memory_.get()};  // of later terms
  std::uint16_t term_ = 0;
  std::vector<Rank> processes_;  // by rank
  std::uint64_t arrived_in_term_ = 0;
  std::map<Rank, std::string> lost_;  // by process
  std::set<Rank> forgotten_;          // by rank
  std::optional<std::string> stopped_;
  std::optional<std::string> term_end_;
};

}  // namespace motley
