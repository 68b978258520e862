#include "record/kept.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace motley {
namespace {

std::vector<int> entries_of(const Kept<int>& kept) {
  std::vector<int> entries;
  kept.for_each([&](int entry) { entries.push_back(entry); });
  return entries;
}

RC_GTEST_PROP(Kept, ShrinksToTheFirstAndTheLast, ()) {
  const auto limit = *rc::gen::inRange<std::size_t>(1, 40);
  const auto less = *rc::gen::inRange<std::size_t>(1, limit + 1);
  const auto count = *rc::gen::inRange<std::size_t>(0, 100);
  const auto shrink_after = *rc::gen::inRange<std::size_t>(0, count + 1);
  Kept<int> kept(limit);
  Kept<int> small(less);
  for (std::size_t i = 0; i <= count; ++i) {
    if (i == shrink_after) {
      kept.shrink(less);
    }
    if (i < count) {
      kept.add(static_cast<int>(i));
      small.add(static_cast<int>(i));
    }
  }
  RC_ASSERT(entries_of(kept) == entries_of(small));
  RC_ASSERT(kept.left_out() == small.left_out());
}

RC_GTEST_PROP(Kept, HasTheFirstAndTheLastInOrder, ()) {
  const auto limit = *rc::gen::inRange<std::size_t>(1, 40);
  const auto count = *rc::gen::inRange<std::size_t>(0, 200);
  Kept<int> kept(limit);
  std::vector<int> expected;
  const std::size_t last = limit / 2;
  const std::size_t first = limit - last;
  for (std::size_t i = 0; i < count; ++i) {
    kept.add(static_cast<int>(i));
    if (i < first || i + last >= count) {
      expected.push_back(static_cast<int>(i));
    }
  }
  RC_ASSERT(entries_of(kept) == expected);
  RC_ASSERT(kept.size() + kept.left_out() == count);
}

}  // namespace
}  // namespace motley
