// Real limits on the processor time of worker processes, kept by the kernel: one cgroup per worker,
// under cgroup v1 or v2. So a worker of half the speed gets half the processor, whatever it runs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "motley/base/ids.h"

namespace motley {

// Cores that this process may use.
int cores_here();

// Where the kernel tells about groups, and the calls that change them. By default the real ones; a
// test pretends: directories and files of its own do not come and go as those of a group do.
struct CgroupKernel {
  CgroupKernel();

  std::string memberships = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
  // All give 0, or what errno said.
  std::function<int(const std::string& group)> make;
  std::function<int(const std::string& group)> remove;
  std::function<int(const std::string& file, const std::string& text)> write;
};

class CpuQuotas {
 public:
  static constexpr double kLeastCores = 0.001;  // the kernel holds no less

  // Makes a group for each worker, without a limit yet; removes those of runs that were killed.
  // Fails when no cpu controller is mounted, or without the right to make groups.
  static Result<CpuQuotas> create(int workers, CgroupKernel kernel = {});

  // Removes the groups. Their processes must have ended: a group that is in use stays, for a later
  // run to remove.
  ~CpuQuotas();
  CpuQuotas(CpuQuotas&&) noexcept;
  CpuQuotas& operator=(CpuQuotas&&) noexcept;

  // From now on the worker uses at most so many cores' worth of time; at any time, any number of
  // times. Fails below kLeastCores.
  Status set(Rank rank, double cores);

  // Puts a process into the worker's group: all its threads, and whatever it starts.
  Status add(Rank rank, pid_t pid);

 private:
  class Groups;
  explicit CpuQuotas(std::unique_ptr<Groups> groups);
  std::unique_ptr<Groups> groups_;
};

}  // namespace motley
