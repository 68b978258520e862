#include "sync/partial_reduce/controller.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::string_view kBridge = "connects parts of the cluster that would drift apart";
constexpr std::string_view kNobodyElse = "nobody else will come";
constexpr std::string_view kEndOfTerm = "all have done their part";

}  // namespace

Controller::Controller(const GroupRules& rules, std::unique_ptr<GroupPolicy> policy)
    : rules_(rules),
      policy_(policy ? std::move(policy)
                     : std::make_unique<CountPolicy>(static_cast<std::size_t>(rules.group))),
      iteration_of_(static_cast<std::size_t>(rules.workers), 0),
      pulse_of_(iteration_of_.size()),
      waits_(iteration_of_.size(), false),
      graph_(rules.workers) {
  MOTLEY_CHECK(rules.group >= 2 && rules.group <= std::max(rules.workers, 2),
               "groups of {} among {} workers", rules.group, rules.workers);
  MOTLEY_CHECK(rules.window * (rules.group - 1) >= rules.workers - 1,
               "a window of {} groups is too short", rules.window);
}

void Controller::ready(Rank worker, std::int64_t iteration, Seconds now) {
  note(worker, iteration, now);
  queue_.push_back({worker, iteration});
}

void Controller::finished(Rank worker, std::int64_t iteration, Seconds now) {
  note(worker, iteration, now);
  finished_.push_back({worker, iteration});
}

void Controller::note(Rank worker, std::int64_t iteration, Seconds now) {
  MOTLEY_CHECK(!is_waiting(worker), "worker {} is ready twice", worker);
  waits_[static_cast<std::size_t>(worker)] = true;
  iteration_of_[static_cast<std::size_t>(worker)] = iteration;
  if (iteration > newest_) {  // otherwise no gap has grown
    newest_ = iteration;
    const std::int64_t gap = newest_ - std::ranges::min(iteration_of_);
    statistics_.largest_gap = std::max(statistics_.largest_gap, gap);
  }
  Pulse& pulse = pulse_of_[static_cast<std::size_t>(worker)];
  const Seconds before = std::exchange(pulse.last, now);
  pulse.period = before == Pulse::kUnknown ? pulse.period : now - before;
}

bool Controller::is_waiting(Rank worker) const { return waits_[static_cast<std::size_t>(worker)]; }

std::size_t Controller::still_to_come() const {
  return iteration_of_.size() - queue_.size() - finished_.size();
}

ReadyQueue Controller::ready_queue() const {
  const Pulse& first = pulse_of_[static_cast<std::size_t>(queue_.front().worker)];
  return {queue_.size(), still_to_come(), first.last, first.period};
}

std::optional<Group> Controller::next_group(Seconds now) {
  now_ = now;
  patience_until_ = kForever;
  if (finished_.size() == iteration_of_.size()) {
    return last_group();
  }
  const std::size_t size = queue_.empty() ? 0 : policy_->size_now(ready_queue(), now);
  if (size == 0) {
    patience_until_ = queue_.empty() ? kForever : policy_->ask_again(ready_queue());
    return std::nullopt;
  }
  const Demand demand = demand_of_filter();
  std::vector<std::size_t> places;
  if (has_parts(demand)) {
    places = choose(size, demand);
  }
  const bool is_met = places.size() == size;
  if (!is_met && still_to_come() > 0 && is_worth_waiting(demand)) {
    patience_until_ = demand.strict ? kForever : end_of_patience();
    return std::nullopt;
  }
  if (!is_met) {
    places = choose(size, {});
  }
  const bool is_cut_short = still_to_come() == 0 && size < static_cast<std::size_t>(rules_.group);
  const std::string_view usual = is_cut_short ? kNobodyElse : policy_->reason();
  Group group = group_of(take(places), is_met && demand.parts > 1 ? kBridge : usual);
  if (rules_.weighting != Weighting::kConstant) {
    go_on_from_newest(group);
  }
  policy_->left(group.members.size());
  count(group);
  return group;
}

// Strict: the groups of a whole window must connect all workers. Not strict: if the last half
// window does not connect them, groups that connect parts are preferred, while there is still a
// choice of who waits for whom.
Controller::Demand Controller::demand_of_filter() const {
  if (!rules_.filter || !finished_.empty()) {
    return {};  // the end of the term is near, where all wait for all
  }
  const std::int64_t groups_left = std::max<std::int64_t>(rules_.window - graph_.groups() - 1, 0);
  const std::int64_t allowed = 1 + groups_left * (rules_.group - 1);
  const std::int64_t parts = graph_.components(rules_.window - 1) - allowed + 1;
  if (parts > 1) {
    const auto most = static_cast<std::int64_t>(policy_->largest());
    return {.parts = static_cast<int>(std::min(parts, most)),
            .window = rules_.window - 1,
            .strict = true};
  }
  const std::int64_t half = rules_.window / 2;
  if (graph_.groups() < half || graph_.components(half) == 1) {
    return {};
  }
  return {.parts = 2, .window = half, .strict = false};
}

bool Controller::has_parts(const Demand& demand) {
  if (demand.parts <= 1) {
    return true;
  }
  if (seen_.groups != graph_.groups() || seen_.window != demand.window) {
    seen_ = {graph_.groups(), demand.window, 0, {}};
  }
  const auto wanted = static_cast<std::size_t>(demand.parts);
  for (; seen_.places < queue_.size() && seen_.components.size() < wanted; ++seen_.places) {
    seen_.components.insert(graph_.component_of(queue_[seen_.places].worker, demand.window));
  }
  return seen_.components.size() >= wanted;
}

// If the demand is not strict, workers of the single largest part do not wait. Others wait only if
// a worker of another part is about to be ready, predicted from the times of its last signals.
bool Controller::is_worth_waiting(const Demand& demand) {
  if (demand.strict) {
    return true;
  }
  const Parts& parts = parts_of(demand.window);
  const Rank own = parts.component_of[static_cast<std::size_t>(queue_.front().worker)];
  const int own_size = parts.size_of[static_cast<std::size_t>(own)];
  if (own_size == parts.largest && parts.second < parts.largest) {
    return false;
  }
  const Seconds patience = end_of_patience() - now_;
  for (std::size_t worker = 0; worker < pulse_of_.size(); ++worker) {
    // A worker that is late by t seconds is assumed to need about t seconds more.
    const Seconds wait = std::abs(pulse_of_[worker].last + pulse_of_[worker].period - now_);
    if (wait < patience && parts.component_of[worker] != own) {
      return true;
    }
  }
  return false;
}

const Controller::Parts& Controller::parts_of(std::int64_t window) {
  if (parts_.groups == graph_.groups() && parts_.window == window) {
    return parts_;
  }
  parts_ = {.groups = graph_.groups(),
            .window = window,
            .component_of = graph_.component_of_each(window),
            .size_of = std::vector<int>(pulse_of_.size(), 0)};
  for (const Rank component : parts_.component_of) {
    ++parts_.size_of[static_cast<std::size_t>(component)];
  }
  for (const int size : parts_.size_of) {
    parts_.second = std::max(parts_.second, std::min(size, parts_.largest));
    parts_.largest = std::max(parts_.largest, size);
  }
  return parts_;
}

// The first worker in the queue waits for at most a quarter of its own period.
Seconds Controller::end_of_patience() const {
  constexpr double kLongestWait = 0.25;
  const Pulse& pulse = pulse_of_[static_cast<std::size_t>(queue_.front().worker)];
  return pulse.last + kLongestWait * pulse.period;
}

// The places in the queue, earliest first, of `size` workers from as many components as required;
// fewer places if the waiting workers cannot form such a group.
std::vector<std::size_t> Controller::choose(std::size_t size, const Demand& demand) {
  std::vector<std::size_t> places;
  std::set<Rank> components;
  for (std::size_t i = 0; i < queue_.size() && places.size() < size; ++i) {
    // Keep enough places free for the parts that are still missing.
    const int missing = std::max(demand.parts - static_cast<int>(components.size()), 0);
    const bool is_room = size - places.size() > static_cast<std::size_t>(missing);
    const bool is_missing =
        demand.parts > 1 &&
        components.insert(graph_.component_of(queue_[i].worker, demand.window)).second;
    if (is_missing || is_room) {
      places.push_back(i);
    }
  }
  return places;
}

Controller::Queue Controller::take(const std::vector<std::size_t>& places) {
  Queue taken;
  for (const std::size_t place : places) {
    taken.push_back(std::exchange(queue_[place], {kAnyRank, 0}));
  }
  std::erase_if(queue_, [](const Ready& each) { return each.worker == kAnyRank; });
  return taken;
}

Group Controller::group_of(Queue members, std::string_view reason) {
  std::ranges::sort(members, {}, &Ready::worker);
  Group group;
  group.reason = reason;
  for (const Ready& member : members) {
    waits_[static_cast<std::size_t>(member.worker)] = false;
    group.members.push_back(member.worker);
    group.iterations.push_back(member.iteration);
  }
  group.weights = group_weights(rules_.weighting, rules_.alpha, group.iterations);
  const std::int64_t newest = std::ranges::max(group.iterations);
  for (const std::int64_t iteration : group.iterations) {
    group.staleness.push_back(newest - iteration);
  }
  return group;
}

void Controller::go_on_from_newest(Group& group) {
  const std::int64_t newest = std::ranges::max(group.iterations);
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    group.iterations[i] = newest;
    iteration_of_[static_cast<std::size_t>(group.members[i])] = newest;
  }
}

// Its members average only if the run is over, so nobody's iteration changes.
Group Controller::last_group() {
  Group group = group_of(std::exchange(finished_, {}), kEndOfTerm);
  group.last = true;
  return group;
}

void GroupStatistics::state(Archive& archive) {
  archive("groups", groups);
  archive("members", members);
  archive("bridges", bridges);
  archive("staleness", staleness);
  archive("largest_staleness", largest_staleness);
  archive("staleness_counts", staleness_counts);
  archive("largest_gap", largest_gap);
  archive("longest_window", longest_window);
}

void Controller::state(Archive& archive) {
  archive("iterations", iteration_of_);
  archive("newest", newest_);
  archive("pulses", pulse_of_);
  archive("graph", graph_);
  archive("ever_connected", ever_connected_);
  archive("longest_window", longest_window_);
  archive("statistics", statistics_);
  archive("policy", *policy_);
}

std::int64_t Controller::fit(State& controller, const MemberChange& members) {
  const auto iterations = saved_value<std::vector<std::int64_t>>(controller, "iterations");
  std::int64_t newest = 0;
  for (const std::optional<Rank>& rank : members.previous) {
    newest = rank ? std::max(newest, iterations.at(static_cast<std::size_t>(*rank))) : newest;
  }
  save_value(controller, "iterations", members.arranged(iterations, newest));
  save_value(controller, "newest", newest);
  const auto pulses = saved_value<std::vector<Pulse>>(controller, "pulses");
  save_value(controller, "pulses", members.arranged(pulses, Pulse{}));
  if (members.changed()) {
    save_value(controller, "graph", SyncGraph(members.now()));
    save_value(controller, "ever_connected", false);
  }
  return newest;
}

void Controller::count(const Group& group) {
  statistics_.groups += 1;
  statistics_.members += static_cast<std::int64_t>(group.members.size());
  statistics_.bridges += group.reason == kBridge ? 1 : 0;
  for (const std::int64_t staleness : group.staleness) {
    statistics_.staleness += staleness;
    statistics_.largest_staleness = std::max(statistics_.largest_staleness, staleness);
    const auto place = static_cast<std::size_t>(std::min(staleness, GroupStatistics::kStalest));
    statistics_.staleness_counts.resize(std::max(statistics_.staleness_counts.size(), place + 1));
    ++statistics_.staleness_counts[place];
  }
  graph_.add(group.members);
  if (finished_.empty()) {
    track_connection();
  }
}

// Until all workers are connected for the first time, the window is all groups so far.
void Controller::track_connection() {
  const std::optional<std::int64_t> within = graph_.connected_within();
  const std::int64_t length = ever_connected_ ? *within : graph_.groups();
  longest_window_ = std::max(longest_window_, length);
  ever_connected_ = ever_connected_ || within.has_value();
  if (ever_connected_) {
    statistics_.longest_window = longest_window_;
  }
}

}  // namespace motley
