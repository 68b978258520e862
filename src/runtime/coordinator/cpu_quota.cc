#include "runtime/coordinator/cpu_quota.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "base/check.h"

namespace motley {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// In microseconds. With a short period, even steps of a few milliseconds are slowed evenly. The
// kernel accepts no quota below kLeastQuota, so small limits need a longer period, up to 1 s.
constexpr double kPeriod = 10'000;
constexpr double kLongestPeriod = 1'000'000;
constexpr double kLeastQuota = 1'000;

constexpr auto kRemovePatience = 1s;  // a process may still be leaving its cgroup after waitpid()
constexpr auto kRemovePause = 5ms;

constexpr std::string_view kOurs = "motley-";

enum class Version { kV1, kV2 };

// A mounted cgroup hierarchy.
struct Mount {
  Version version;
  std::string root;                  // the cgroup at the mount point, within the hierarchy
  std::string point;                 // where it is mounted
  std::vector<std::string> options;  // in v1, the controllers are among them
};

int make_directory(const std::string& path) { return mkdir(path.c_str(), 0755) == 0 ? 0 : errno; }

// Removes a cgroup; its control files go with it. Fails if it has children or processes.
int remove_directory(const std::string& path) { return rmdir(path.c_str()) == 0 ? 0 : errno; }

// Writes with one call, because the kernel takes each write as a complete value. Never creates a
// file.
int write_control(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (file < 0) {
    return errno;
  }
  const ssize_t written = write(file, text.data(), text.size());
  const int problem = written < 0 ? errno : 0;
  close(file);
  return problem;
}

std::string explained(int problem) {
  const bool no_right = problem == EACCES || problem == EPERM;
  return std::string(std::strerror(problem)) +
         (no_right ? "; run as root, or have the cgroup delegated to you" : "");
}

Status write_or_fail(const CgroupKernel& kernel, const std::string& file, const std::string& text) {
  if (const int problem = kernel.write(file, text); problem != 0) {
    return fail("{}: cannot write \"{}\": {}", file, text, explained(problem));
  }
  return {};
}

tl::unexpected<Error> fail_to_make(const std::string& group, int problem) {
  return fail("{}: cannot make this cgroup: {}", group, explained(problem));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

bool contains(const std::vector<std::string>& list, std::string_view what) {
  return std::ranges::find(list, what) != list.end();
}

Result<std::vector<std::string>> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return fail("{}: cannot be read: {}", path, std::strerror(errno));
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Parses a file that lists controllers in one line.
bool lists_cpu(const std::string& path) {
  const auto lines = read_lines(path);
  return lines && !lines->empty() && contains(split(lines->front(), ' '), "cpu");
}

// "/a\040b" is "/a b": mountinfo escapes spaces and backslashes in paths as octal.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const bool escape = text[i] == '\\' && i + 4 <= text.size() &&
                        std::from_chars(&text[i + 1], &text[i] + 4, code, 8).ptr == &text[i] + 4;
    result.push_back(escape ? static_cast<char>(code) : text[i]);
    i += escape ? 3 : 0;
  }
  return result;
}

// "32 31 0:29 /root /point rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct": any number of
// fields may precede the dash.
std::optional<Mount> parse_mount(const std::string& line) {
  const auto fields = split(line, ' ');
  const auto dash = std::find(fields.begin() + std::min<std::ptrdiff_t>(6, std::ssize(fields)),
                              fields.end(), "-");
  if (fields.end() - dash < 4 || (dash[1] != "cgroup" && dash[1] != "cgroup2")) {
    return std::nullopt;
  }
  const Version version = dash[1] == "cgroup" ? Version::kV1 : Version::kV2;
  return Mount{version, unescaped(fields[3]), unescaped(fields[4]), split(dash[3], ',')};
}

// In v1, each controller may have its own hierarchy. If both versions are mounted and v1 has the
// cpu controller, v2 does not.
Result<Mount> find_mount(const std::string& mounts) {
  const auto lines = read_lines(mounts);
  if (!lines) {
    return tl::unexpected(lines.error());
  }
  std::optional<Mount> v2;
  for (const std::string& line : *lines) {
    auto mount = parse_mount(line);
    if (mount && mount->version == Version::kV1 && contains(mount->options, "cpu")) {
      return *mount;
    }
    if (mount && mount->version == Version::kV2 && !v2) {
      v2 = std::move(mount);
    }
  }
  if (!v2) {
    return fail("{}: no cgroup with the cpu controller is mounted", mounts);
  }
  const std::string controllers = v2->point + "/cgroup.controllers";
  if (!lists_cpu(controllers)) {
    return fail("{}: the cgroup cpu controller is not available here", controllers);
  }
  return *v2;
}

// The path of our cgroup in the hierarchy of that version: "4:cpu,cpuacct:/path" or "0::/path".
Result<std::string> membership(const std::string& memberships, Version version) {
  const auto lines = read_lines(memberships);
  if (!lines) {
    return tl::unexpected(lines.error());
  }
  for (const std::string& line : *lines) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version == Version::kV1 ? contains(split(controllers, ','), "cpu") : controllers.empty()) {
      return line.substr(second + 1);
    }
  }
  return fail("{}: has no entry for our cgroup", memberships);
}

// The directory of our own cgroup. Inside a container, the mounted part of the hierarchy may not
// contain our path; then the mount point is used.
std::string own_group(const Mount& mount, std::string path) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  const bool below = path == root || path.starts_with(root + "/");
  path = below ? mount.point + path.substr(root.size()) : mount.point;
  while (path.ends_with('/')) {
    path.pop_back();
  }
  std::error_code error;
  const bool escapes = contains(split(path, '/'), "..");
  return !escapes && fs::is_directory(path, error) ? path : mount.point;
}

// Enables the cpu controller for the child cgroups (v2).
int hand_down_cpu(const CgroupKernel& kernel, const std::string& group) {
  const std::string file = group + "/cgroup.subtree_control";
  return lists_cpu(file) ? 0 : kernel.write(file, "+cpu");
}

// The nearest cgroup, from ours upwards, that can enable the controller for its children. A cgroup
// with processes cannot (EBUSY), so it is rarely our own, which contains this process. Nor can a
// cgroup for which the controller is not enabled (ENOENT).
Result<std::string> base_v2(const CgroupKernel& kernel, const Mount& mount, std::string group) {
  while (true) {
    const int problem = hand_down_cpu(kernel, group);
    if (problem == 0) {
      return group;
    }
    if (group == mount.point || (problem != EBUSY && problem != ENOENT)) {
      return fail("{}/cgroup.subtree_control: cannot write \"+cpu\": {}{}", group,
                  explained(problem), problem == EBUSY ? "; this cgroup contains processes" : "");
    }
    group = fs::path(group).parent_path().string();
  }
}

std::vector<fs::path> directories_in(const fs::path& path) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (std::error_code unknown; entry->is_directory(unknown)) {
      found.push_back(entry->path());
    }
  }
  return found;
}

// 12 for "motley-12" and "motley-12-2"; 0 for names that are not ours.
pid_t owner_of(std::string_view name) {
  if (!name.starts_with(kOurs)) {
    return 0;
  }
  name.remove_prefix(kOurs.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool whole = end == name.data() + name.size() || *end == '-';
  return error == std::errc() && whole ? std::max(pid, 0) : 0;
}

// Removes cgroups left by killed runs. The kernel keeps those still in use.
void sweep(const CgroupKernel& kernel, const std::string& base) {
  for (const fs::path& group : directories_in(base)) {
    const pid_t pid = owner_of(group.filename().string());
    const bool dead = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
    if (!dead) {
      continue;
    }
    for (const fs::path& leaf : directories_in(group)) {
      kernel.remove(leaf.string());
    }
    kernel.remove(group.string());
  }
}

}  // namespace

int cores_here() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

CgroupKernel::CgroupKernel()
    : make(make_directory), remove(remove_directory), write(write_control) {}

// Cgroups <base>/motley-<pid>/<rank>. Removes those it created, also if creating one failed.
class CpuQuotas::Groups {
 public:
  Groups(CgroupKernel kernel, Version version) : kernel_(std::move(kernel)), version_(version) {}
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  ~Groups() {
    const auto deadline = std::chrono::steady_clock::now() + kRemovePatience;
    auto remove = [&](const std::string& group) {
      while (kernel_.remove(group) == EBUSY && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(kRemovePause);
      }
    };
    std::ranges::for_each(leaves_, remove);
    if (!parent_.empty()) {
      remove(parent_);
    }
  }

  Status make(const std::string& base, int workers) {
    sweep(kernel_, base);
    if (Status status = make_parent(base); !status) {
      return status;
    }
    if (version_ == Version::kV2) {
      if (Status status = write_or_fail(kernel_, parent_ + "/cgroup.subtree_control", "+cpu");
          !status) {
        return status;
      }
    }
    for (Rank rank = 0; rank < workers; ++rank) {
      const std::string leaf = fmt::format("{}/{}", parent_, rank);
      if (const int problem = kernel_.make(leaf); problem != 0) {
        return fail_to_make(leaf, problem);
      }
      leaves_.push_back(leaf);
    }
    return {};
  }

  Status set(Rank rank, double cores) {
    MOTLEY_CHECK(cores > 0 && std::isfinite(cores), "{} cores for worker {}", cores, rank);
    const double exact_period = std::max(kPeriod, kLeastQuota / cores);
    if (exact_period > kLongestPeriod) {
      return fail("{}: cannot be limited to {:g} of a core: the kernel's minimum is {:g}",
                  leaf(rank), cores, CpuQuotas::kLeastCores);
    }
    const std::string quota = std::to_string(std::lround(cores * exact_period));
    const std::string period = std::to_string(std::lround(exact_period));
    if (version_ == Version::kV2) {
      return write_or_fail(kernel_, leaf(rank) + "/cpu.max", quota + " " + period);
    }
    // In this order, so that in between, with old quota and new period, the limit never exceeds
    // both the old and the new one.
    if (Status status = write_or_fail(kernel_, leaf(rank) + "/cpu.cfs_period_us", period);
        !status) {
      return status;
    }
    return write_or_fail(kernel_, leaf(rank) + "/cpu.cfs_quota_us", quota);
  }

  Status add(Rank rank, pid_t pid) {
    return write_or_fail(kernel_, leaf(rank) + "/cgroup.procs", std::to_string(pid));
  }

 private:
  // The name may be in use by a killed run with the same pid, or by another run of this process.
  Status make_parent(const std::string& base) {
    const std::string name = fmt::format("{}/{}{}", base, kOurs, getpid());
    std::string group = name;
    int problem = kernel_.make(group);
    for (int i = 2; problem == EEXIST; ++i) {
      group = fmt::format("{}-{}", name, i);
      problem = kernel_.make(group);
    }
    if (problem != 0) {
      return fail_to_make(group, problem);
    }
    parent_ = group;
    return {};
  }

  const std::string& leaf(Rank rank) const {
    MOTLEY_CHECK(rank >= 0 && rank < std::ssize(leaves_), "there is no worker {}", rank);
    return leaves_[static_cast<std::size_t>(rank)];
  }

  CgroupKernel kernel_;
  Version version_;
  std::string parent_;
  std::vector<std::string> leaves_;
};

CpuQuotas::CpuQuotas(std::unique_ptr<Groups> groups) : groups_(std::move(groups)) {}
CpuQuotas::~CpuQuotas() = default;
CpuQuotas::CpuQuotas(CpuQuotas&&) noexcept = default;
CpuQuotas& CpuQuotas::operator=(CpuQuotas&&) noexcept = default;

Result<CpuQuotas> CpuQuotas::create(int workers, CgroupKernel kernel) {
  const auto mount = find_mount(kernel.mounts);
  if (!mount) {
    return tl::unexpected(mount.error());
  }
  const auto path = membership(kernel.memberships, mount->version);
  if (!path) {
    return tl::unexpected(path.error());
  }
  Result<std::string> base = own_group(*mount, *path);
  if (mount->version == Version::kV2) {
    base = base_v2(kernel, *mount, *base);
  }
  if (!base) {
    return tl::unexpected(base.error());
  }
  auto groups = std::make_unique<Groups>(std::move(kernel), mount->version);
  if (Status status = groups->make(*base, workers); !status) {
    return tl::unexpected(status.error());
  }
  return CpuQuotas(std::move(groups));
}

Status CpuQuotas::set(Rank rank, double cores) { return groups_->set(rank, cores); }
Status CpuQuotas::add(Rank rank, pid_t pid) { return groups_->add(rank, pid); }

}  // namespace motley
