#include "cluster/fair_flows.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace motley {
namespace {

// The order of a heap whose first element ends first.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.finish != b.finish ? a.finish > b.finish : a.number > b.number;
};

}  // namespace

FairFlows::LinkId FairFlows::add(double capacity) {
  MOTLEY_CHECK(capacity > 0, "a link of {} bytes per second", capacity);
  links_.emplace_back().capacity = capacity;
  return static_cast<LinkId>(links_.size() - 1);
}

void FairFlows::change(LinkId link, double capacity, Seconds now) {
  MOTLEY_CHECK(capacity > 0, "a link of {} bytes per second", capacity);
  move_to(now);
  end_being_alone(link);
  links_[link].capacity = capacity;
  if (links_[link].watched) {
    mark(link);
  } else {
    check_unwatched(link);
  }
}

void FairFlows::move_to(Seconds now) {
  MOTLEY_CHECK(now >= now_, "time went back from {} to {}", now_, now);
  if (now > now_) {
    settle();
    now_ = now;
  }
}

FairFlows::FlowId FairFlows::begin(const Path& path, double bytes, Seconds now, double weight) {
  move_to(now);
  const FlowId id = new_flow(path, weight);
  if (is_alone_on(path)) {
    add_to_lists(id);
    begin_alone(id, bytes);
  } else {
    for (const LinkId link : path) {
      end_being_alone(link);
    }
    add_to_lists(id);
    begin_among_others(id, bytes);
  }
  return id;
}

bool FairFlows::is_alone_on(const Path& path) const {
  return std::all_of(path.begin(), path.end(),
                     [&](LinkId link) { return links_[link].flows.empty(); });
}

bool FairFlows::has_flow_alone(LinkId link) const {
  const std::vector<FlowId>& list = links_[link].flows;
  return !list.empty() && flows_[list.front()].alone;
}

double FairFlows::least_capacity(const Flow& flow) const {
  double least = kNever;
  for (const LinkId link : flow.path) {
    least = std::min(least, links_[link].capacity);
  }
  return least;
}

void FairFlows::begin_alone(FlowId id, double bytes) {
  Flow& flow = flows_[id];
  flow.alone = true;
  flow.finish = now_ + bytes / least_capacity(flow);
  for (const LinkId link : flow.path) {
    schedule_.erase(link);  // of flows that have ended
  }
  schedule_.set(flow.path[0], {flow.finish, flow.number});
}

// If there is a flow that was alone on the link, it gets a bottleneck.
void FairFlows::end_being_alone(LinkId link) {
  if (!has_flow_alone(link)) {
    return;
  }
  const FlowId id = links_[link].flows.front();
  Flow& flow = flows_[id];
  flow.alone = false;
  schedule_.erase(flow.path[0]);
  begin_among_others(id, (flow.finish - now_) * least_capacity(flow));
}

void FairFlows::begin_among_others(FlowId id, double bytes) {
  Flow& flow = flows_[id];
  choose_bottleneck(flow);
  join(id, bytes);
  count_in(flow, current_rate(flow));
  for (const LinkId link : flow.path) {
    if (!links_[link].watched) {
      check_unwatched(link);
    }
  }
}

void FairFlows::add_to_lists(FlowId id) {
  Flow& flow = flows_[id];
  for (std::size_t i = 0; i < flow.path.size(); ++i) {
    std::vector<FlowId>& list = links_[flow.path[i]].flows;
    flow.place[i] = static_cast<std::uint32_t>(list.size());
    list.push_back(id);
    links_[flow.path[i]].weight += flow.weight;
  }
}

void FairFlows::remove_from_lists(const Flow& flow) {
  for (std::size_t i = 0; i < flow.path.size(); ++i) {
    std::vector<FlowId>& list = links_[flow.path[i]].flows;
    const FlowId last = list.back();
    list[flow.place[i]] = last;
    list.pop_back();
    Link& link = links_[flow.path[i]];
    link.weight = list.empty() ? 0 : link.weight - flow.weight;
    Flow& moved = flows_[last];
    moved.place[index_of(moved, flow.path[i])] = flow.place[i];
  }
}

FairFlows::FlowId FairFlows::new_flow(const Path& path, double weight) {
  FlowId id = static_cast<FlowId>(flows_.size());
  if (unused_.empty()) {
    flows_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  flows_[id].path = path;
  flows_[id].weight = weight;
  flows_[id].number = ++numbered_;
  return id;
}

void FairFlows::choose_bottleneck(Flow& flow) const {
  double least = kNever;
  for (std::size_t i = 0; i < flow.path.size(); ++i) {
    const double level = likely_level(links_[flow.path[i]], flow.weight);
    if (level < least) {
      least = level;
      flow.bottleneck = static_cast<std::uint8_t>(i);
    }
  }
}

// What a flow that has just been added to the list gets there. A guess: any link is right to begin
// with.
double FairFlows::likely_level(const Link& link, double weight) {
  const double equal = link.capacity / link.weight;
  const double rest = (link.capacity - link.foreign) / (link.own_weight + weight);
  return link.watched ? std::max(equal, rest) : equal;
}

void FairFlows::cancel(FlowId flow, Seconds now) {
  move_to(now);
  remove(flow);
}

// Makes the flow an own flow of its bottleneck, with `bytes` to go.
void FairFlows::join(FlowId id, double bytes) {
  Flow& flow = flows_[id];
  const LinkId link_id = bottleneck_of(flow);
  watch(link_id);
  Link& link = links_[link_id];
  serve(link);
  ++link.own;
  link.own_weight += flow.weight;
  flow.finish = link.served + bytes / flow.weight;
  link.ends.push_back({flow.finish, flow.number, id});
  std::push_heap(link.ends.begin(), link.ends.end(), kLater);
  couple(id);
  mark(link_id);
}

void FairFlows::remove(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.alone) {
    schedule_.erase(flow.path[0]);
    flow.alone = false;
  } else {
    count_in(flow, -current_rate(flow));
    leave_bottleneck(flow);
  }
  flow.number = 0;
  remove_from_lists(flow);
  for (const LinkId link : flow.path) {
    tidy(link);
  }
  unused_.push_back(id);
}

std::size_t FairFlows::index_of(const Flow& flow, LinkId link) {
  std::size_t i = 0;
  while (flow.path[i] != link) {
    ++i;
  }
  return i;
}

// The flow's End becomes stale.
void FairFlows::leave_bottleneck(Flow& flow) {
  const LinkId id = bottleneck_of(flow);
  Link& link = links_[id];
  uncouple(flow);
  link.own_weight -= flow.weight;
  if (--link.own == 0) {
    link.own_weight = 0;
    link.level = 0;
    link.served = 0;
    link.ceiling = kNever;
    link.ends.clear();
  }
  mark(id);
}

// Rounding errors of `foreign` end with the last flow that is counted in it.
void FairFlows::tidy(LinkId id) {
  Link& link = links_[id];
  if (link.flows.size() == link.own) {
    link.foreign = 0;
    link.fastest = 0;
    link.watched = link.own > 0;
  }
}

// Brings the count of served bytes up to date.
void FairFlows::serve(Link& link) const {
  link.served += link.level * (now_ - link.since);
  link.since = now_;
}

bool FairFlows::is_stale(const End& end, LinkId link) const {
  const Flow& flow = flows_[end.flow];
  return flow.number != end.number || !is_own(flow, link) || flow.finish != end.finish;
}

void FairFlows::drop_stale(LinkId id) {
  std::vector<End>& ends = links_[id].ends;
  while (!ends.empty() && is_stale(ends.front(), id)) {
    std::pop_heap(ends.begin(), ends.end(), kLater);
    ends.pop_back();
  }
}

// Puts the link where it belongs in the heap.
void FairFlows::reschedule(LinkId id) {
  if (has_flow_alone(id)) {
    return;  // it is in the schedule already
  }
  Link& link = links_[id];
  drop_stale(id);
  if (link.ends.empty()) {
    schedule_.erase(id);
    return;
  }
  serve(link);
  schedule_.set(id, {first_end(link), link.ends.front().number});
}

Seconds FairFlows::next_end() {
  settle();
  if (schedule_.empty()) {
    return kNever;
  }
  return schedule_.first_key().at;
}

double FairFlows::rate(FlowId flow) {
  settle();
  return flows_[flow].alone ? least_capacity(flows_[flow]) : current_rate(flows_[flow]);
}

std::optional<FairFlows::FlowId> FairFlows::take_ended(Seconds now) {
  move_to(now);
  while (!schedule_.empty() && schedule_.first_key().at <= now + precision()) {
    const LinkId id = schedule_.first();
    if (const auto ended = first_ended(id)) {
      remove(*ended);
      return ended;
    }
    reschedule(id);
  }
  return std::nullopt;
}

// The first flow of a link whose time has come, provided that it has ended.
std::optional<FairFlows::FlowId> FairFlows::first_ended(LinkId id) {
  if (has_flow_alone(id)) {
    return links_[id].flows.front();
  }
  Link& link = links_[id];
  serve(link);
  drop_stale(id);
  const bool ended = !link.ends.empty() && first_end(link) <= now_ + precision();
  return ended ? std::optional(link.ends.front().flow) : std::nullopt;
}

// Call after serve().
Seconds FairFlows::first_end(const Link& link) const {
  return now_ + std::max(0.0, link.ends.front().finish - link.served) / link.level;
}

// Flows that end within the precision of the clock end together, in one event.
Seconds FairFlows::precision() const {
  constexpr Seconds kTick = 1e-12;
  constexpr double kRounding = 4 * std::numeric_limits<Seconds>::epsilon();
  return std::max(kTick, kRounding * now_);
}

}  // namespace motley
