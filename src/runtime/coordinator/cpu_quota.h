// Limits on the CPU time of worker processes, enforced by the kernel: one cgroup per worker, under
// cgroup v1 or v2. A worker of half the speed gets half a core, whatever it runs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "motley/base/ids.h"

namespace motley {

// The number of cores that this process may use.
int cores_here();

// The files and calls through which the kernel shows and changes cgroups: the real ones by default.
// Tests replace the calls, because a plain directory gets no control files when it is created.
struct CgroupKernel {
  CgroupKernel();

  std::string memberships = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
  // All return 0 or an errno value.
  std::function<int(const std::string& group)> make;
  std::function<int(const std::string& group)> remove;
  std::function<int(const std::string& file, const std::string& text)> write;
};

class CpuQuotas {
 public:
  static constexpr double kLeastCores = 0.001;  // the smallest limit that the kernel accepts

  // Creates a cgroup for each worker, without a limit at first, and removes cgroups left by killed
  // runs. Fails if no cpu controller is mounted, or without permission to create cgroups.
  static Result<CpuQuotas> create(int workers, CgroupKernel kernel = {});

  // Removes the cgroups. Their processes must have ended; a cgroup still in use stays until a later
  // run removes it.
  ~CpuQuotas();
  CpuQuotas(CpuQuotas&&) noexcept;
  CpuQuotas& operator=(CpuQuotas&&) noexcept;

  // Limits the worker to this many cores of CPU time. May be called at any time, repeatedly. Fails
  // below kLeastCores.
  Status set(Rank rank, double cores);

  // Moves a process into the worker's cgroup, with all its threads and the processes it will start.
  Status add(Rank rank, pid_t pid);

 private:
  class Groups;
  explicit CpuQuotas(std::unique_ptr<Groups> groups);
  std::unique_ptr<Groups> groups_;
};

}  // namespace motley
