// "Did you mean": finds the valid name most similar to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace motley {

// The name with the fewest typos (an extra, missing or wrong letter, or two letters swapped), if
// these are at most about one per three letters of `word`; empty otherwise. The first of several
// equally similar names.
// Cost: O(length of word * letters of all names). Names much shorter than the word are skipped.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// `; did you mean "name"?`, or an empty string for an empty name.
std::string did_you_mean(std::string_view name);

}  // namespace motley
