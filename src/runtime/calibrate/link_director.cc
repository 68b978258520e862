#include "runtime/calibrate/link_director.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "cluster/uneven_weight.h"

namespace motley {
namespace {

// If half of a transfer takes this long, it is long enough: what it costs once, and a thread that
// wakes late, are a small part of it.
constexpr Seconds kLongEnough = 0.1;
constexpr double kFewBytes = 64 << 10;
constexpr double kMostBytes = 512 << 20;
constexpr Seconds kInstant = 1e-9;  // no time is measured more exactly
constexpr int kRepeats = 3;
constexpr int kRoughRepeats = 1;
constexpr int kPingRepeats = 20;
// To find out how unevenly links are shared.
constexpr double kEqual = 0.1;           // links that differ by less from the usual one
constexpr std::size_t kFewestEqual = 3;  // machines
constexpr std::size_t kMostReceivers = 4;
constexpr double kBytesOfEach = 1 << 20;
constexpr int kProcessRepeats = 20;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Seconds least(const std::vector<std::vector<Seconds>>& between) {
  Seconds least = between[0][1];
  for (std::size_t i = 1; i < between.size(); ++i) {
    least = std::min(least, *std::min_element(between[i].begin(),
                                              between[i].begin() + static_cast<std::ptrdiff_t>(i)));
  }
  return least;
}

// A message of no size still has a frame, which takes its time on the link.
Seconds without_frame(Seconds latency, double bandwidth) {
  return std::max(0.0, latency - static_cast<double>(kFrameBytes) / bandwidth);
}

std::vector<std::vector<Rank>> ranks_by_machine(const std::vector<int>& machines) {
  std::vector<std::vector<Rank>> ranks;
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    const auto machine = static_cast<std::size_t>(machines[rank]);
    ranks.resize(std::max(ranks.size(), machine + 1));
    ranks[machine].push_back(static_cast<Rank>(rank));
  }
  return ranks;
}

// One of each machine.
std::vector<Rank> first_ranks(const std::vector<int>& machines) {
  std::vector<Rank> ranks;
  for (const auto& of_machine : ranks_by_machine(machines)) {
    ranks.push_back(of_machine.front());
  }
  return ranks;
}

// When the bytes of an average rank had arrived, as a part of the time that the link needs for all.
// If they took longer, packets were lost and the link was idle.
double mean_end(const ProbeArrivals& arrivals, double bandwidth) {
  const auto all = std::accumulate(arrivals.bytes.begin(), arrivals.bytes.end(), 0.0);
  std::map<Rank, Seconds> ends;
  for (std::size_t i = 0; i < arrivals.at.size(); ++i) {
    ends[arrivals.with[i]] = arrivals.at[i];
  }
  double sum = 0;
  for (const auto& [rank, end] : ends) {
    sum += std::min(1.0, end * bandwidth / all);
  }
  return sum / static_cast<double>(ends.size());
}

// The same for equal transfers with these weights on one link.
double mean_end(std::vector<double> weights) {
  std::ranges::sort(weights, std::greater<>());
  double rest = std::accumulate(weights.begin(), weights.end(), 0.0);
  double served = 0;  // per weight
  double now = 0;
  double sum = 0;
  for (const double weight : weights) {
    now += (1 / weight - served) * rest;
    served = 1 / weight;
    rest -= weight;
    sum += now;
  }
  return sum / (static_cast<double>(weights.size()) * now);
}

// On average, with so many weights of such an unevenness.
double expected_mean_end(std::size_t count, double unevenness) {
  constexpr int kDraws = 200;
  Random random(1);
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> weights(count);
    std::ranges::generate(weights, [&] { return uneven_weight(random, unevenness); });
    sum += mean_end(weights);
  }
  return sum / kDraws;
}

}  // namespace

double arrival_rate(const ProbeArrivals& arrivals, Seconds round_trip) {
  const auto all = std::accumulate(arrivals.bytes.begin(), arrivals.bytes.end(), std::int64_t{0});
  std::int64_t so_far = 0;
  double best = 0;
  for (std::size_t i = 0; i < arrivals.at.size(); ++i) {
    so_far += arrivals.bytes[i];
    if (2 * so_far >= all) {
      best = std::max(
          best, static_cast<double>(so_far) / std::max(kInstant, arrivals.at[i] - round_trip));
    }
  }
  return best;
}

double unevenness_of(const std::vector<ProbeArrivals>& exchanges, double bandwidth,
                     std::size_t senders) {
  constexpr double kMost = 2;
  constexpr double kPrecision = 1e-3;
  std::vector<double> ends;
  std::ranges::transform(exchanges, std::back_inserter(ends),
                         [&](const ProbeArrivals& each) { return mean_end(each, bandwidth); });
  const double target = median(ends);
  double low = 0;
  double high = kMost;
  while (high - low > kPrecision) {
    const double middle = (low + high) / 2;
    (expected_mean_end(senders, middle) > target ? low : high) = middle;
  }
  return low;
}

MeasuredLinks LinkDirector::measure(const std::vector<int>& machines, int ranks) {
  MeasuredLinks links;
  links.machines = machines;
  if (links.machines.empty()) {
    links.machines.resize(static_cast<std::size_t>(ranks));
    std::iota(links.machines.begin(), links.machines.end(), 0);
  }
  links.memory_bandwidth = memory_bandwidth(first_ranks(links.machines));
  measure_within(links);
  if (links.machine_count() > 1) {
    measure_between(links);
  }
  end(ranks);
  return links;
}

// Servers are left out: a worker does not send to itself as it does to them.
void LinkDirector::measure_within(MeasuredLinks& links) {
  std::vector<double> latencies;
  std::vector<double> bandwidths;
  for (std::vector<Rank>& ranks : ranks_by_machine(links.machines)) {
    std::erase_if(ranks, [&](Rank rank) { return rank >= node_.size(); });
    if (ranks.size() < 2) {
      continue;
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      latencies.push_back(latency(ranks[i], ranks[(i + 1) % ranks.size()]));
    }
    bandwidths.push_back(median(rates(shifted(ranks, 1), 2 * median(latencies), kRepeats)));
  }
  if (!latencies.empty()) {
    const double bandwidth = median(bandwidths);
    links.within = {without_frame(median(latencies), bandwidth), bandwidth};
  }
}

void LinkDirector::measure_between(MeasuredLinks& links) {
  const std::vector<Rank> ranks = first_ranks(links.machines);
  const std::size_t count = ranks.size();
  links.latency = latencies(ranks);
  const Seconds round_trip = 2 * least(links.latency);
  // Roughly what each can send and take, to divide the bytes of a fan by.
  std::vector<double> up(count);
  std::vector<double> down(count);
  for (std::size_t shift = 1; shift < count; shift *= 2) {
    const auto found = rates(shifted(ranks, shift), round_trip, kRoughRepeats);
    for (std::size_t i = 0; i < count; ++i) {
      up[i] = std::max(up[i], found[i]);
      down[(i + shift) % count] = std::max(down[(i + shift) % count], found[i]);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    links.up.push_back(rates({fan(ranks, i, false, down)}, round_trip, kRepeats).front());
    links.down.push_back(rates({fan(ranks, i, true, up)}, round_trip, kRepeats).front());
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      const double slowest = std::min({links.up[i], links.down[j], links.up[j], links.down[i]});
      links.latency[i][j] = i == j ? 0 : without_frame(links.latency[i][j], slowest);
    }
  }
  const auto at_once = rates(shifted(ranks, 1), round_trip, kRepeats);
  links.together = std::accumulate(at_once.begin(), at_once.end(), 0.0);
  links.unevenness = unevenness(links);
}

std::vector<std::vector<Seconds>> LinkDirector::latencies(const std::vector<Rank>& ranks) {
  std::vector<std::vector<Seconds>> all(ranks.size(), std::vector<Seconds>(ranks.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      all[i][j] = all[j][i] = latency(ranks[i], ranks[j]);
    }
  }
  return all;
}

// The first message opens the connection, and does not count. Of the others the faster half counts:
// a busy machine answers later.
Seconds LinkDirector::latency(Rank one, Rank other) {
  order({one, false, {other}, {1}}, 0, kPingRepeats + 1);
  std::vector<Seconds> seconds = report(one).at;
  seconds.erase(seconds.begin());
  std::ranges::sort(seconds);
  seconds.resize(seconds.size() / 2);
  return median(seconds) / 2;
}

std::vector<LinkDirector::Exchange> LinkDirector::shifted(const std::vector<Rank>& ranks,
                                                          std::size_t shift) {
  std::vector<Exchange> exchanges;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    exchanges.push_back({ranks[(i + shift) % ranks.size()], true, {ranks[i]}, {1}});
  }
  return exchanges;
}

LinkDirector::Exchange LinkDirector::fan(const std::vector<Rank>& ranks, std::size_t by, bool pull,
                                         const std::vector<double>& can_take) {
  const double all = std::accumulate(can_take.begin(), can_take.end(), 0.0) - can_take[by];
  Exchange exchange{.by = ranks[by], .pull = pull};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i != by) {
      exchange.with.push_back(ranks[i]);
      exchange.parts.push_back(can_take[i] / all);
    }
  }
  return exchange;
}

std::vector<double> LinkDirector::rates(const std::vector<Exchange>& exchanges, Seconds round_trip,
                                        int repeats) {
  constexpr double kLeastGrowth = 2;
  constexpr double kMostGrowth = 8;
  const auto half_time = [&](double bytes) {
    Seconds longest = 0;
    for (const ProbeArrivals& arrivals : exchange(exchanges, bytes)) {
      longest = std::max(longest, bytes / arrival_rate(arrivals, 0) / 2);
    }
    return longest;
  };
  double bytes = kFewBytes;
  for (Seconds half = half_time(bytes); half < kLongEnough && bytes < kMostBytes;
       half = half_time(bytes)) {
    bytes *= std::clamp(1.2 * kLongEnough / std::max(half, kInstant), kLeastGrowth, kMostGrowth);
  }
  std::vector<std::vector<double>> found(exchanges.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto all = exchange(exchanges, bytes);
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i].push_back(arrival_rate(all[i], round_trip));
    }
  }
  std::vector<double> rates(found.size());
  std::ranges::transform(found, rates.begin(), median);
  return rates;
}

std::vector<ProbeArrivals> LinkDirector::exchange(const std::vector<Exchange>& exchanges,
                                                  double bytes) {
  for (const Exchange& each : exchanges) {
    order(each, bytes, 1);
  }
  std::vector<ProbeArrivals> arrivals;
  for (const Exchange& each : exchanges) {
    arrivals.push_back(report(each.by));
  }
  return arrivals;
}

std::optional<double> LinkDirector::unevenness(const MeasuredLinks& links) {
  const std::vector<Rank> ranks = first_ranks(links.machines);
  const double usual = median(links.down);
  std::vector<Rank> equal;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto is_usual = [&](double rate) { return std::abs(rate / usual - 1) < kEqual; };
    if (is_usual(links.up[i]) && is_usual(links.down[i])) {
      equal.push_back(ranks[i]);
    }
  }
  if (equal.size() < kFewestEqual) {
    return std::nullopt;
  }
  const auto senders = static_cast<double>(equal.size() - 1);
  const double bytes = std::max(2 * kLongEnough * usual, kBytesOfEach * senders);
  double sum = 0;
  for (const bool pull : {false, true}) {
    std::vector<ProbeArrivals> all;
    for (std::size_t i = 0; i < std::min(equal.size(), kMostReceivers); ++i) {
      const Exchange each = fan(equal, i, pull, std::vector<double>(equal.size(), 1));
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        all.push_back(exchange({each}, bytes).front());
      }
    }
    sum += unevenness_of(all, usual, equal.size() - 1);
  }
  return sum / 2;
}

// One rank at a time. The first time, the numbers are not in memory yet.
double LinkDirector::memory_bandwidth(const std::vector<Rank>& ranks) {
  std::vector<double> found;
  for (const Rank rank : ranks) {
    node_.send(rank, kProbeChannel, probe_header(ProbeKind::kProcess, kProcessRepeats + 1));
    ProbeArrivals done = report(rank);
    done.at.erase(done.at.begin());
    found.push_back(static_cast<double>(done.bytes.front()) / std::max(kInstant, median(done.at)));
  }
  return median(found);
}

void LinkDirector::order(const Exchange& exchange, double bytes, std::int64_t repeats) {
  ProbeOrder order{.pull = exchange.pull, .repeats = repeats, .peers = exchange.with, .bytes = {}};
  for (const double part : exchange.parts) {
    order.bytes.push_back(std::llround(bytes * part));
  }
  node_.send(exchange.by, kProbeChannel, probe_header(ProbeKind::kOrder), encode_order(order));
}

ProbeArrivals LinkDirector::report(Rank by) {
  return decode_arrivals(node_.receive({kProbeChannel, by}).payload);
}

void LinkDirector::end(int ranks) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    node_.send(rank, kProbeChannel, probe_header(ProbeKind::kEnd));
  }
}

}  // namespace motley
