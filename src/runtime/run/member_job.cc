#include "runtime/run/member_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <type_traits>

#include "base/check.h"
#include "sync/registry.h"

namespace motley {
namespace {

constexpr double kBandwidth = 1.25e9;  // the default of cluster.bandwidth

class MemberJob {
 public:
  MemberJob(const Job& run, const std::vector<int>& ids, const std::vector<int>& servers)
      : run_(run), ids_(ids), servers_(servers_of_members(run, members(), servers)), job_(run) {
    const bool ascend = std::ranges::adjacent_find(ids, std::greater_equal{}) == ids.end();
    MOTLEY_CHECK(!ids.empty() && ascend && ids.front() >= 0, "{} ids are not ascending",
                 ids.size());
    find_new_machines();
  }

  Job make() {
    arrange_cluster();
    arrange_links();
    arrange_events();
    arrange_training();
    arrange_settings_of_methods();
    arrange_servers();
    const Method& method = method_of(run_);
    if (method.arrange) {
      method.arrange(job_, ids_);
    }
    return std::move(job_);
  }

 private:
  int members() const { return static_cast<int>(ids_.size()); }
  bool is_new(int id) const { return id >= run_.cluster.workers; }

  // A list by id -> a list by rank. A list that is not given stays empty.
  template <class T>
  std::vector<T> by_rank(const std::vector<T>& list, T newcomer) const {
    std::vector<T> ranks;
    for (const int id : ids_) {
      if (!list.empty()) {
        const auto place = static_cast<std::size_t>(id);
        ranks.push_back(place < list.size() ? list[place] : newcomer);
      }
    }
    return ranks;
  }
  // The value of a newcomer: that of all workers if they have the same one.
  template <class T>
  static T common_or(const std::vector<T>& list, T otherwise) {
    const bool is_common = std::ranges::adjacent_find(list, std::not_equal_to{}) == list.end();
    return is_common && !list.empty() ? list.front() : otherwise;
  }
  template <class T>
  void arrange(std::vector<T>& list, T newcomer) const {
    list = by_rank(list, common_or(list, newcomer));
  }

  void arrange_cluster() {
    ClusterSpec& cluster = job_.cluster;
    cluster.workers = members();
    cluster.min_workers = std::min(cluster.min_workers, cluster.workers);
    cluster.churn.reset();
    cluster.speeds = by_rank(cluster.speeds, 1.0);
    arrange(cluster.overhead, Seconds{0});
    std::vector<int> hosts;
    std::ranges::transform(ids_, std::back_inserter(hosts), [&](int id) { return machine_of(id); });
    // Where the machines of servers count as those of workers, worker i is on machine i no longer.
    const bool are_needed = !run_.cluster.hosts.empty() || !run_.cluster.server_hosts.empty();
    std::vector<int> if_not_given(ids_.size());
    std::iota(if_not_given.begin(), if_not_given.end(), 0);
    const bool are_default = run_.cluster.hosts.empty() && hosts == if_not_given;
    cluster.hosts = are_needed && !are_default ? hosts : std::vector<int>{};
  }

  // Every newcomer is alone on a machine; its number does not depend on who else is a member.
  void find_new_machines() {
    const ClusterSpec& cluster = run_.cluster;
    std::set<int> taken(cluster.hosts.begin(), cluster.hosts.end());
    taken.insert(cluster.server_hosts.begin(), cluster.server_hosts.end());
    int next = cluster.hosts.empty() ? cluster.workers : 0;
    for (int id = cluster.workers; id <= ids_.back(); ++id, ++next) {
      while (taken.contains(next)) {
        ++next;
      }
      new_machines_.push_back(next);
    }
  }
  int machine_of(int id) const {
    if (is_new(id)) {
      return new_machines_[static_cast<std::size_t>(id - run_.cluster.workers)];
    }
    return run_.cluster.hosts.empty() ? id : run_.cluster.hosts[static_cast<std::size_t>(id)];
  }

  void arrange_links() {
    ClusterSpec& cluster = job_.cluster;
    arrange(cluster.bandwidth, kBandwidth);
    arrange(cluster.bandwidth_up, kBandwidth);
    arrange(cluster.bandwidth_down, kBandwidth);
    const Latency& latency = run_.cluster.latency;
    const Seconds otherwise = ClusterSpec{}.latency.values().front();
    if (latency.form() == Latency::Form::kPerWorker) {
      std::vector<Seconds> values(latency.values().begin(), latency.values().end());
      arrange(values, otherwise);
      cluster.latency = Latency::per_worker(std::move(values));
    } else if (latency.form() == Latency::Form::kMatrix) {
      std::vector<Seconds> values;
      for (const int from : ids_) {
        for (const int to : ids_) {
          values.push_back(is_new(from) || is_new(to) ? otherwise : latency.between(from, to));
        }
      }
      cluster.latency = Latency::matrix(members(), std::move(values));
    }
  }

  std::optional<Rank> rank_of(int id) const {
    const auto found = std::ranges::lower_bound(ids_, id);
    return found != ids_.end() && *found == id
               ? std::optional(static_cast<Rank>(found - ids_.begin()))
               : std::nullopt;
  }
  // A member on the same machine, whose link is the same one.
  std::optional<Rank> neighbour_of(int id) const {
    const auto found =
        std::ranges::find_if(ids_, [&](int other) { return machine_of(other) == machine_of(id); });
    return found != ids_.end() ? std::optional(static_cast<Rank>(found - ids_.begin()))
                               : std::nullopt;
  }

  void arrange_events() {
    job_.cluster.events.clear();
    for (ClusterEvent event : run_.cluster.events) {
      if (concerns_members(event.kind)) {
        continue;
      }
      std::optional<Rank> rank = rank_of(event.worker);
      if (!rank && event.kind != EventKind::kSpeed) {
        rank = neighbour_of(event.worker);
      }
      if (rank) {
        event.worker = *rank;
        job_.cluster.events.push_back(event);
      }
    }
  }

  void arrange_training() {
    // Nothing is known of a newcomer's memory: the smallest of the others is safe.
    auto& micro_batch = job_.train.micro_batch;
    arrange(micro_batch, micro_batch.empty() ? 0 : std::ranges::min(micro_batch));
    auto& shares = job_.strategy.shares;
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    arrange(shares, shares.empty() ? 1 : sum / static_cast<double>(shares.size()));
  }

  // Keys of methods that have one value per worker.
  void arrange_settings_of_methods() {
    for (const Key<Job>& key : job_schema().keys()) {
      const auto* rule = std::get_if<PerWorker>(&key.rule);
      if (rule && !key.method.empty()) {
        std::visit([&](auto place) { arrange_setting(place, *rule); }, key.place);
      }
    }
  }
  template <class Place>
  void arrange_setting(Place place, const PerWorker& rule) {
    if constexpr (std::is_same_v<Place, std::vector<double>& (*)(Job&)> ||
                  std::is_same_v<Place, std::vector<std::int64_t>& (*)(Job&)>) {
      auto& list = place(job_);
      using Number = typename std::remove_cvref_t<decltype(list)>::value_type;
      if (!list.empty()) {
        arrange(list,
                rule.otherwise ? static_cast<Number>(*rule.otherwise) : std::ranges::min(list));
      }
    }
  }

  void arrange_servers() {
    if (servers_of(run_) == 0) {
      return;
    }
    job_.strategy.ps.servers = static_cast<int>(servers_.size());
    const auto& hosts = run_.cluster.server_hosts;
    job_.cluster.server_hosts.clear();
    for (const int id : servers_) {
      if (!hosts.empty()) {
        job_.cluster.server_hosts.push_back(hosts.at(static_cast<std::size_t>(id)));
      }
    }
  }

  const Job& run_;
  const std::vector<int>& ids_;
  const std::vector<int> servers_;
  Job job_;
  std::vector<int> new_machines_;  // of ids from run_.cluster.workers
};

}  // namespace

std::vector<int> all_servers(const Job& run) {
  std::vector<int> servers(static_cast<std::size_t>(servers_of(run)));
  std::iota(servers.begin(), servers.end(), 0);
  return servers;
}

std::vector<int> servers_of_members(const Job& run, int workers, const std::vector<int>& servers) {
  const int most = std::min(workers, servers_of(run));
  return {servers.begin(), servers.begin() + std::min<std::ptrdiff_t>(most, std::ssize(servers))};
}

Job job_of_members(const Job& run, const std::vector<int>& ids, const std::vector<int>& servers) {
  return MemberJob(run, ids, servers).make();
}

Job job_of_members(const Job& run, const std::vector<int>& ids) {
  return job_of_members(run, ids, all_servers(run));
}

std::optional<std::string> refusal_of_members(const Job& run, const std::vector<int>& ids) {
  return refusal_of_members(run, ids, all_servers(run));
}

std::optional<std::string> refusal_of_members(const Job& run, const std::vector<int>& ids,
                                              const std::vector<int>& servers) {
  if (servers_of(run) > 0 && servers.empty()) {
    return "no server is left";
  }
  if (run.train.batch < std::ssize(ids)) {
    return fmt::format("train.batch is {}, which is too few samples for {} workers",
                       run.train.batch, ids.size());
  }
  const auto check = method_of(run).schema.check;
  const Checked problem =
      check ? check(job_of_members(run, ids, servers), [](std::string_view) { return false; })
            : std::nullopt;
  return problem ? std::optional(problem->message) : std::nullopt;
}

}  // namespace motley
