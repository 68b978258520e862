// TermLog: why each term of a run begins. It is told what is decided about members, and compares
// who was there when a term began with who is there when the next one does. Pure.
//
//   log.decided("goes on without worker 2", "step 17 is done again");
//   monitor.on_term(log.next(number, seconds, members));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/summary.h"
#include "record/term_record.h"

namespace motley {

class TermLog {
 public:
  // The first term is that of a run that goes on from a checkpoint.
  void resume() { is_resumed_ = true; }
  void decided(const std::string& what, const std::string& why);
  // The term before was cut off. If nobody was lost, a connection has broken.
  void cut_off() { is_cut_off_ = true; }
  // A term begins. `members`: everybody who was there until now, in the order of joining, workers
  // first.
  TermRecord next(std::int64_t number, Seconds begin, const std::vector<MemberRecord>& members);

 private:
  using Stays = std::map<ProcessKind, std::vector<bool>>;  // is it still there?

  TermCause cause_of(const std::vector<MemberRecord>& members) const;

  std::optional<Stays> before_;  // when the last term began
  bool is_resumed_ = false;
  bool is_cut_off_ = false;
  std::string reason_;
};

}  // namespace motley
