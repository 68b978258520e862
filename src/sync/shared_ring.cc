#include "sync/shared_ring.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/fair_flows.h"

namespace motley {
namespace {

class SharedRing {
 public:
  SharedRing(std::span<RingMember> members, std::span<const std::size_t> chunks)
      : members_(members), chunks_(chunks), places_(members.size()) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      places_[i].path = path_of(members[i].edge);
      at(members[i].at, {i, What::kEnters});
      places_[i].free = members[i].free;
    }
  }

  void run() {
    for (;;) {
      const Seconds departs = flows_.next_end();
      Seconds happens = FairFlows::kNever;
      if (!events_.empty()) {
        happens = events_.top().at;
      }
      if (std::min(departs, happens) == FairFlows::kNever) {
        break;
      }
      now_ = std::min(departs, happens);
      if (departs <= happens) {
        depart();
      } else {
        const Event event = events_.top();
        events_.pop();
        happen(event);
      }
    }
    for (std::size_t i = 0; i < count(); ++i) {
      members_[i].finish(places_[i].reduced, places_[i].gathered, places_[i].free);
    }
  }

 private:
  enum class What { kEnters, kArrives, kEdgeFree };
  struct Of {
    std::size_t member;
    What what;
  };
  struct Event {
    Seconds at;
    std::uint64_t sequence;
    Of of;
    friend bool operator<(const Event& a, const Event& b) {  // std::priority_queue: latest first
      return std::pair(a.at, a.sequence) > std::pair(b.at, b.sequence);
    }
  };
  struct Place {
    FairFlows::Path path;
    bool entered = false;
    bool sending = false;     // a chunk is under way on its edge
    Seconds free = 0;         // when the edge has sent everything
    std::size_t sent = 0;     // rounds in which it has sent
    std::size_t round = 0;    // rounds in which it has received
    std::size_t arrived = 0;  // chunks that it has not received yet
    Seconds reduced = 0;      // when it had received in half of the rounds
    Seconds gathered = 0;     // and in all of them
  };

  std::size_t count() const { return members_.size(); }
  std::size_t rounds() const { return 2 * (count() - 1); }
  std::size_t left_of(std::size_t member) const { return (member + count() - 1) % count(); }

  // The bytes that a member sends in a round: chunk (self - k) in the first half, (self + 1 - k) in
  // the second.
  std::size_t bytes_sent(std::size_t member, std::size_t round) const {
    const std::size_t half = count() - 1;
    const std::size_t chunk =
        round < half ? member + count() - round : member + 1 + count() - (round - half);
    return chunks_[chunk % count()];
  }

  FairFlows::Path path_of(const RingEdge& edge) {
    FairFlows::Path path;
    for (const RingLink& link : edge.links) {
      const auto [known, is_new] = links_.try_emplace(link.id, 0);
      if (is_new) {
        known->second = flows_.add(link.capacity);
      }
      path.add(known->second);
    }
    return path;
  }

  void at(Seconds when, Of of) { events_.push({when, ++sequence_, of}); }

  void depart() {
    while (const auto flow = flows_.take_ended(now_)) {
      left(senders_[*flow]);
    }
  }

  // The chunk of the member's edge has left.
  void left(std::size_t member) {
    places_[member].sending = false;
    places_[member].free = now_;
    at(now_ + members_[member].edge.latency, {(member + 1) % count(), What::kArrives});
    send(member);
  }

  void happen(const Event& event) {
    Place& place = places_[event.of.member];
    switch (event.of.what) {
      case What::kEnters:
        place.entered = true;
        break;
      case What::kArrives:
        ++place.arrived;
        break;
      case What::kEdgeFree:
        return send(event.of.member);
    }
    if (place.entered) {
      go_on(event.of.member);
    }
  }

  // Receives what has arrived, and sends.
  void go_on(std::size_t member) {
    Place& place = places_[member];
    send(member);
    while (place.round < rounds() && receives(member)) {
      ++place.round;
      (place.round < count() ? place.reduced : place.gathered) = now_;
      send(member);
    }
  }

  bool receives(std::size_t member) {
    Place& place = places_[member];
    if (bytes_sent(left_of(member), place.round) == 0) {
      return true;
    }
    if (place.arrived == 0) {
      return false;
    }
    --place.arrived;
    return true;
  }

  // A member sends in a round as soon as it has received in the one before, and the edge is free.
  void send(std::size_t member) {
    Place& place = places_[member];
    while (place.entered && !place.sending && place.sent < rounds() && place.sent <= place.round) {
      const std::size_t bytes = bytes_sent(member, place.sent);
      if (bytes > 0 && place.free > now_) {
        at(place.free, {member, What::kEdgeFree});
        return;
      }
      ++place.sent;
      if (bytes > 0) {
        begin(member, bytes);
      }
    }
  }

  void begin(std::size_t member, std::size_t bytes) {
    Place& place = places_[member];
    place.sending = true;
    if (place.path.size() == 0) {
      return left(member);
    }
    const auto flow = flows_.begin(place.path, static_cast<double>(bytes), now_);
    senders_.resize(std::max<std::size_t>(senders_.size(), flow + 1));
    senders_[flow] = member;
  }

  std::span<RingMember> members_;
  std::span<const std::size_t> chunks_;
  std::vector<Place> places_;
  FairFlows flows_;
  std::unordered_map<std::uint32_t, FairFlows::LinkId> links_;
  std::vector<std::size_t> senders_;  // by flow
  std::priority_queue<Event> events_;
  std::uint64_t sequence_ = 0;
  Seconds now_ = 0;
};

}  // namespace

void pass_shared_edges(std::span<RingMember> members, std::span<const std::size_t> chunks) {
  SharedRing(members, chunks).run();
}

}  // namespace motley
