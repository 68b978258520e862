// Which of several processes that failed was the first, and the box that says so. Pure.
//
// When one process of a run fails, the others fail after it, and in which order they end is chance:
// that of the process which says why is what a person wants to see. A program can say it: the first
// line of the file MOTLEY_ERROR_FILE is `cause` (what happened here is why the run fails) or
// `consequence` (this process was told of it), the second one the message.
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
// What such a file says; nullopt when it says neither.
std::optional<ErrorNote> parse_error_note(std::string_view text);

// A process that has ended.
struct EndedProcess {
  Rank rank = 0;
  pid_t pid = 0;
  int status = 0;            // as waitpid gives it
  bool was_stopped = false;  // we had told it to end before it did
  std::optional<ErrorNote> note = {};
};

// The place in `ended`, which is in the order in which they ended, of the one that failed first:
// one that is a cause before all; then who ended by itself without a note; then a consequence; then
// who was stopped. Among equals the first to end. A cause may have exit code 0, as a program that
// leaves its loop too early. nullopt when none failed.
std::optional<std::size_t> first_failure(const std::vector<EndedProcess>& ended);

// "exit code 1", "signal 9 (Killed)"
std::string end_of(int status);

// "rank 3", "ranks 0, 1, 3", "ranks 0-5, 7". In order.
std::string show_ranks(const std::vector<Rank>& ranks);

struct FailureBox {
  std::string program;
  std::string host;
  std::string log_dir;
};
// What is shown of a failure: who was first, why, where its log is, what became of the others.
std::string failure_box(const FailureBox& box, const std::vector<EndedProcess>& ended,
                        std::size_t first);

// Where the output of a rank is kept.
std::string log_name(Rank rank);

}  // namespace motley
