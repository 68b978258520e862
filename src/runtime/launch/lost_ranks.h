// LostRanks: decides what the end of a process means to `motley launch`: it may be lost to a run
// that goes on without it, and may be started again. Pure.
//
// Each process says in a file of its own (MOTLEY_ELASTIC_FILE) what its end would mean; the file
// does not exist before it has anything to say:
//   survives 3   it takes part in a run that goes on without it; it may be started again 3 times
//   lost 3       the same, but it has lost its connection to the run, for example because it was
//                stopped for too long, and is about to exit
//   over         that run is over for it
//   left         it has left the run in order, and the others go on
//
// A signal that kills a process during such a run is a loss, and so is any failure of a process
// that has lost the run. Everything else means what it means without such a file: a process that
// exits with another code than 0 has failed, and rank 0, whose process holds the coordinator,
// cannot be lost.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "motley/base/ids.h"

namespace motley {

struct ElasticNote {
  enum class Kind { kSurvives, kLost, kOver, kLeft };
  Kind kind = Kind::kOver;
  int respawn = 0;  // kSurvives, kLost: how often the process may be started again
};
std::string text_of(const ElasticNote& note);
// nullopt if it is damaged.
std::optional<ElasticNote> parse_elastic_note(std::string_view text);

class LostRanks {
 public:
  enum class Verdict {
    kIsOver,   // it has ended by itself: it is done or has failed, as its exit status says
    kHasLeft,  // in order; how it ended after that makes no difference
    kIsLost,   // the others go on without it
    kStartAgain
  };
  // A process has ended with this status (as returned by waitpid). `may_start`: the run goes on, as
  // far as is known, and nobody has told it to end.
  Verdict judge(Rank rank, int status, const std::optional<ElasticNote>& note, bool may_start);

  // Whether this process was started again and has not taken part since.
  bool is_newcomer(Rank rank, const std::optional<ElasticNote>& note) const {
    return !note && started_.contains(rank) && started_.at(rank).times > 0;
  }

  // "rank 2 was killed by signal 9 (Killed); started again (1 of 3)". Call after judge(); empty for
  // kIsOver.
  std::string say(Rank rank, int status, Verdict verdict) const;

 private:
  struct Started {
    int times = 0;  // again
    int most = 0;
    bool was_newcomer = false;  // when it ended
  };

  std::map<Rank, Started> started_;
};

}  // namespace motley
