// LinkDirector: the coordinator's side of a link probe. It decides who exchanges what with whom,
// and makes links of the times that the ranks report.
#pragma once

#include <optional>
#include <vector>

#include "motley/node/node.h"
#include "runtime/calibrate/measured_links.h"
#include "runtime/calibrate/probe_messages.h"

namespace motley {

// The bytes per second that arrived from the beginning until the first half, or more, was there;
// the best of these moments. Packets that are lost delay what comes after them, often the end of a
// transfer by far, and nothing makes bytes arrive before the link can carry them. The first cannot
// arrive before a round trip without bytes is over.
double arrival_rate(const ProbeArrivals& arrivals, Seconds round_trip);

// The cluster.unevenness with which an average one of so many equal transfers ends as early,
// relative to the last one, as in these exchanges.
double unevenness_of(const std::vector<ProbeArrivals>& exchanges, double bandwidth,
                     std::size_t senders);

class LinkDirector {
 public:
  explicit LinkDirector(Node& node) : node_(node) {}

  // Measures everything, then ends the probe for all ranks: 0 .. ranks-1. `machines` has one number
  // per rank; if it is empty, each rank is a machine.
  MeasuredLinks measure(const std::vector<int>& machines, int ranks);

 private:
  // One rank sends to others, or gets from them, so much of its bytes with each.
  struct Exchange {
    Rank by = 0;
    bool pull = false;
    std::vector<Rank> with = {};
    std::vector<double> parts = {};  // of each of them; in all 1
  };
  // Each rank sends to the one that comes `shift` after it, which asks for it: so nothing but the
  // bytes themselves is on the way.
  static std::vector<Exchange> shifted(const std::vector<Rank>& ranks, std::size_t shift);
  // One rank exchanges with all others, in proportion to what they can take.
  static Exchange fan(const std::vector<Rank>& ranks, std::size_t by, bool pull,
                      const std::vector<double>& can_take);

  void measure_within(MeasuredLinks& links);
  void measure_between(MeasuredLinks& links);
  std::vector<std::vector<Seconds>> latencies(const std::vector<Rank>& ranks);
  Seconds latency(Rank one, Rank other);
  // nullopt if too few machines have like links.
  std::optional<double> unevenness(const MeasuredLinks& links);
  double memory_bandwidth(const std::vector<Rank>& ranks);
  void end(int ranks);

  // The exchanges go on at once. Returns the bytes per second of each. `round_trip` is that of a
  // message without bytes.
  std::vector<double> rates(const std::vector<Exchange>& exchanges, Seconds round_trip,
                            int repeats);
  // The arrivals of each, with so many bytes.
  std::vector<ProbeArrivals> exchange(const std::vector<Exchange>& exchanges, double bytes);
  void order(const Exchange& exchange, double bytes, std::int64_t repeats);
  ProbeArrivals report(Rank by);

  Node& node_;
};

}  // namespace motley
