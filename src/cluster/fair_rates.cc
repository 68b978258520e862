// FairFlows: which link is whose bottleneck, and the rates that follow.
#include <algorithm>
#include <functional>
#include <utility>

#include "cluster/fair_flows.h"

namespace motley {
namespace {

// Rates that differ by less than this part of themselves are equal: sums of rates are rounded.
constexpr double kSame = 1e-9;

bool above(double a, double b) { return a > b * (1 + kSame); }

}  // namespace

// Tells the other watched links of the flow's path that its rate has changed.
void FairFlows::count_in(const Flow& flow, double change) {
  for (const LinkId id : flow.path) {
    Link& link = links_[id];
    if (link.watched && !is_own(flow, id)) {
      link.foreign += change;
      link.fastest = std::max(link.fastest, level_of(flow));
      if (link.own > 0 || above(link.foreign, link.capacity)) {
        mark(id);
      }
    }
  }
}

bool FairFlows::crosses_other_watched(const Flow& flow) const {
  return std::any_of(flow.path.begin(), flow.path.end(),
                     [&](LinkId id) { return !is_own(flow, id) && links_[id].watched; });
}

// Lists the flow at its bottleneck if its rate matters to another link.
void FairFlows::couple(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.coupled_place == kNowhere && crosses_other_watched(flow)) {
    std::vector<FlowId>& list = links_[bottleneck_of(flow)].coupled;
    flow.coupled_place = static_cast<std::uint32_t>(list.size());
    list.push_back(id);
  }
}

void FairFlows::uncouple(Flow& flow) {
  if (flow.coupled_place != kNowhere) {
    std::vector<FlowId>& list = links_[bottleneck_of(flow)].coupled;
    const FlowId last = list.back();
    list[flow.coupled_place] = last;
    flows_[last].coupled_place = flow.coupled_place;
    list.pop_back();
    flow.coupled_place = kNowhere;
  }
}

void FairFlows::watch(LinkId id) {
  Link& link = links_[id];
  if (link.watched) {
    return;
  }
  link.watched = true;
  link.foreign = 0;
  link.fastest = 0;
  for (const FlowId each : link.flows) {
    const Flow& flow = flows_[each];
    if (!is_own(flow, id)) {
      link.foreign += current_rate(flow);
      link.fastest = std::max(link.fastest, level_of(flow));
      couple(each);
    }
  }
  mark(id);
}

// Called for a watched link without own flows that is not used up.
void FairFlows::stop_watching(LinkId id) {
  Link& link = links_[id];
  link.watched = false;
  const double share = link.capacity / link.weight;
  for (const FlowId each : link.flows) {
    Flow& flow = flows_[each];
    if (!crosses_other_watched(flow)) {
      uncouple(flow);
    }
    Link& bottleneck = links_[bottleneck_of(flow)];
    bottleneck.ceiling = std::min(bottleneck.ceiling, share);
  }
}

// Called for a link that is not watched when its flows or its capacity have changed.
void FairFlows::check_unwatched(LinkId id) {
  const Link& link = links_[id];
  const double share = link.capacity / link.weight;
  bool must_watch = link.flows.size() > kMostUnwatched;
  for (std::size_t i = 0; i < link.flows.size() && !must_watch; ++i) {
    Link& bottleneck = links_[bottleneck_of(flows_[link.flows[i]])];
    bottleneck.ceiling = std::min(bottleneck.ceiling, share);
    must_watch = above(bottleneck.level, share);
  }
  if (must_watch) {
    watch(id);
  }
}

void FairFlows::mark(LinkId link) {
  if (!links_[link].dirty) {
    links_[link].dirty = true;
    dirty_.push_back(link);
  }
}

// In the order of marking, so that a change spreads evenly: the slowest links come to rest first,
// then those that depend on them, and so on.
void FairFlows::compute_levels() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    const LinkId link = dirty_[i];
    compute_level(link);
    links_[link].dirty = false;
  }
  dirty_.clear();
}

void FairFlows::compute_level(LinkId id) {
  Link& link = links_[id];
  double level = fair_level(link);
  if (above(link.fastest, level)) {
    level = capture_fastest(id);
  }
  if (link.own > 0) {
    set_level(id, level);
    look_at_unwatched(id);
  } else if (link.watched && link.flows.size() <= kMostUnwatched &&
             !above(link.fastest * link.weight, link.capacity)) {
    stop_watching(id);
  }
  reschedule(id);
}

// What own flows get if the others keep their rates. Without own flows: how fast others may be.
double FairFlows::fair_level(const Link& link) {
  if (link.own > 0) {
    return (link.capacity - link.foreign) / link.own_weight;
  }
  return above(link.foreign, link.capacity) ? 0 : kNever;
}

// Flows that are faster than the own flows become own flows, the fastest first. Each of them raises
// the level, but not above its own rate.
double FairFlows::capture_fastest(LinkId id) {
  Link& link = links_[id];
  double level = fair_level(link);
  captured_.clear();
  double fastest_left = 0;
  for (const FlowId each : link.flows) {
    const Flow& flow = flows_[each];
    if (!is_own(flow, id)) {
      if (above(level_of(flow), level)) {
        captured_.push_back(each);
      } else {
        fastest_left = std::max(fastest_left, level_of(flow));
      }
    }
  }
  std::ranges::sort(captured_, std::greater{}, [&](FlowId each) {
    return std::pair(level_of(flows_[each]), flows_[each].number);
  });
  for (const FlowId each : captured_) {
    const double its_level = level_of(flows_[each]);
    if (above(its_level, level)) {
      capture(each, id);
      level = fair_level(link);
    } else {
      fastest_left = std::max(fastest_left, its_level);
    }
  }
  link.fastest = fastest_left;
  return level;
}

// Moves the flow from its bottleneck to this link.
void FairFlows::capture(FlowId id, LinkId to) {
  Flow& flow = flows_[id];
  Link& from = links_[bottleneck_of(flow)];
  serve(from);
  const double bytes = (flow.finish - from.served) * flow.weight;
  count_in(flow, -from.level * flow.weight);
  leave_bottleneck(flow);
  flow.bottleneck = static_cast<std::uint8_t>(index_of(flow, to));
  join(id, bytes);
  count_in(flow, links_[to].level * flow.weight);
  for (const LinkId link : flow.path) {
    tidy(link);
    lower_ceiling(flow, link);
  }
}

void FairFlows::lower_ceiling(const Flow& flow, LinkId id) {
  const Link& link = links_[id];
  if (!link.watched) {
    Link& bottleneck = links_[bottleneck_of(flow)];
    bottleneck.ceiling = std::min(bottleneck.ceiling, link.capacity / link.weight);
  }
}

void FairFlows::set_level(LinkId id, double level) {
  Link& link = links_[id];
  serve(link);
  const double change = level - link.level;
  link.level = level;
  if (change != 0) {
    for (const FlowId each : link.coupled) {
      count_in(flows_[each], change * flows_[each].weight);
    }
  }
}

// Begins to watch links that the own flows may use up at their new level.
void FairFlows::look_at_unwatched(LinkId id) {
  Link& link = links_[id];
  if (!above(link.level, link.ceiling)) {
    return;
  }
  link.ceiling = kNever;
  for (const FlowId each : link.flows) {
    if (is_own(flows_[each], id)) {
      look_at_unwatched_of(flows_[each]);
    }
  }
}

void FairFlows::look_at_unwatched_of(const Flow& flow) {
  for (const LinkId id : flow.path) {
    const Link& link = links_[id];
    if (!link.watched && above(level_of(flow), link.capacity / link.weight)) {
      watch(id);
    }
    lower_ceiling(flow, id);
  }
}

}  // namespace motley
