// Directories that stand in for control groups, for tests of CpuQuotas.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/coordinator/cpu_quota.h"
#include "tests/scratch_dir.h"

namespace motley::cpu_quota_test {

namespace fs = std::filesystem;

inline std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

// Directories that behave as groups do: control files come and go with a group, and v2 has its say
// about who may hand the cpu controller down.
class PretendedKernel : public testing::Test {
 protected:
  CgroupKernel kernel() {
    CgroupKernel kernel;
    kernel.memberships = scratch_.file("memberships");
    kernel.mounts = scratch_.file("mounts");
    kernel.make = [this](const std::string& group) { return make(group); };
    kernel.remove = [this](const std::string& group) { return remove(group); };
    kernel.write = [this](const std::string& file, const std::string& text) {
      return write(file, text);
    };
    return kernel;
  }

  // A mount of /proc/self/mountinfo; `point` is below the scratch directory.
  void mount(const std::string& root, const std::string& point, const std::string& rest) {
    mounts_ += "31 23 0:28 " + root + " " + scratch_.file(point) + " rw,relatime " + rest + "\n";
    scratch_.write("mounts", "22 27 0:21 / /proc rw shared:5 - proc proc rw\n" + mounts_);
  }
  void member(const std::string& lines) { scratch_.write("memberships", lines); }

  void v1(const std::string& group) { ASSERT_EQ(make(scratch_.file(group)), 0); }
  void v2(const std::string& group, const std::string& controllers, const std::string& handed_down,
          const std::string& processes = "") {
    scratch_.write(group + "/cgroup.controllers", controllers);
    scratch_.write(group + "/cgroup.subtree_control", handed_down);
    scratch_.write(group + "/cgroup.procs", processes);
  }

  std::string read(const std::string& file) const { return contents(scratch_.file(file)); }
  bool exists(const std::string& group) const { return fs::exists(scratch_.file(group)); }
  // motley-<our pid>, below a group.
  std::string ours(const std::string& group) const {
    return group + "/motley-" + std::to_string(getpid());
  }

  ScratchDir scratch_;
  std::map<std::string, int> refuse_;  // by path: what errno says
  std::map<std::string, int> busy_;    // by path: so often, remove finds it in use
  std::vector<std::string> writes_;    // "file = text", last parts of the path only
  const CgroupKernel real_;

 private:
  int make(const std::string& group) {
    if (refuse_.contains(group)) {
      return refuse_[group];
    }
    if (const int problem = real_.make(group); problem != 0) {
      return problem;
    }
    put(group + "/cgroup.procs", "");
    const fs::path handed_down = fs::path(group).parent_path() / "cgroup.subtree_control";
    if (!fs::exists(handed_down)) {
      put(group + "/cpu.cfs_period_us", "100000");
      put(group + "/cpu.cfs_quota_us", "-1");
      return 0;
    }
    put(group + "/cgroup.controllers", contents(handed_down));
    put(group + "/cgroup.subtree_control", "");
    if (has(contents(handed_down), "cpu")) {
      put(group + "/cpu.max", "max 100000");
    }
    return 0;
  }

  int remove(const std::string& group) {
    if (busy_[group] > 0) {
      --busy_[group];
      return EBUSY;
    }
    for (const auto& entry : fs::directory_iterator(group)) {
      if (entry.is_regular_file()) {
        fs::remove(entry);
      }
    }
    return real_.remove(group);
  }

  int write(const std::string& file, const std::string& text) {
    if (refuse_.contains(file)) {
      return refuse_[file];
    }
    const fs::path path = file;
    writes_.push_back(path.parent_path().filename().string() + "/" + path.filename().string() +
                      " = " + text);
    if (path.filename() != "cgroup.subtree_control") {
      return real_.write(file, text);
    }
    EXPECT_EQ(text, "+cpu");
    if (!has(contents(path.parent_path() / "cgroup.controllers"), "cpu")) {
      return ENOENT;
    }
    if (!contents(path.parent_path() / "cgroup.procs").empty()) {
      return EBUSY;
    }
    put(file, "cpu\n");
    return 0;
  }

  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  std::string mounts_;
};

}  // namespace motley::cpu_quota_test
