// FairFlows: transfers that share links as long-lived connections do: max-min fairly. Pure: no
// clock, no messages.
//
//   FairFlows flows;
//   const auto up = flows.add(1.25e9), down = flows.add(1.25e8);
//   flows.begin({up, down}, 4e6, now);
//   const Seconds then = flows.next_end();          // kNever: nothing is under way
//   while (const auto ended = flows.take_ended(then)) { ... }
//
// Max-min fair: no flow can go faster without slowing one that is not faster than itself. So every
// flow has a bottleneck: a link on its path that is used up, on which no flow is faster. Rates
// change only when a flow begins or ends, or a link changes. A flow may have a weight: all this
// holds for rates divided by weights, so that it gets twice the share with a weight of 2.
//
// How it is fast. Flows with the same bottleneck have the same rate per weight, the link's `level`.
// A link counts the bytes per weight that each of them has been served, so a change of its level
// changes one number and not one for every flow. A link that begins or loses a flow computes its
// level again; only if that affects flows whose bottleneck is elsewhere, those links do too, until
// all agree (the distributed algorithm of Charny et al., 1995). A link that cannot be used up,
// because each of its n flows has at most 1/n of it for other reasons, is not looked at.
//
// A flow that is alone on all of its links needs none of this until another one joins it.
//
// Cost: a flow alone on its links takes 50 ns. Otherwise it is mostly logarithmic in the flows of
// its bottleneck, and linear in them where two busy links affect each other.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/indexed_heap.h"
#include "motley/base/ids.h"

namespace motley {

class FairFlows {
 public:
  using LinkId = std::uint32_t;
  using FlowId = std::uint32_t;
  static constexpr std::size_t kMostLinks = 3;  // on a path
  static constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

  // The links that a flow crosses, each once; at least one.
  class Path {
   public:
    Path() = default;
    Path(std::initializer_list<LinkId> links) {
      for (const LinkId link : links) {
        add(link);
      }
    }
    void add(LinkId link) { links_[size_++] = link; }
    std::size_t size() const { return size_; }
    LinkId operator[](std::size_t i) const { return links_[i]; }
    const LinkId* begin() const { return links_.data(); }
    const LinkId* end() const { return links_.data() + size_; }

   private:
    std::array<LinkId, kMostLinks> links_{};
    std::size_t size_ = 0;
  };

  // A link with a capacity in bytes per second.
  LinkId add(double capacity);
  double capacity(LinkId link) const { return links_[link].capacity; }
  void change(LinkId link, double capacity, Seconds now);

  // `now` never goes back, and never past next_end(). Ids of ended flows are used again.
  FlowId begin(const Path& path, double bytes, Seconds now, double weight = 1);
  void cancel(FlowId flow, Seconds now);

  // When the next flow ends, provided that none begins before.
  Seconds next_end();
  // Removes one of the flows that have ended by `now`, in the order of their ends.
  std::optional<FlowId> take_ended(Seconds now);

  // The flows that cross a link, in no particular order.
  const std::vector<FlowId>& flows_on(LinkId link) const { return links_[link].flows; }
  bool is_under_way(FlowId flow) const { return flows_[flow].number > 0; }
  // Bytes per second.
  double rate(FlowId flow);

 private:
  static constexpr std::uint32_t kNowhere = ~0U;
  // A link with more flows than this is always watched.
  static constexpr std::size_t kMostUnwatched = 64;

  struct Flow {
    Path path;
    std::array<std::uint32_t, kMostLinks> place{};  // in `flows` of each link
    std::uint8_t bottleneck = 0;                    // index in path
    bool alone = false;                             // on all of its links; has no bottleneck
    std::uint32_t coupled_place = kNowhere;         // in `coupled` of its bottleneck
    double weight = 1;
    double finish = 0;  // it ends when its bottleneck has served this; if alone: at this time
    std::uint64_t number = 0;  // in the order of beginning; 0: unused
  };
  // When a flow ends, in bytes served by its bottleneck.
  struct End {
    double finish;
    std::uint64_t number;
    FlowId flow;
  };
  struct Link {
    double capacity = 0;
    double level = 0;   // of its own flows: those whose bottleneck it is; 0 if none
    double served = 0;  // per weight, to an own flow that was there all the time, until `since`
    Seconds since = 0;
    std::uint32_t own = 0;
    double own_weight = 0;        // of own flows
    double weight = 0;            // of all flows
    bool watched = false;         // `foreign` and `fastest` are kept up to date; always if own > 0
    bool dirty = false;           // its level has to be computed again
    double foreign = 0;           // sum of the rates of its other flows
    double fastest = 0;           // none of these is faster, per weight
    double ceiling = kNever;      // up to this level, no unwatched link is used up by an own flow
    std::vector<FlowId> flows;    // all that cross it
    std::vector<FlowId> coupled;  // own flows that cross another watched link
    std::vector<End> ends;        // of own flows: a heap; may hold stale ends
  };
  // When the first own flow of a link ends; flows that end together do so in the order of
  // beginning.
  struct FirstEnd {
    Seconds at;
    std::uint64_t number;
    friend bool operator<(const FirstEnd& a, const FirstEnd& b) {
      return a.at != b.at ? a.at < b.at : a.number < b.number;
    }
  };

  static std::size_t index_of(const Flow& flow, LinkId link);
  LinkId bottleneck_of(const Flow& flow) const { return flow.path[flow.bottleneck]; }
  double level_of(const Flow& flow) const { return links_[bottleneck_of(flow)].level; }
  double current_rate(const Flow& flow) const { return level_of(flow) * flow.weight; }
  bool is_own(const Flow& flow, LinkId link) const { return bottleneck_of(flow) == link; }
  bool has_flow_alone(LinkId link) const;
  bool is_alone_on(const Path& path) const;
  double least_capacity(const Flow& flow) const;
  void move_to(Seconds now);

  FlowId new_flow(const Path& path, double weight);
  void begin_alone(FlowId id, double bytes);
  void begin_among_others(FlowId id, double bytes);
  void end_being_alone(LinkId link);
  void add_to_lists(FlowId id);
  void remove_from_lists(const Flow& flow);
  void choose_bottleneck(Flow& flow) const;
  static double likely_level(const Link& link, double weight);
  void join(FlowId id, double bytes);
  void leave_bottleneck(Flow& flow);
  void remove(FlowId id);
  void tidy(LinkId id);

  void watch(LinkId id);
  void stop_watching(LinkId id);
  void check_unwatched(LinkId id);
  void look_at_unwatched(LinkId id);
  void look_at_unwatched_of(const Flow& flow);
  void lower_ceiling(const Flow& flow, LinkId id);
  void couple(FlowId id);
  void uncouple(Flow& flow);
  bool crosses_other_watched(const Flow& flow) const;

  void mark(LinkId link);
  void settle() {
    if (!dirty_.empty()) {
      compute_levels();
    }
  }
  void compute_levels();
  void compute_level(LinkId id);
  static double fair_level(const Link& link);
  double capture_fastest(LinkId id);
  void capture(FlowId id, LinkId to);
  void set_level(LinkId id, double level);
  void count_in(const Flow& flow, double change);

  void serve(Link& link) const;
  bool is_stale(const End& end, LinkId link) const;
  void drop_stale(LinkId id);
  void reschedule(LinkId id);
  std::optional<FlowId> first_ended(LinkId id);
  Seconds first_end(const Link& link) const;
  Seconds precision() const;

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<FlowId> unused_;
  std::vector<LinkId> dirty_;
  IndexedHeap<FirstEnd> schedule_;  // of links with own flows
  std::vector<FlowId> captured_;    // only used in capture_fastest()
  std::uint64_t numbered_ = 0;
  Seconds now_ = 0;
};

}  // namespace motley
