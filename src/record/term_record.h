// TermRecord: a term of a run, and why it began (motley/sync/term.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "motley/base/ids.h"

namespace motley {

enum class TermCause : std::uint8_t {
  kStart,       // of the run
  kResumption,  // of the run, from a checkpoint
  kCheckpoint,  // the term before ended where a checkpoint is due
  kLoss,        // of a worker or server
  kConnection,  // one between two workers broke
  kLeave,       // of a worker, in order
  kNewcomer,
  kOther,  // somebody wanted to join and was refused, for example
};
constexpr std::string_view name_of(TermCause cause) {
  switch (cause) {
    case TermCause::kStart:
      return "start";
    case TermCause::kResumption:
      return "resumption";
    case TermCause::kCheckpoint:
      return "checkpoint";
    case TermCause::kLoss:
      return "loss";
    case TermCause::kConnection:
      return "connection";
    case TermCause::kLeave:
      return "leave";
    case TermCause::kNewcomer:
      return "newcomer";
    case TermCause::kOther:
      return "other";
  }
  return "";
}

struct TermRecord {
  std::int64_t number = 0;
  Seconds begin = 0;
  TermCause cause = TermCause::kStart;
  std::string reason = {};  // what was decided about members since the term before

  friend bool operator==(const TermRecord&, const TermRecord&) = default;
};

}  // namespace motley
