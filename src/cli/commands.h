// The subcommands. Each returns the exit code of the program: 0 success, 1 the run failed, 2 bad
// usage or input, 130 or 143 stopped by a signal after saving.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/parse.h"
#include "motley/base/ids.h"
#include "record/run_dir.h"

namespace motley {

inline constexpr int kDone = 0;
inline constexpr int kRunFailed = 1;
inline constexpr int kBadInput = 2;

// Prints `motley: message` on stderr and returns exit code 2.
int refuse(const std::string& message);

struct JobFlags {
  std::string path;
  std::vector<std::string> overrides;  // --set
  std::optional<std::string> variant;  // run this variant
};

// Parses the job in `text`; the flags name its file and overrides. The second one reads the file
// too.
Result<Job> parse_text(const std::string& text, const JobFlags& flags, Mode mode);
Result<Job> load_job(const JobFlags& flags, Mode mode);

// Workers join at HOST:PORT instead of being started here.
struct ListenFlags {
  std::optional<std::string> listen;
  double join_timeout = 600;  // seconds to wait for them
};

struct RunFlags {
  JobFlags job;
  std::optional<std::string> out;
  std::optional<std::string> resume;  // a run directory, a checkpoint or "latest"
  bool no_trace = false;
  bool json = false;
  bool quiet = false;
  std::optional<std::optional<int>> dashboard;  // set: serve a live page; with a port if given
  std::string dashboard_host = "127.0.0.1";
  ListenFlags listen;  // train
};

struct CompareFlags {
  RunFlags run;
  bool simulate = false;
  std::optional<int> jobs;  // simulations at a time; default: number of cores
};

struct ReportFlags {
  std::vector<std::string> directories;
  std::optional<std::string> out;  // output file
};

struct StateFlags {
  std::string directory;  // of a run or a checkpoint
  bool json = false;
};

// A run that is under way: in a run directory or the "latest", or at an address.
struct AskFlags {
  std::string directory = "latest";
  std::optional<std::string> join;  // HOST:PORT of the rendezvous
  int worker = 0;                   // drain
  bool json = false;                // status
};

struct CalibrateFlags {
  JobFlags job;  // without a path: a default job
  ListenFlags listen;
  bool write = false;
  bool json = false;
};

struct WorkerFlags {
  std::string join;  // HOST:PORT of the rendezvous
  Rank rank = -1;    // -1: any free rank
  bool quiet = false;
  bool once = false;  // does not join again
};

struct LaunchFlags {
  int processes = 1;  // on this machine
  int nodes = 1;
  std::optional<int> node;
  std::optional<std::string> master;
  std::optional<int> port;
  std::optional<std::string> log_dir;
  double grace = 10;
  bool quiet = false;
  std::vector<std::string> command;  // the program and its arguments
};

int run_command(const RunFlags& flags, Mode mode);  // train and simulate
int compare_command(const CompareFlags& flags);
int state_command(const StateFlags& flags);
int report_command(const ReportFlags& flags);
int status_command(const AskFlags& flags);
int drain_command(const AskFlags& flags);
struct ConfigFlags {
  JobFlags job;
  bool keys = false;
};
int config_command(const ConfigFlags& flags);
int calibrate_command(const CalibrateFlags& flags);
int strategies_command();
int worker_command(const WorkerFlags& flags);
int launch_command(const LaunchFlags& flags);

}  // namespace motley
