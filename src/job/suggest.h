// "Did you mean": the valid name nearest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace motley {

// The name within about one slip per three letters of `word` (a slip is a letter too many, too few,
// wrong, or two swapped), the first of the nearest; empty when none is near.
// Costs O(length of word * letters of all names), and nothing for a word far too long.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// `; did you mean "name"?`, or nothing for an empty name.
std::string did_you_mean(std::string_view name);

}  // namespace motley
