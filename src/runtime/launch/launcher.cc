#include "runtime/launch/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <system_error>

#include "runtime/coordinator/coordinator.h"
#include "runtime/launch/children.h"
#include "runtime/launch/first_failure.h"
#include "runtime/launch/line_relay.h"
#include "runtime/launch/lost_ranks.h"
#include "runtime/launch/world.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/token.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr int kTickMs = 20;  // milliseconds between two checks of signals and processes
constexpr int kSignalsBeforeKill = 2;

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// A port for rank 0 that no other process gets: bound, so that the system does not give it out, but
// not listening, so that rank 0 can listen there. Both set SO_REUSEADDR.
class HeldPort {
 public:
  HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    const Address any = resolve("0.0.0.0", 0).value().front();
    if (!socket_ || setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(socket_.get(), any.get(), any.size) != 0) {
      throw_errno("cannot reserve a port for rank 0");
    }
  }
  std::uint16_t port() const { return own_address(socket_.get()).endpoint().port; }

 private:
  Descriptor socket_;
};

struct ChildPipe {
  Descriptor read;
  Descriptor write;
};

ChildPipe open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw_errno("cannot start a process");
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// The caller may have closed stdin, stdout or stderr: a pipe must not get one of their numbers,
// which are passed to the children.
void open_the_usual_three() {
  int file = 0;
  while ((file = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && file <= STDERR_FILENO) {
  }
  close(file);
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string beginning_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

class Launcher {
 public:
  explicit Launcher(const LauncherOptions& options)
      : options_(options),
        world_size_(options.processes * options.nodes),
        relay_(options.quiet ? -1 : STDOUT_FILENO, options.quiet ? -1 : STDERR_FILENO) {
    if (options_.port == 0) {
      held_ = std::make_unique<HeldPort>();
    }
    if (options_.nodes == 1 && token_of_environment().empty()) {
      token_ = random_token();
    }
  }

  LaunchResult run() {
    for (int local_rank = 0; local_rank < options_.processes; ++local_rank) {
      start(first_rank() + local_rank);
    }
    while (children_.any_running()) {
      relay_.turn(kTickMs);
      hand_signals_on();
      take_ends();
      press();
      end_newcomers();
    }
    while (!relay_.is_idle() && handed_on_ <= kSignalsBeforeKill) {
      relay_.turn(kTickMs);
      hand_signals_on();
    }
    for (int local_rank = 0; local_rank < options_.processes; ++local_rank) {
      fs::remove(elastic_file(first_rank() + local_rank));
    }
    return result();
  }

 private:
  using Clock = std::chrono::steady_clock;

  Rank first_rank() const { return options_.node * options_.processes; }

  std::string log_of(Rank rank) const { return options_.log_dir + "/" + log_name(rank); }
  fs::path error_file(Rank rank) const {
    return fs::absolute(options_.log_dir) / fmt::format("rank_{}.error", rank);
  }
  fs::path elastic_file(Rank rank) const {
    return fs::absolute(options_.log_dir) / fmt::format("rank_{}.elastic", rank);
  }
  std::optional<ElasticNote> elastic_note(Rank rank) const {
    return parse_elastic_note(beginning_of(elastic_file(rank)));
  }

  std::vector<std::string> environment_of(Rank rank) const {
    const auto port = held_ ? held_->port() : options_.port;
    std::vector<std::string> entries = {
        fmt::format("RANK={}", rank),
        fmt::format("WORLD_SIZE={}", world_size_),
        fmt::format("LOCAL_RANK={}", rank - first_rank()),
        fmt::format("LOCAL_WORLD_SIZE={}", options_.processes),
        fmt::format("GROUP_RANK={}", options_.node),
        fmt::format("MASTER_ADDR={}", options_.master),
        fmt::format("MASTER_PORT={}", port),
        fmt::format("{}={}", kErrorFileVariable, error_file(rank).string()),
        fmt::format("{}={}", kElasticFileVariable, elastic_file(rank).string())};
    if (!token_.empty()) {
      entries.push_back(fmt::format("{}={}", kTokenVariable, token_));
    }
    // Several processes with as many threads as cores each would slow each other down.
    for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
      if (std::getenv(name) == nullptr) {
        entries.push_back(std::string(name) + "=1");
      }
    }
    return entries;
  }

  // `flags`: how its log is opened.
  void start(Rank rank, int flags = O_TRUNC) {
    fs::remove(error_file(rank));  // of an earlier run, or of a process that was lost
    fs::remove(elastic_file(rank));
    const std::string path = log_of(rank);
    auto log = std::make_shared<Descriptor>(
        open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0644));
    if (!*log) {
      throw_errno(path);
    }
    ChildPipe out = open_pipe();
    ChildPipe err = open_pipe();
    children_.start(rank, options_.command, environment_of(rank), out.write.get(), err.write.get());
    const std::size_t width = std::to_string(world_size_ - 1).size();
    const std::string prefix = fmt::format("[rank {:>{}}] ", rank, width);
    relay_.add(rank, std::move(out.read), LineRelay::Stream::kOut, prefix, log);
    relay_.add(rank, std::move(err.read), LineRelay::Stream::kErr, prefix, log);
  }

  // One at a time: the kernel merges two pending signals of the same number.
  void hand_signals_on() {
    for (auto& [number, count] : handed_on_of_) {
      if (!options_.signals || count >= options_.signals(number)) {
        continue;
      }
      ++count;
      ++handed_on_;
      first_signal_ = first_signal_.value_or(number);
      was_told_ = true;
      hand_on(number);
      return;
    }
  }

  // A process that takes part in an elastic run understands SIGTERM as a wish to leave it. So the
  // first one is for rank 0, if that is here: it stops the run for all.
  void hand_on(int number) {
    const bool is_for_rank_0 = number == SIGTERM && handed_on_ == 1 && children_.pid_of(0) != 0;
    for (const Rank rank : children_.running()) {
      if (!is_for_rank_0 || rank == 0 || !takes_part(rank)) {
        children_.signal(rank, handed_on_ > kSignalsBeforeKill ? SIGKILL : number);
      }
    }
  }

  bool takes_part(Rank rank) const {
    const auto note = elastic_note(rank);
    return note && note->kind == ElasticNote::Kind::kSurvives;
  }

  void take_ends() {
    while (const auto exit = children_.poll()) {
      relay_.finish(exit->rank);
      const auto note = elastic_note(exit->rank);
      const auto verdict = was_told_ || failed_
                               ? LostRanks::Verdict::kIsOver
                               : lost_.judge(exit->rank, exit->status, note, !is_over_);
      const bool is_own_end = verdict == LostRanks::Verdict::kIsOver;
      ended_.push_back({exit->rank, exit->pid, exit->status, was_told_,
                        parse_error_note(beginning_of(error_file(exit->rank))), !is_own_end});
      has_own_end_ |= is_own_end || verdict == LostRanks::Verdict::kHasLeft;
      is_over_ |= exit->status == 0 && note && note->kind == ElasticNote::Kind::kOver;
      if (is_own_end && exit->status != 0 && !failed_) {
        failed_ = Clock::now();
      }
      go_on_after(*exit, verdict);
    }
  }

  void go_on_after(const ChildExit& exit, LostRanks::Verdict verdict) {
    const std::string said = lost_.say(exit.rank, exit.status, verdict);
    if (!said.empty()) {
      relay_.say("motley: " + said);
    }
    if (verdict == LostRanks::Verdict::kStartAgain) {
      std::ofstream(log_of(exit.rank), std::ios::app) << "motley: " << said << '\n';
      start(exit.rank, 0);
    }
  }

  // After a failure the remaining processes have to end, unless the user has sent a signal.
  void press() {
    if (!failed_ || first_signal_) {
      return;
    }
    const Seconds passed = std::chrono::duration<double>(Clock::now() - *failed_).count();
    if (passed > options_.grace && !was_told_) {
      was_told_ = true;
      children_.signal_all(SIGTERM);
    }
    if (passed > options_.grace + options_.kill_after) {
      children_.signal_all(SIGKILL);
    }
  }

  // The run is over, and whoever was started again and has not joined cannot any more.
  void end_newcomers() {
    if (!(is_over_ || failed_) || first_signal_) {
      return;
    }
    const auto now = Clock::now();
    for (const Rank rank : children_.running()) {
      if (!lost_.is_newcomer(rank, elastic_note(rank))) {
        continue;
      }
      const auto [told, is_first] = told_to_end_.emplace(rank, now);
      if (is_first) {
        children_.signal(rank, SIGTERM);
      } else if (std::chrono::duration<double>(now - told->second).count() > options_.kill_after) {
        children_.signal(rank, SIGKILL);
      }
    }
  }

  // If all processes of this machine were lost, nobody here knows how the run has ended.
  LaunchResult result() {
    if (!has_own_end_) {
      for (EndedProcess& each : ended_) {
        each.is_lost = false;
      }
    }
    const auto first = first_failure(ended_);
    if (first_signal_ || !first) {
      return {first_signal_, ""};
    }
    return {std::nullopt,
            failure_box({options_.program, host_name(), options_.log_dir}, ended_, *first)};
  }

  const LauncherOptions& options_;
  const int world_size_;
  std::unique_ptr<HeldPort> held_;
  std::string token_;
  LineRelay relay_;
  std::vector<EndedProcess> ended_;
  LostRanks lost_;
  bool is_over_ = false;      // some process says that its run is over, and has ended well
  bool has_own_end_ = false;  // some process was not lost
  std::map<Rank, Clock::time_point> told_to_end_;  // of those that had been started again
  std::optional<Clock::time_point> failed_;
  bool was_told_ = false;  // all were told to end
  std::array<std::pair<int, int>, 2> handed_on_of_ = {{{SIGINT, 0}, {SIGTERM, 0}}};
  int handed_on_ = 0;
  std::optional<int> first_signal_;
  Children children_;  // last member: killed before the others are destroyed
};

Status can_execute(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return fail("{}: no such file", path);
  }
  if (!fs::is_regular_file(path, error) || access(path.c_str(), X_OK) != 0) {
    return fail("{}: not an executable program", path);
  }
  return {};
}

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    const Status status = can_execute(name);
    return status ? Result<std::string>(name) : tl::unexpected(status.error());
  }
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (!name.empty()) {
    const auto folder = folders.substr(0, folders.find(':'));
    const std::string path = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (can_execute(path)) {
      return path;
    }
    if (folder.size() == folders.size()) {
      break;
    }
    folders.remove_prefix(folder.size() + 1);
  }
  return fail("{}: program not found in PATH", name);
}

}  // namespace

Result<std::vector<std::string>> executable(const std::vector<std::string>& command) {
  const auto path = find_program(command.front());
  if (!path) {
    return tl::unexpected(path.error());
  }
  std::vector<std::string> found = command;
  found.front() = *path;
  std::ifstream file(*path, std::ios::binary);
  std::string first;
  std::getline(file, first);
  if (first.starts_with("#!")) {
    const auto begin = std::min(first.find_first_not_of(" \t", 2), first.size());
    const auto interpreter = first.substr(begin, first.find_first_of(" \t", begin) - begin);
    if (!can_execute(interpreter)) {
      return fail("{}: its interpreter {} cannot be executed", *path, interpreter);
    }
  } else if (file && first.find('\0') == std::string::npos) {
    found.insert(found.begin(), "/bin/sh");  // a script without #! is run by the shell
  }
  return found;
}

Result<std::string> make_log_dir(const std::optional<std::string>& wanted, std::time_t now) {
  std::error_code error;
  if (wanted) {
    fs::create_directories(*wanted, error);
    if (error || access(wanted->c_str(), W_OK) != 0) {
      return fail("--log-dir {}: {}", *wanted, error ? error.message() : std::strerror(errno));
    }
    return *wanted;
  }
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y%m%d-%H%M%S", &local);
  const std::string base = fmt::format("launch-logs/{}", time.data());
  fs::create_directories("launch-logs", error);
  for (int number = 1; !error; ++number) {
    const std::string path = number == 1 ? base : fmt::format("{}-{}", base, number);
    if (fs::create_directory(path, error)) {
      return path;
    }
  }
  return fail("{}: {}", base, error.message());
}

LaunchResult launch(const LauncherOptions& options) {
  open_the_usual_three();
  return Launcher(options).run();
}

}  // namespace motley
