#include "session/after_session.h"

namespace motley {

AfterSession after_session(const SessionEnd& end, const ReturnRules& rules,
                           std::optional<Seconds> idle) {
  if (end.told_why || end.failed_here) {
    return AfterSession::kHasFailed;
  }
  if (end.let_go) {
    return AfterSession::kIsDone;
  }
  const bool wants_to = end.lost && !end.asked_to_leave;
  const bool is_worth_it = end.trained || (idle && *idle <= rules.patience);
  return wants_to && rules.may_return && is_worth_it ? AfterSession::kJoinsAgain
                                                     : AfterSession::kHasFailed;
}

}  // namespace motley
