#include "runtime/coordinator/cpu_quota.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "tests/pretended_kernel.h"

namespace motley::cpu_quota_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kNoRight =
    "Permission denied; run as root, or have the cgroup delegated to you";

class CpuQuotasV1 : public PretendedKernel {
 protected:
  CpuQuotasV1() {
    mount("/", "cpu", "shared:9 - cgroup cgroup rw,cpu,cpuacct");
    member("5:memory:/elsewhere\n4:cpu,cpuacct:/user/me\n0::/unified\n");
    v1("cpu");
    v1("cpu/user");
    v1("cpu/user/me");
  }
  const std::string group_ = ours("cpu/user/me");
};

TEST_F(CpuQuotasV1, LimitsEachWorkerInAGroupOfItsOwn) {
  {
    auto quotas = CpuQuotas::create(2, kernel());
    ASSERT_TRUE(quotas) << quotas.error().message;
    EXPECT_EQ(read(group_ + "/1/cpu.cfs_quota_us"), "-1");
    ASSERT_TRUE(quotas->set(0, 0.5));
    ASSERT_TRUE(quotas->set(1, 1.75));
    ASSERT_TRUE(quotas->add(1, 4711));
    EXPECT_EQ(read(group_ + "/0/cpu.cfs_period_us"), "10000");
    EXPECT_EQ(read(group_ + "/0/cpu.cfs_quota_us"), "5000");
    EXPECT_EQ(read(group_ + "/0/cgroup.procs"), "");
    EXPECT_EQ(read(group_ + "/1/cpu.cfs_period_us"), "10000");
    EXPECT_EQ(read(group_ + "/1/cpu.cfs_quota_us"), "17500");
    EXPECT_EQ(read(group_ + "/1/cgroup.procs"), "4711");
    EXPECT_FALSE(exists(group_ + "/2"));
  }
  EXPECT_FALSE(exists(group_));
  EXPECT_TRUE(exists("cpu/user/me"));
}

TEST_F(CpuQuotasV1, AQuotaMayChangeAndIsNeverAboveBothOldAndNew) {
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas);
  ASSERT_TRUE(quotas->set(0, 1));
  ASSERT_TRUE(quotas->set(0, 0.02));
  EXPECT_EQ(writes_,
            (std::vector<std::string>{"0/cpu.cfs_period_us = 10000", "0/cpu.cfs_quota_us = 10000",
                                      "0/cpu.cfs_period_us = 50000", "0/cpu.cfs_quota_us = 1000"}));
}

// The kernel accepts no quota below 1 ms and no period above 1 s.
TEST_F(CpuQuotasV1, SmallQuotasHaveALongerPeriod) {
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas);
  const std::map<double, std::string> expected = {
      {0.1, "1000/10000"}, {0.099, "1000/10101"}, {0.003, "1000/333333"}, {0.001, "1000/1000000"}};
  for (const auto& [cores, text] : expected) {
    ASSERT_TRUE(quotas->set(0, cores));
    EXPECT_EQ(read(group_ + "/0/cpu.cfs_quota_us") + "/" + read(group_ + "/0/cpu.cfs_period_us"),
              text);
  }
  const Status status = quotas->set(0, 0.0004);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            scratch_.file(group_) +
                "/0: cannot be limited to 0.0004 of a core: the kernel's minimum is 0.001");
}

TEST_F(CpuQuotasV1, TwoAtOnceHaveGroupsOfTheirOwn) {
  auto first = CpuQuotas::create(1, kernel());
  auto second = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->set(0, 0.25));
  ASSERT_TRUE(second->set(0, 0.75));
  EXPECT_EQ(read(group_ + "/0/cpu.cfs_quota_us"), "2500");
  EXPECT_EQ(read(group_ + "-2/0/cpu.cfs_quota_us"), "7500");

  *first = std::move(*second);  // removes its old cgroups and keeps the new ones
  EXPECT_FALSE(exists(group_));
  EXPECT_TRUE(exists(group_ + "-2/0"));
}

TEST_F(CpuQuotasV1, RemovesWhatKilledRunsLeftAndNothingElse) {
  // Larger than any pid, so no process has it.
  for (const char* name : {"motley-99999999", "motley-99999999-2", "motley-99999998", "motley-1",
                           "motley-", "motley-99999999x", "motley-0", "other-99999999"}) {
    v1("cpu/user/me/" + std::string(name));
    v1("cpu/user/me/" + std::string(name) + "/0");
  }
  busy_[scratch_.file("cpu/user/me/motley-99999998/0")] = 1000;
  ASSERT_TRUE(CpuQuotas::create(1, kernel()));
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(scratch_.file("cpu/user/me"))) {
    if (entry.is_directory()) {
      left.insert(entry.path().filename());
    }
  }
  EXPECT_EQ(left, (std::set<std::string>{"motley-1", "motley-", "motley-99999999x", "motley-0",
                                         "motley-99999998", "other-99999999"}));
  EXPECT_TRUE(exists("cpu/user/me/motley-99999998/0"));
}

TEST_F(CpuQuotasV1, WaitsForProcessesOnTheirWayOut) {
  busy_[scratch_.file(group_ + "/0")] = 3;
  ASSERT_TRUE(CpuQuotas::create(2, kernel()));
  EXPECT_FALSE(exists(group_));
}

TEST_F(CpuQuotasV1, WhatStaysInUseStays) {
  busy_[scratch_.file(group_ + "/0")] = 1'000'000;
  ASSERT_TRUE(CpuQuotas::create(2, kernel()));
  EXPECT_TRUE(exists(group_ + "/0"));
  EXPECT_FALSE(exists(group_ + "/1"));
}

TEST_F(CpuQuotasV1, WithoutTheRightItSaysHowToGetIt) {
  const std::string path = scratch_.file(group_);
  refuse_[path] = EACCES;
  const auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_FALSE(quotas);
  EXPECT_EQ(quotas.error().message, path + ": cannot make this cgroup: " + kNoRight);
}

TEST_F(CpuQuotasV1, WhenNotAllCanBeMadeNoneIsLeft) {
  refuse_[scratch_.file(group_ + "/2")] = ENOSPC;
  const auto quotas = CpuQuotas::create(3, kernel());
  ASSERT_FALSE(quotas);
  EXPECT_EQ(quotas.error().message,
            scratch_.file(group_) + "/2: cannot make this cgroup: No space left on device");
  EXPECT_FALSE(exists(group_));
}

TEST_F(CpuQuotasV1, WhatTheKernelRefusesIsNamed) {
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas);
  const std::string leaf = scratch_.file(group_) + "/0";
  refuse_ = {{leaf + "/cgroup.procs", ESRCH}, {leaf + "/cpu.cfs_quota_us", EINVAL}};
  EXPECT_EQ(quotas->add(0, 4711).error().message,
            leaf + "/cgroup.procs: cannot write \"4711\": No such process");
  EXPECT_EQ(quotas->set(0, 2).error().message,
            leaf + "/cpu.cfs_quota_us: cannot write \"20000\": Invalid argument");
  fs::remove(leaf + "/cpu.cfs_period_us");
  EXPECT_EQ(quotas->set(0, 2).error().message,
            leaf + "/cpu.cfs_period_us: cannot write \"10000\": No such file or directory");
}

class CpuQuotasV2 : public PretendedKernel {
 protected:
  CpuQuotasV2() {
    mount("/", "all", "shared:9 - cgroup2 cgroup2 rw,nsdelegate");
    member("0::/slice/me\n");
    v2("all", "cpuset cpu io memory", "cpu memory");
    v2("all/slice", "cpu memory", "memory");
    v2("all/slice/me", "memory", "", "1234\n");
  }
};

TEST_F(CpuQuotasV2, LimitsEachWorkerBesideTheGroupThatHoldsUs) {
  const std::string group = ours("all/slice");
  {
    auto quotas = CpuQuotas::create(2, kernel());
    ASSERT_TRUE(quotas) << quotas.error().message;
    ASSERT_TRUE(quotas->set(0, 0.5));
    ASSERT_TRUE(quotas->set(1, 0.05));
    ASSERT_TRUE(quotas->add(1, 4711));
    EXPECT_EQ(read("all/slice/cgroup.subtree_control"), "cpu\n");
    EXPECT_EQ(read(group + "/cgroup.subtree_control"), "cpu\n");
    EXPECT_EQ(read(group + "/0/cpu.max"), "5000 10000");
    EXPECT_EQ(read(group + "/1/cpu.max"), "1000 20000");
    EXPECT_EQ(read(group + "/1/cgroup.procs"), "4711");
  }
  EXPECT_FALSE(exists(group));
}

TEST_F(CpuQuotasV2, AGroupThatHoldsProcessesIsPassedOver) {
  v2("all/slice/me", "cpu memory", "", "1234\n");
  v2("all/slice", "cpu memory", "", "77\n");
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas) << quotas.error().message;
  EXPECT_TRUE(exists(ours("all") + "/0/cpu.max"));
}

TEST_F(CpuQuotasV2, WhatIsHandedDownAlreadyIsNotAskedForAgain) {
  v2("all/slice/me", "cpu memory", "memory cpu");
  refuse_[scratch_.file("all/slice/me/cgroup.subtree_control")] = EACCES;
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas) << quotas.error().message;
  EXPECT_TRUE(exists(ours("all/slice/me") + "/0/cpu.max"));
}

TEST_F(CpuQuotasV2, ItGoesNoHigherThanTheMountPoint) {
  v2("all", "cpu", "", "1\n");
  member("0::/\n");
  const auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_FALSE(quotas);
  EXPECT_EQ(quotas.error().message, scratch_.file("all/cgroup.subtree_control") +
                                        ": cannot write \"+cpu\": Device or resource busy; "
                                        "this cgroup contains processes");
}

TEST_F(CpuQuotasV2, WithoutTheRightItSaysHowToGetIt) {
  const std::string file = scratch_.file("all/slice/me/cgroup.subtree_control");
  refuse_[file] = EACCES;
  const auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_FALSE(quotas);
  EXPECT_EQ(quotas.error().message, file + ": cannot write \"+cpu\": " + kNoRight);
}

TEST_F(CpuQuotasV2, WithoutTheCpuControllerItFails) {
  v2("all", "cpuset io memory", "");
  const auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_FALSE(quotas);
  EXPECT_EQ(quotas.error().message, scratch_.file("all/cgroup.controllers") +
                                        ": the cgroup cpu controller is not available here");
}

class CpuQuotasElsewhere : public PretendedKernel {};

// Systemd's hybrid layout: v2 is mounted, without the controller.
TEST_F(CpuQuotasElsewhere, V1IsTakenWhereItHasTheController) {
  mount("/", "unified", "- cgroup2 cgroup2 rw");
  mount("/", "cpuset", "- cgroup cgroup rw,cpuset");
  mount("/", "cpu", "- cgroup cgroup rw,cpu");
  member("3:cpuset:/\n2:cpuacct:/\n1:cpu:/a:b\n0::/me\n");
  v1("cpu");
  v1("cpu/a:b");
  v2("unified", "hugetlb", "");
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas) << quotas.error().message;
  EXPECT_TRUE(exists(ours("cpu/a:b") + "/0/cpu.cfs_quota_us"));
}

TEST_F(CpuQuotasElsewhere, V2IsTakenWhereV1DoesNotHaveTheController) {
  mount("/", "memory", "- cgroup cgroup rw,memory");
  mount("/", "unified", "- cgroup2 cgroup2 rw");
  member("1:memory:/\n0::/\n");
  v2("unified", "cpu", "");
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas) << quotas.error().message;
  EXPECT_TRUE(exists(ours("unified") + "/0/cpu.max"));
}

TEST_F(CpuQuotasElsewhere, TheMountMayShowAPartOfTheTree) {
  mount("/docker/a\\040b", "part", "- cgroup cgroup rw,cpu");
  v1("part");
  v1("part/me");
  const std::map<std::string, std::string> expected = {{"/docker/a b/me", "part/me"},
                                                       {"/docker/a b", "part"},
                                                       {"/docker/a b/gone", "part"},
                                                       {"/docker/a bc/me", "part"},
                                                       {"/docker/a b/me/../..", "part"},
                                                       {"/elsewhere", "part"},
                                                       {"/", "part"}};
  for (const auto& [path, base] : expected) {
    member("4:cpu:" + path + "\n");
    auto quotas = CpuQuotas::create(1, kernel());
    ASSERT_TRUE(quotas) << quotas.error().message;
    EXPECT_TRUE(exists(ours(base) + "/0")) << path;
  }
}

TEST_F(CpuQuotasElsewhere, TheMountPointMayHaveABlankInItsName) {
  mount("/", "a\\040b", "- cgroup cgroup rw,cpu");
  member("4:cpu:/\n");
  v1("a b");
  auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_TRUE(quotas) << quotas.error().message;
  EXPECT_TRUE(exists(ours("a b") + "/0"));
}

// With the real calls: nobody, not even root, can create a directory below a file.
TEST_F(CpuQuotasElsewhere, APlaceThatCannotHoldGroupsIsNamed) {
  mount("/", "file", "- cgroup cgroup rw,cpu");
  member("4:cpu:/\n");
  scratch_.write("file", "");
  CgroupKernel calls;
  calls.memberships = kernel().memberships;
  calls.mounts = kernel().mounts;
  const auto quotas = CpuQuotas::create(1, calls);
  ASSERT_FALSE(quotas);
  EXPECT_EQ(quotas.error().message,
            scratch_.file(ours("file")) + ": cannot make this cgroup: Not a directory");
}

TEST_F(CpuQuotasElsewhere, WithoutAMountedControllerItFails) {
  mount("/", "cpuset", "- cgroup cgroup rw,cpuset,cpuacct");
  member("1:cpuset:/\n");
  const auto quotas = CpuQuotas::create(1, kernel());
  ASSERT_FALSE(quotas);
  EXPECT_EQ(quotas.error().message,
            scratch_.file("mounts") + ": no cgroup with the cpu controller is mounted");
}

TEST_F(CpuQuotasElsewhere, WhatTheKernelDoesNotTellIsAnError) {
  EXPECT_EQ(CpuQuotas::create(1, kernel()).error().message,
            scratch_.file("mounts") + ": cannot be read: No such file or directory");
  mount("/", "cpu", "- cgroup cgroup rw,cpu");
  EXPECT_EQ(CpuQuotas::create(1, kernel()).error().message,
            scratch_.file("memberships") + ": cannot be read: No such file or directory");
  member("nonsense\n0::/\n");
  EXPECT_EQ(CpuQuotas::create(1, kernel()).error().message,
            scratch_.file("memberships") + ": has no entry for our cgroup");
  for (const char* line :
       {"", "-", "1 2 3", "1 2 3 / / rw -", "1 2 3 / / rw - cgroup", "- - - - -"}) {
    scratch_.write("mounts", line);
    EXPECT_FALSE(CpuQuotas::create(1, kernel())) << line;
  }
}

// A process that waits for a byte, then keeps two threads busy until it has used the given CPU
// time.
class BusyProcess {
 public:
  explicit BusyProcess(double cpu_seconds) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::jthread other([&] { burn(ends[0], cpu_seconds); });
      burn(ends[0], cpu_seconds);
      other.join();
      _exit(0);
    }
    close(ends[0]);
    go_ = ends[1];
  }
  ~BusyProcess() {
    close(go_);
    if (!ended_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Starts the work and waits for the exit. Returns the average number of cores used, or 0 if the
  // process did not exit.
  double run() {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(write(go_, "go", 2), 2);
    rusage used{};
    int status = 0;
    while (!ended_ && std::chrono::steady_clock::now() < begin + 60s) {
      std::this_thread::sleep_for(1ms);
      ended_ = wait4(pid_, &status, WNOHANG, &used) == pid_;
    }
    EXPECT_EQ(status, 0);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const auto seconds = std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    const auto rest = std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return ended_ ? (seconds + rest) / wall : 0;
  }

 private:
  static void burn(int go, double cpu_seconds) {
    char byte = 0;
    if (read(go, &byte, 1) != 1) {
      _exit(1);
    }
    timespec used{};
    do {
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9 <
             cpu_seconds);
  }

  pid_t pid_ = -1;
  int go_ = -1;
  bool ended_ = false;
};

// On the machine that runs the test: either the limit works, or one line says why it cannot.
TEST(CpuQuotas, TheKernelKeepsTheLimit) {
  std::vector<std::string> made;
  CgroupKernel kernel;
  kernel.make = [&, make = kernel.make](const std::string& group) {
    const int problem = make(group);
    if (problem == 0) {
      made.push_back(group);
    }
    return problem;
  };
  auto quotas = CpuQuotas::create(2, kernel);
  if (!quotas) {
    const std::string& line = quotas.error().message;
    EXPECT_TRUE(has(line, ": no cgroup with the cpu controller is mounted") ||
                has(line, ": the cgroup cpu controller is not available here") ||
                has(line, ": cannot make this cgroup: ") || has(line, ": cannot write \"+cpu\": "))
        << line;
    return;
  }
  ASSERT_EQ(made.size(), 3U);
  {
    BusyProcess busy(0.2);
    ASSERT_TRUE(quotas->set(1, 1));
    ASSERT_TRUE(quotas->add(1, busy.pid()));
    ASSERT_TRUE(quotas->set(1, 0.2));  // a process is already in its cgroup
    EXPECT_EQ(contents(made[2] + "/cgroup.procs"), std::to_string(busy.pid()) + "\n");
    // Without a limit, two threads use up to 2 cores. Load from other programs only lowers it.
    const double cores = busy.run();
    EXPECT_LT(cores, 0.3);
    EXPECT_GT(cores, 0);
  }
  quotas = fail("removes the groups");
  for (const std::string& group : made) {
    EXPECT_FALSE(fs::exists(group)) << group;
  }
}

}  // namespace
}  // namespace motley::cpu_quota_test
