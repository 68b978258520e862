// For property tests of this folder: the rules of any small cluster.
#pragma once

#include <rapidcheck.h>

#include <algorithm>

#include "sync/partial_reduce/controller.h"

namespace motley {

inline GroupRules any_rules() {
  GroupRules rules;
  rules.workers = *rc::gen::inRange(1, 13);
  rules.group = *rc::gen::inRange(2, std::max(rules.workers, 2) + 1);
  const std::int64_t fewest = (rules.workers - 1 + rules.group - 2) / (rules.group - 1);
  rules.window = *rc::gen::inRange(std::max<std::int64_t>(fewest, 1), 4 * fewest + 10);
  rules.filter = *rc::gen::arbitrary<bool>();
  rules.weighting = *rc::gen::element(Weighting::kConstant, Weighting::kDecay, Weighting::kEma);
  rules.alpha = 0.5;
  return rules;
}

}  // namespace motley
