#include "cli/variant_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "cli/commands.h"
#include "session/signals.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr auto kPause = std::chrono::milliseconds(20);
constexpr std::string_view kLog = "log.txt";

// The file that a run writes to, kept open until the run is started.
class LogFile {
 public:
  explicit LogFile(const fs::path& path) : file_(open_at(path)) {
    if (file_ < 0) {
      throw std::system_error(errno, std::generic_category(), path.string());
    }
  }
  ~LogFile() { close(file_); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  int file() const { return file_; }

 private:
  // Never a standard descriptor: those are passed to the run.
  static int open_at(const fs::path& path) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || file > STDERR_FILENO) {
      return file;
    }
    const int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file);
    return higher;
  }

  const int file_;
};

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The last message of the program itself; empty if there is none.
std::string last_message(const fs::path& log) {
  constexpr std::string_view kProgram = "motley: ";
  std::ifstream file(log);
  std::string words;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kProgram)) {
      words = line.substr(kProgram.size());
    }
  }
  return words;
}

}  // namespace

std::optional<VariantResult> VariantRuns::next() {
  while (true) {
    hand_signals_on();
    start_some();
    const auto exit = children_.poll();
    tell_what_is_new();
    if (exit) {
      ++ended_;
      return result_of(*exit);
    }
    if (!children_.any_running()) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void VariantRuns::start_some() {
  while (started_ < runs_.size() && started_ - ended_ < at_a_time_ && !first_signal()) {
    const VariantRun& run = runs_[started_];
    fs::create_directories(run.directory);
    fs::remove(run.directory / "summary.json");  // of an earlier comparison
    const LogFile log(run.directory / kLog);
    children_.start(static_cast<Rank>(started_), run.command, {}, log.file());
    ++started_;
  }
}

// The runs have their own process groups, so terminal signals do not reach them.
void VariantRuns::hand_signals_on() {
  if (signals_handed_on_ >= signals_caught()) {
    return;
  }
  // One at a time: the kernel merges two pending signals. A run stops cleanly at the first signal
  // and at once at the second.
  constexpr int kPolite = 2;
  ++signals_handed_on_;
  children_.signal_all(signals_handed_on_ > kPolite ? SIGKILL : number_of(*first_signal()));
}

void VariantRuns::tell_what_is_new() {
  const std::size_t first = started_ - std::min(started_, at_a_time_);
  for (std::size_t i = first; listener_ && i < started_; ++i) {
    std::ifstream log(runs_[i].directory / kLog);
    log.seekg(heard_[i]);
    // An incomplete line is left for the next call.
    for (std::string line; std::getline(log, line) && !log.eof(); heard_[i] = log.tellg()) {
      listener_(runs_[i].name, line);
    }
  }
}

VariantResult VariantRuns::result_of(const ChildExit& exit) const {
  VariantResult result;
  result.index = static_cast<std::size_t>(exit.rank);
  const fs::path& directory = runs_[result.index].directory;
  const int code = WIFEXITED(exit.status) ? WEXITSTATUS(exit.status) : kRunFailed;
  const bool stopped = signals_handed_on_ > 0 && code != kDone;
  result.bad_input = code == kBadInput;
  result.summary = text_of(directory / "summary.json");
  if (stopped && !result.summary) {
    result.trouble = "stopped";
  } else if (WIFSIGNALED(exit.status)) {
    result.trouble = describe_status(exit.status);
  } else if (code != kDone && !stopped) {
    const std::string words = last_message(directory / kLog);
    result.trouble = words.empty() ? describe_status(exit.status) : words;
  }
  if (!result.trouble.empty()) {
    result.summary.reset();
  }
  return result;
}

}  // namespace motley
