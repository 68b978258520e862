// In which keys two jobs differ.
#pragma once

#include <string>
#include <vector>

#include "job/schema.h"

namespace motley {

struct KeyDifference {
  std::string key;     // "train.lr"
  std::string first;   // its value in the first job, as TOML; empty: it does not apply there
  std::string second;  // and in the second one
};

// In the order of the schema. Lists of tables (cluster.slowdown, cluster.event) are left out.
std::vector<KeyDifference> differences(const JobSchema& schema, const Job& first,
                                       const Job& second);

}  // namespace motley
