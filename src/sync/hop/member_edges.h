// member_edges(): what becomes of a list of edges when workers are lost and others come. Pure.
#pragma once

#include <span>
#include <vector>

#include "motley/cluster/graph.h"

namespace motley {

// How the in-neighbours of a lost worker are joined with its out-neighbours.
enum class EdgeRepair {
  kFew,  // only where no path is left
  kAll,  // all of them: no path gets longer
};

// `edges` are between the workers 0 .. n-1 of the run and strongly connected; `ids` are the members
// of a term, ascending. The result is between ranks and strongly connected: worker ids[r] is r.
//
// A newcomer, whose id is n or above, has the neighbours of one of the n workers, and that worker
// too. With EdgeRepair::kAll no shortest path is longer than the longest one before, or than 2.
std::vector<Edge> member_edges(std::span<const Edge> edges, const std::vector<int>& ids,
                               EdgeRepair repair);

}  // namespace motley
