#include "runtime/calibrate/measured_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace motley {
namespace {

constexpr double kSameBandwidth = 1.1;  // values that differ by less are reported as one
constexpr double kSameLatency = 1.3;
// Smaller differences come from threads that wake sooner or later, not from the links.
constexpr Seconds kSmallLatency = 1e-4;
constexpr double kUnlimitedBackbone = 1e15;  // the largest that a job can have
constexpr double kShared = 0.85;             // of what the links allow: something else limits them

bool same_latency(Seconds low, Seconds high) {
  return high <= kSameLatency * low || high - low <= kSmallLatency;
}

bool nearly_equal(const std::vector<double>& values, double factor) {
  const auto [low, high] = std::ranges::minmax(values);
  return high <= factor * low;
}

double middle(std::vector<double> values) {
  const auto half = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, half);
  return *half;
}

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string list(const std::vector<double>& values) {
  return fmt::format("[{:.4g}]", fmt::join(values, ", "));
}

std::string one_or_list(const std::vector<double>& values) {
  return nearly_equal(values, kSameBandwidth) ? number(middle(values)) : list(values);
}

// Values of machines as values of ranks.
std::vector<double> per_rank(const std::vector<double>& of_machines,
                             std::span<const int> machines) {
  std::vector<double> values;
  for (const int machine : machines) {
    values.push_back(of_machines[static_cast<std::size_t>(machine)]);
  }
  return values;
}

std::vector<double> off_diagonal(const std::vector<std::vector<Seconds>>& matrix) {
  std::vector<double> values;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      if (i != j) {
        values.push_back(matrix[i][j]);
      }
    }
  }
  return values;
}

// Of each machine, so that between two of them it is the larger; nullopt if that is not so.
std::optional<std::vector<double>> latency_per_machine(
    const std::vector<std::vector<Seconds>>& between) {
  std::vector<double> each(between.size(), std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < between.size(); ++i) {
    for (std::size_t j = 0; j < between.size(); ++j) {
      each[i] = i == j ? each[i] : std::min(each[i], between[i][j]);
    }
  }
  for (std::size_t i = 0; i < between.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_latency(std::max(each[i], each[j]), between[i][j])) {
        return std::nullopt;
      }
    }
  }
  return each;
}

std::string latency_of(const MeasuredLinks& links, std::span<const int> of_workers) {
  const auto all = off_diagonal(links.latency);
  const auto [low, high] = std::ranges::minmax(all);
  if (same_latency(low, high)) {
    return number(middle(all));
  }
  if (const auto each = latency_per_machine(links.latency)) {
    return list(per_rank(*each, of_workers));
  }
  std::vector<std::string> rows;
  for (const int machine : of_workers) {
    rows.push_back(list(per_rank(links.latency[static_cast<std::size_t>(machine)], of_workers)));
  }
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

// Each value is the mean of both directions.
std::vector<double> both_ways(const std::vector<double>& up, const std::vector<double>& down) {
  std::vector<double> means(up.size());
  std::ranges::transform(up, down, means.begin(), [](double a, double b) { return (a + b) / 2; });
  return means;
}

bool same_both_ways(const std::vector<double>& up, const std::vector<double>& down) {
  for (std::size_t i = 0; i < up.size(); ++i) {
    if (!nearly_equal({up[i], down[i]}, kSameBandwidth)) {
      return false;
    }
  }
  return true;
}

void add_bandwidths(std::vector<Setting>& settings, const MeasuredLinks& links,
                    std::span<const int> of_workers) {
  const auto up = per_rank(links.up, of_workers);
  const auto down = per_rank(links.down, of_workers);
  if (same_both_ways(up, down)) {
    settings.push_back({"bandwidth", one_or_list(both_ways(up, down))});
  } else {
    settings.push_back({"bandwidth_up", one_or_list(up)});
    settings.push_back({"bandwidth_down", one_or_list(down)});
  }
}

// All servers are on the machine of the one that was measured.
void add_servers(std::vector<Setting>& settings, const MeasuredLinks& links,
                 std::span<const int> of_workers, int servers) {
  const int machine = links.machines.back();
  const bool is_shared = std::ranges::count(of_workers, machine) > 0;
  if (!is_shared) {
    const auto index = static_cast<std::size_t>(machine);
    settings.push_back({"server_bandwidth", number((links.up[index] + links.down[index]) / 2)});
  }
  if (is_shared || servers > 1) {
    const std::vector<int> hosts(static_cast<std::size_t>(servers), machine);
    settings.push_back({"server_hosts", fmt::format("[{}]", fmt::join(hosts, ", "))});
  }
}

// What the links allow if each machine sends to the next.
double allowed_together(const MeasuredLinks& links) {
  double sum = 0;
  for (std::size_t i = 0; i < links.up.size(); ++i) {
    sum += std::min(links.up[i], links.down[(i + 1) % links.down.size()]);
  }
  return sum;
}

// One machine: its workers are simulated as if each had a link of its own.
std::vector<Setting> settings_within(const WithinMachine& within, int servers) {
  std::vector<Setting> settings = {{"latency", number(within.latency)},
                                   {"bandwidth", number(within.bandwidth)}};
  if (servers > 0) {
    settings.push_back({"server_bandwidth", number(within.bandwidth)});
  }
  return settings;
}

std::vector<Setting> settings_between(const MeasuredLinks& links, int workers, int servers) {
  const auto of_workers = std::span(links.machines).first(static_cast<std::size_t>(workers));
  std::vector<Setting> settings;
  if (links.within) {
    settings.push_back({"hosts", fmt::format("[{}]", fmt::join(of_workers, ", "))});
    settings.push_back({"memory_latency", number(links.within->latency)});
  }
  settings.push_back({"latency", latency_of(links, of_workers)});
  add_bandwidths(settings, links, of_workers);
  if (servers > 0) {
    add_servers(settings, links, of_workers, servers);
  }
  if (links.together < kShared * allowed_together(links)) {
    settings.push_back({"backbone", number(links.together)});
  }
  if (links.unevenness) {
    settings.push_back({"unevenness", fmt::format("{:.2g}", *links.unevenness)});
  }
  return settings;
}

// Keys that the job has and that would take the place of what was measured.
void replace_others(std::vector<Setting>& settings, const ClusterSpec& cluster) {
  const auto found = [&](std::string_view key) {
    return std::ranges::find(settings, key, &Setting::key);
  };
  const auto replace = [&](bool is_given, const char* key, const std::string& value) {
    if (is_given && found(key) == settings.end()) {
      settings.push_back({key, value});
    }
  };
  if (const auto both = found("bandwidth"); both != settings.end()) {
    const std::string value = both->value;
    replace(!cluster.bandwidth_up.empty(), "bandwidth_up", value);
    replace(!cluster.bandwidth_down.empty(), "bandwidth_down", value);
  }
  replace(cluster.backbone.has_value(), "backbone", number(kUnlimitedBackbone));
  replace(cluster.tcp_efficiency != 1, "tcp_efficiency", "1");  // it is part of the bandwidth
}

template <class Value>
const Value* find(const Figures& figures, std::string_view name) {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  return found == figures.end() ? nullptr : std::get_if<Value>(&found->value);
}

}  // namespace

int MeasuredLinks::machine_count() const {
  return machines.empty() ? 0 : std::ranges::max(machines) + 1;
}

Figures figures_of(const MeasuredLinks& links) {
  Figures figures;
  figures.push_back(
      {"machines", std::vector<std::int64_t>(links.machines.begin(), links.machines.end())});
  if (links.within) {
    figures.push_back({"within", std::vector{links.within->latency, links.within->bandwidth}});
  }
  std::vector<double> latency;
  for (const auto& row : links.latency) {
    latency.insert(latency.end(), row.begin(), row.end());
  }
  figures.push_back({"latency", latency});
  figures.push_back({"up", links.up});
  figures.push_back({"down", links.down});
  figures.push_back({"together", links.together});
  figures.push_back({"memory_bandwidth", links.memory_bandwidth});
  figures.push_back({"unevenness", figure_of(links.unevenness)});
  return figures;
}

Result<MeasuredLinks> links_of(const Figures& figures) {
  using Numbers = std::vector<double>;
  const auto* machines = find<std::vector<std::int64_t>>(figures, "machines");
  const auto* within = find<Numbers>(figures, "within");
  const auto* latency = find<Numbers>(figures, "latency");
  const auto* up = find<Numbers>(figures, "up");
  const auto* down = find<Numbers>(figures, "down");
  const auto* together = find<double>(figures, "together");
  const auto* memory = find<double>(figures, "memory_bandwidth");
  if (!machines || !latency || !up || !down || !together || !memory) {
    return fail("the measurement was cut short");
  }
  MeasuredLinks links;
  links.machines.assign(machines->begin(), machines->end());
  if (within) {
    links.within = {within->front(), within->back()};
  }
  const auto count = static_cast<std::ptrdiff_t>(up->size());
  for (auto row = latency->begin(); row != latency->end(); row += count) {
    links.latency.emplace_back(row, row + count);
  }
  links.up = *up;
  links.down = *down;
  links.together = *together;
  links.memory_bandwidth = *memory;
  if (const auto* unevenness = find<double>(figures, "unevenness")) {
    links.unevenness = *unevenness;
  }
  return links;
}

std::vector<Setting> settings_of(const MeasuredLinks& links, const ClusterSpec& cluster,
                                 int servers) {
  std::vector<Setting> settings =
      links.machine_count() == 1 ? settings_within(links.within.value_or(WithinMachine{}), servers)
                                 : settings_between(links, cluster.workers, servers);
  settings.push_back({"memory_bandwidth", number(links.memory_bandwidth)});
  replace_others(settings, cluster);
  return settings;
}

}  // namespace motley
