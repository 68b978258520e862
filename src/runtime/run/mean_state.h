// The mean of the states of several replicas (motley/sync/replica.h): of models, buffers and
// optimizers.
#pragma once

#include <vector>

#include "state/state.h"

namespace motley {

// Tensors of floats become their mean; the mean of equal ones has the same bits. Integers, such as
// an optimizer's counters of steps, become their maximum. Single numbers, such as learning rates,
// are those of the replica that has counted furthest: a schedule has no step between two. What is
// only in some states counts there. Bytes that only their owner understands are those of the first
// state. Throws StateError if
// tensors of one name differ in type or size.
State mean_of(const std::vector<State>& states);

}  // namespace motley
