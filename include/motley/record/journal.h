// Journal: a worker's log of what it does. The record collects it at intervals.
//
//   journal.add({begin, end, step, samples, Doing::kCompute});   // the worker, when it is done
//   journal.take(entries);                                       // the collector
//
// Thread rule: one thread adds, another may take. At most kMost entries of a kind are kept between
// two takes; further ones are dropped. Cost: a short lock per entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

enum class Doing : std::uint8_t { kCompute, kCommunicate, kWait, kEvaluate };
inline constexpr std::size_t kDoings = 4;
std::string_view name_of(Doing doing);

// A worker did one thing from `begin` to `end` (seconds of the run).
struct Span {
  Seconds begin = 0;
  Seconds end = 0;
  std::int64_t step = 0;     // the worker's own count, from 0
  std::int64_t samples = 0;  // computed in this span
  Doing doing = Doing::kCompute;

  friend bool operator==(const Span&, const Span&) = default;
};

// A worker received a message from another participant.
struct Exchange {
  Seconds sent = 0;
  Seconds received = 0;
  Rank from = kAnyRank;
  std::int64_t bytes = 0;
  Seconds waited = 0;  // how long the receiver waited for it; 0 if it had arrived before

  friend bool operator==(const Exchange&, const Exchange&) = default;
};

// A decision: its kind in a word ("shares", "group", "jump"), what was decided, and why.
struct DecisionRecord {
  Seconds at = 0;
  std::string kind;
  std::string what;
  std::string reason;

  friend bool operator==(const DecisionRecord&, const DecisionRecord&) = default;
};

// A histogram of how far a worker was behind: counts[i] says how often by i iterations. The last
// entry also counts everything farther; the maximum is `farthest`.
struct Behind {
  std::string what;  // behind whom, and when it was measured
  std::vector<std::int64_t> counts;
  std::int64_t farthest = 0;

  void state(Archive& archive) {
    archive("what", what);
    archive("counts", counts);
    archive("farthest", farthest);
  }
};

struct JournalEntries {
  std::vector<Span> spans;
  std::vector<Exchange> exchanges;
  std::vector<DecisionRecord> decisions;
  std::optional<Behind> behind;  // cumulative over the run; set when it has changed
};

// What a worker is doing right now.
struct Activity {
  Doing doing = Doing::kCompute;
  Rank waits_for = kAnyRank;  // the rank it waits for, if it waits for a particular one
};

class Journal {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 14;

  // With most = 0 it keeps nothing; use that when nobody collects the entries.
  explicit Journal(std::size_t most = kMost) : most_(most) {}

  // Thread-safe.
  void turn_to(Activity activity) { activity_.store(activity, std::memory_order_relaxed); }
  Activity activity() const { return activity_.load(std::memory_order_relaxed); }

  void add(const Span& span);
  void add(const Exchange& exchange);
  void add(DecisionRecord decision);
  void set_behind(std::string_view what, std::span<const std::int64_t> counts,
                  std::int64_t farthest);

  // Moves all entries since the last call into `entries`, replacing its contents but reusing its
  // memory.
  void take(JournalEntries& entries);

 private:
  const std::size_t most_;
  std::atomic<Activity> activity_;
  std::mutex mutex_;
  JournalEntries entries_;
};

}  // namespace motley
