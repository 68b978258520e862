// Whether a method's schema is usable, before jobs are parsed against it.
#pragma once

#include <optional>
#include <string>

#include "job/schema.h"

namespace motley {

// What is wrong with the schema of a method that is to be added to those of `known`, as the rest of
// a sentence about the method; nullopt if nothing is. Names must be new, keys must be in a section
// of [strategy], their rules must fit their places, and their defaults must be allowed values.
std::optional<std::string> problem_of(const MethodSchema& method, const JobSchema& known);

}  // namespace motley
