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
