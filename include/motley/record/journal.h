// Journal: what one worker does, written down while it goes and taken away now and then.
//
//   journal.add({begin, end, step, samples, Doing::kCompute});   // the worker, after the fact
//   journal.take(entries);                                       // whoever keeps the record
//
// One thread writes, another one may take. Between two takes no more than kMost entries of a kind
// are kept; what is beyond is left out. Cost: a short lock per entry.
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

namespace motley {

enum class Doing : std::uint8_t { kCompute, kCommunicate, kWait, kEvaluate };
inline constexpr std::size_t kDoings = 4;
std::string_view name_of(Doing doing);

// From `begin` to `end`, seconds of the run, a worker did one thing.
struct Span {
  Seconds begin = 0;
  Seconds end = 0;
  std::int64_t step = 0;     // the worker's own, from 0
  std::int64_t samples = 0;  // that it computed in it
  Doing doing = Doing::kCompute;

  friend bool operator==(const Span&, const Span&) = default;
};

// Something came from another participant, and was taken.
struct Exchange {
  Seconds sent = 0;
  Seconds received = 0;
  Rank from = kAnyRank;
  std::int64_t bytes = 0;
  Seconds waited = 0;  // for it; none: it was there before it was wanted

  friend bool operator==(const Exchange&, const Exchange&) = default;
};

// Something was decided: its kind in a word ("shares", "group", "jump"), what, and why.
struct DecisionRecord {
  Seconds at = 0;
  std::string kind;
  std::string what;
  std::string reason;

  friend bool operator==(const DecisionRecord&, const DecisionRecord&) = default;
};

// How often a worker was so many iterations behind: counts[i] times i. The last entry is of all
// that were as far or farther, up to `farthest`.
struct Behind {
  std::string what;  // behind whom, and when
  std::vector<std::int64_t> counts;
  std::int64_t farthest = 0;
};

struct JournalEntries {
  std::vector<Span> spans;
  std::vector<Exchange> exchanges;
  std::vector<DecisionRecord> decisions;
  std::optional<Behind> behind;  // of the whole run so far, when it has changed
};

// What a worker is at, at this moment.
struct Activity {
  Doing doing = Doing::kCompute;
  Rank waits_for = kAnyRank;  // while it waits, where it is for somebody in particular
};

class Journal {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 14;

  // With 0 it keeps nothing: nobody is going to take it.
  explicit Journal(std::size_t most = kMost) : most_(most) {}

  // Any thread.
  void turn_to(Activity activity) { activity_.store(activity, std::memory_order_relaxed); }
  Activity activity() const { return activity_.load(std::memory_order_relaxed); }

  void add(const Span& span);
  void add(const Exchange& exchange);
  void add(DecisionRecord decision);
  void set_behind(std::string_view what, std::span<const std::int64_t> counts,
                  std::int64_t farthest);

  // All entries since the last time; what was in `entries` is gone, its room is used again.
  void take(JournalEntries& entries);

 private:
  const std::size_t most_;
  std::atomic<Activity> activity_;
  std::mutex mutex_;
  JournalEntries entries_;
};

}  // namespace motley
