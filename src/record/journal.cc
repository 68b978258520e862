#include "motley/record/journal.h"

#include <array>
#include <utility>

namespace motley {
namespace {

template <class Entry>
void add_to(std::vector<Entry>& entries, Entry entry, std::size_t most, std::mutex& mutex) {
  if (most > 0) {
    std::lock_guard lock(mutex);
    if (entries.size() < most) {
      entries.push_back(std::move(entry));
    }
  }
}

}  // namespace

std::string_view name_of(Doing doing) {
  constexpr std::array<std::string_view, kDoings> kNames = {"compute", "communicate", "wait",
                                                            "evaluate"};
  return kNames[static_cast<std::size_t>(doing)];
}

void Journal::add(const Span& span) { add_to(entries_.spans, span, most_, mutex_); }

void Journal::add(const Exchange& exchange) { add_to(entries_.exchanges, exchange, most_, mutex_); }

void Journal::add(DecisionRecord decision) {
  add_to(entries_.decisions, std::move(decision), most_, mutex_);
}

void Journal::set_behind(std::string_view what, std::span<const std::int64_t> counts,
                         std::int64_t farthest) {
  if (most_ > 0) {
    std::lock_guard lock(mutex_);
    entries_.behind = Behind{std::string(what), {counts.begin(), counts.end()}, farthest};
  }
}

void Journal::take(JournalEntries& entries) {
  entries.spans.clear();
  entries.exchanges.clear();
  entries.decisions.clear();
  entries.behind.reset();
  std::lock_guard lock(mutex_);
  std::swap(entries, entries_);
}

}  // namespace motley
