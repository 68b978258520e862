// FailureWatch: notices that a process of the run has exited, is lost or is silent, and says
// whether that is a loss, which an elastic run survives, or a failure of the program, which ends
// it.
//
// A loss is a signal that killed a process, silence, or a broken connection. A process that reports
// a failure or exits on its own has failed. So has a member that was started here and is lost twice
// at the same step, unless the job wants it to die. Until training begins, and in a run that is not
// elastic, every loss is a failure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "runtime/coordinator/members.h"
#include "runtime/coordinator/root_cause.h"

namespace motley {

struct Loss {
  Rank process = kAnyRank;
  std::string why;  // "was killed by signal 9 (Killed)"
};

class FailureWatch {
 public:
  // `members` must outlive this object.
  FailureWatch(Members& members, const SilenceLimits& limits)
      : members_(members), limits_(limits) {}

  // From now on a run survives losses.
  void expect_losses() { elastic_ = true; }
  bool expects_losses() const { return elastic_; }

  // The process has failed. `consequence`: perhaps only because another one did.
  void suspect(Rank process, const std::string& what, bool consequence, Seconds now);
  // The process has no connection to another one any more.
  void on_peer_lost(Rank process, const std::string& why, Seconds now);
  // The connection to this process broke.
  void on_disconnected(Rank process, const std::string& why, Seconds now);
  // This process cannot take part any longer.
  void lose(Rank process, const std::string& why, Seconds now);
  // Looks at processes and clocks.
  void look(Seconds now);
  // The losses since the last call. `samples`: used by the run so far.
  std::vector<Loss> take_losses(std::int64_t samples, Seconds now);
  // From now on processes exit and become silent because they were told to leave.
  void expect_exits() { leaving_ = true; }
  bool expects_exits() const { return leaving_; }
  // Throws RunFailed.
  void throw_root_cause(Seconds now) const;

 private:
  struct Disconnected {
    std::string why;
    Seconds since = 0;
  };

  void on_exit(const ChildExit& exit, Seconds now);
  void look_at_disconnected(Seconds now);

  Members& members_;
  const SilenceLimits limits_;
  RootCause cause_;
  bool elastic_ = false;
  bool leaving_ = false;
  std::map<Rank, Disconnected> disconnected_;  // started here: their exit status says more
  std::map<Rank, std::string> lost_;
  std::map<std::string, std::int64_t> lost_at_;  // samples at the last loss, by name
};

}  // namespace motley
