#include "runtime/run/term_log.h"

#include "runtime/run/membership.h"

namespace motley {

void TermLog::decided(const std::string& what, const std::string& why) {
  reason_ += (reason_.empty() ? "" : "; ") + what + (why.empty() ? "" : ": " + why);
}

TermRecord TermLog::next(std::int64_t number, Seconds begin,
                         const std::vector<MemberRecord>& members) {
  TermRecord term{.number = number, .begin = begin, .cause = cause_of(members), .reason = reason_};
  before_.emplace();
  for (const MemberRecord& member : members) {
    (*before_)[member.process.kind].push_back(!member.left);
  }
  is_cut_off_ = false;
  reason_.clear();
  return term;
}

// What matters most to a reader, if there is more than one cause.
TermCause TermLog::cause_of(const std::vector<MemberRecord>& members) const {
  if (!before_) {
    return is_resumed_ ? TermCause::kResumption : TermCause::kStart;
  }
  bool is_loss = false;
  bool is_leave = false;
  bool is_newcomer = false;
  std::map<ProcessKind, std::size_t> seen;
  for (const MemberRecord& member : members) {
    const auto stays = before_->find(member.process.kind);
    const std::size_t stay = seen[member.process.kind]++;
    const bool is_new = stays == before_->end() || stay >= stays->second.size();
    const bool was_there = !is_new && stays->second[stay];
    is_newcomer |= is_new;
    is_leave |= was_there && member.left && member.why == kLeftInOrder;
    is_loss |= was_there && member.left && member.why != kLeftInOrder;
  }
  return is_loss           ? TermCause::kLoss
         : is_cut_off_     ? TermCause::kConnection
         : is_leave        ? TermCause::kLeave
         : is_newcomer     ? TermCause::kNewcomer
         : reason_.empty() ? TermCause::kCheckpoint
                           : TermCause::kOther;
}

}  // namespace motley
