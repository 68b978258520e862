// The subcommands. Each returns the exit code of the program: 0 done, 1 the run failed, 2 bad usage
// or input, 130 / 143 stopped by a signal after saving.
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

// Prints `motley: message` on stderr and gives the code back.
int refuse(const std::string& message);

struct JobFlags {
  std::string path;
  std::vector<std::string> overrides;  // --set
  std::optional<std::string> variant;  // instead of the job itself
};

// The job in the text of the file that the flags name; and the same, with the file to be read.
Result<Job> parse_text(const std::string& text, const JobFlags& flags, Mode mode);
Result<Job> load_job(const JobFlags& flags, Mode mode);

struct RunFlags {
  JobFlags job;
  std::optional<std::string> out;
  bool json = false;
  bool quiet = false;
  std::optional<std::optional<int>> dashboard;  // a live page, perhaps on this port
  std::string dashboard_host = "127.0.0.1";
  std::optional<std::string> listen;  // train: workers come to HOST:PORT by themselves
  double join_timeout = 600;          // seconds that they have for it
};

struct CompareFlags {
  RunFlags run;
  bool simulate = false;
  std::optional<int> jobs;  // simulations at a time; the cores when not given
};

struct ReportFlags {
  std::vector<std::string> directories;
  std::optional<std::string> out;  // the file
};

struct CalibrateFlags {
  JobFlags job;  // no path: for the usual job
  bool write = false;
  bool json = false;
};

struct WorkerFlags {
  std::string join;  // HOST:PORT of the rendezvous
  Rank rank = -1;    // any that is free
  bool quiet = false;
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
int report_command(const ReportFlags& flags);
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
