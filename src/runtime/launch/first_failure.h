// Decides which of several failed processes failed first, and draws the box that says so. Pure.
//
// When one process of a run fails, the others fail after it and end in any order. The user wants to
// see the process that knows why. A program can say so: the first line of the file
// MOTLEY_ERROR_FILE is `cause` (the error here is why the run fails) or `consequence` (this process
// was told of it); the second line is the message.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

struct ErrorNote {
  bool is_cause = false;
  std::string message;
};
// Parses such a file; nullopt if its first line is neither.
std::optional<ErrorNote> parse_error_note(std::string_view text);

// A process that has ended.
struct EndedProcess {
  Rank rank = 0;
  pid_t pid = 0;
  int status = 0;            // as returned by waitpid
  bool was_stopped = false;  // the launcher had told it to end before it did
  std::optional<ErrorNote> note = {};
  // The others went on without it, or it was started again (runtime/launch/lost_ranks.h).
  bool is_lost = false;
};

// The index in `ended` (ordered by the time of ending) of the process that failed first: a cause
// before a process that ended by itself without a note, before a consequence, before a process that
// was stopped. Among equals the first to end. A cause may have exit code 0: a program that leaves
// its loop too early. One that was lost has not failed. nullopt if none failed.
std::optional<std::size_t> first_failure(const std::vector<EndedProcess>& ended);

// "exit code 1", "signal 9 (Killed)"
std::string end_of(int status);

// "rank 3", "ranks 0, 1, 3", "ranks 0-5, 7". `ranks` must be sorted.
std::string show_ranks(const std::vector<Rank>& ranks);

struct FailureBox {
  std::string program;
  std::string host;
  std::string log_dir;
};
// The text shown for a failure: who was first, why, where its log is, how the others ended, and who
// had been lost before.
std::string failure_box(const FailureBox& box, const std::vector<EndedProcess>& ended,
                        std::size_t first);

// The file name of a rank's log.
std::string log_name(Rank rank);

}  // namespace motley
