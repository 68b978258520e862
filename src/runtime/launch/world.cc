#include "runtime/launch/world.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/rendezvous/token.h"

namespace motley {
namespace {

// Slurm's highest number for a step made by srun; higher ones are batch scripts and shells.
constexpr std::int64_t kLastStep = 0xfffffff0;
constexpr std::int64_t kMostProcesses = 1'000'000;

// The environment, with checked conversions.
class Variables {
 public:
  explicit Variables(const Environment& get) : get_(get) {}

  bool has(const char* name) const { return get_(name) != nullptr; }

  // "" if not set.
  std::string text(const char* name) const {
    const char* value = get_(name);
    return value == nullptr ? "" : value;
  }

  Result<std::int64_t> number(const char* name, std::int64_t low, std::int64_t high) const {
    const std::string value = text(name);
    const char* end = value.data() + value.size();
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc::result_out_of_range && rest == end) {
      return fail("{}={}: expected a number from {} to {}", name, value, low, high);
    }
    if (error != std::errc() || rest != end) {
      return fail("{}={}: not a number", name, value);
    }
    if (number < low || number > high || value.starts_with('-')) {  // "-0" is not in the range
      return fail("{}={}: expected a number from {} to {}", name, value, low, high);
    }
    return number;
  }

 private:
  const Environment& get_;
};

// The variables in which a launcher passes the four numbers.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};
constexpr Names kTorch = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};

Status read_int(const Variables& variables, const char* name, std::int64_t low, std::int64_t high,
                int& into) {
  const auto number = variables.number(name, low, high);
  if (!number) {
    return tl::unexpected(number.error());
  }
  into = static_cast<int>(*number);
  return {};
}

// Reads rank and size, and those of this machine if they are set.
Status read_numbers(const Variables& variables, const Names& names, World& world) {
  for (const auto& [one, other] : {std::pair(names.rank, names.size),  //
                                   std::pair(names.size, names.rank)}) {
    if (!variables.has(one)) {
      return fail("{}={} is set, but {} is not", other, variables.text(other), one);
    }
  }
  Status status = read_int(variables, names.size, 1, kMostProcesses, world.size);
  if (status) {
    status = read_int(variables, names.rank, 0, kMostProcesses, world.rank);
  }
  if (status && world.rank >= world.size) {
    status = fail("{}={}: ranks are below {}={}", names.rank, variables.text(names.rank),
                  names.size, world.size);
  }
  if (status && variables.has(names.local_rank)) {
    status = read_int(variables, names.local_rank, 0, world.size - 1, world.local_rank);
  }
  world.local_size = world.local_rank + 1;  // at least
  if (status && names.local_size != nullptr && variables.has(names.local_size)) {
    status =
        read_int(variables, names.local_size, world.local_rank + 1, world.size, world.local_size);
  }
  return status;
}

// MASTER_PORT, or a port derived from the name of the job.
Status read_port(const Variables& variables, const std::string& job, World& world) {
  if (variables.has("MASTER_PORT")) {
    // torchrun's own store may already listen there; it tells its workers so, and motley uses the
    // next port.
    const bool taken = variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
    int port = 0;
    const Status status = read_int(variables, "MASTER_PORT", 1, taken ? 65'534 : 65'535, port);
    world.master.port = static_cast<std::uint16_t>(port + (taken ? 1 : 0));
    return status;
  }
  if (world.size > 1 && job.empty()) {
    return fail("MASTER_PORT is not set; set it to the port at which rank 0 can be reached");
  }
  world.master.port = world.size > 1 ? port_of_job(job) : 0;
  return {};
}

Status read_torch(const Variables& variables, World& world) {
  const std::string run = variables.text("TORCHELASTIC_RUN_ID");
  world.launcher = !run.empty()                        ? "torchrun"
                   : variables.has(kErrorFileVariable) ? "motley launch"
                                                       : "environment";
  world.token = run == "none" ? "" : run;  // torchrun says "none" if there is no id
  const Status status = read_numbers(variables, kTorch, world);
  return status ? read_port(variables, "", world) : status;
}

Status read_open_mpi(const Variables& variables, World& world) {
  world.launcher = "mpirun";
  world.token = variables.text("PMIX_NAMESPACE");
  if (world.token.empty()) {
    world.token = variables.text("OMPI_MCA_ess_base_jobid");
  }
  if (const Status status = read_numbers(variables, kOpenMpi, world); !status) {
    return status;
  }
  if (world.local_size != world.size && world.master.host.empty()) {
    return fail(
        "MASTER_ADDR is not set, and mpirun started processes on several machines: "
        "start them with mpirun -x MASTER_ADDR=<the machine of rank 0>");
  }
  return read_port(variables, world.token, world);
}

// Parses "5,4(x3)": processes per node. nullopt for anything else.
std::optional<int> tasks_on(std::string_view list, std::int64_t node) {
  while (!list.empty()) {
    const auto item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    int tasks = 0;
    std::int64_t nodes = 1;
    const char* end = item.data() + item.size();
    auto [rest, error] = std::from_chars(item.data(), end, tasks);
    if (error == std::errc() && end - rest > 3 && rest[0] == '(' && rest[1] == 'x') {
      const auto repeated = std::from_chars(rest + 2, end, nodes);
      rest = repeated.ptr < end && *repeated.ptr == ')' ? repeated.ptr + 1 : rest;
    }
    if (error != std::errc() || rest != end || tasks < 1) {
      return std::nullopt;
    }
    if (node < nodes) {
      return tasks;
    }
    node -= nodes;
  }
  return std::nullopt;
}

Status read_slurm_master(const Variables& variables, World& world) {
  if (!world.master.host.empty()) {
    return {};
  }
  const char* name =
      variables.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const auto host = first_host(variables.text(name));
  if (!host) {
    return fail("{}={}: {}; set MASTER_ADDR to the machine of rank 0", name, variables.text(name),
                host.error().message);
  }
  world.master.host = *host;
  return {};
}

Status read_slurm(const Variables& variables, World& world) {
  const auto step = variables.number("SLURM_STEP_ID", 0, 0xffffffff);
  if (!step) {
    return tl::unexpected(step.error());
  }
  if (*step > kLastStep) {
    return {};  // Slurm sets these for a batch script too, but it started no tasks
  }
  world.launcher = "srun";
  world.token =
      fmt::format("{}.{}", variables.text("SLURM_JOB_ID"), variables.text("SLURM_STEP_ID"));
  const bool sized = variables.has("SLURM_STEP_NUM_TASKS");
  const Names names = {"SLURM_PROCID", sized ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS",
                       "SLURM_LOCALID", nullptr};
  Status status = read_numbers(variables, names, world);
  if (!status) {
    return status;
  }
  const auto node = variables.number("SLURM_NODEID", 0, kMostProcesses);
  const auto here = tasks_on(variables.text("SLURM_STEP_TASKS_PER_NODE"), node.value_or(0));
  world.local_size = std::clamp(here.value_or(0), world.local_size, world.size);
  if (world.size > 1) {
    status = read_slurm_master(variables, world);
  }
  return status ? read_port(variables, world.token, world) : status;
}

}  // namespace

Result<World> world_from(const Environment& get) {
  const Variables variables(get);
  World world;
  world.master.host = variables.text("MASTER_ADDR");
  Status status;
  if (variables.has(kTorch.rank) || variables.has(kTorch.size)) {
    status = read_torch(variables, world);
  } else if (variables.has(kOpenMpi.rank) || variables.has(kOpenMpi.size)) {
    status = read_open_mpi(variables, world);
  } else if (variables.has("SLURM_PROCID") && variables.has("SLURM_STEP_ID")) {
    status = read_slurm(variables, world);
  }
  if (!status) {
    return tl::unexpected(status.error());
  }
  if (world.master.host.empty()) {
    world.master.host = "127.0.0.1";
  }
  if (const std::string token = variables.text(kTokenVariable); !token.empty()) {
    world.token = token;
  }
  return world;
}

Result<std::string> first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() == ']') {
      return fail("] without [");
    }
    if (list.front() != '[') {
      host += list.front();
      list.remove_prefix(1);
      continue;
    }
    const auto close = list.find(']');
    if (close == list.npos) {
      return fail("[ without ]");
    }
    const auto ranges = list.substr(1, close - 1);
    const auto first = ranges.substr(0, ranges.find_first_of(",-"));
    if (first.empty() || first.find_first_not_of("0123456789") != first.npos) {
      return fail("no number after [");
    }
    host += first;
    list.remove_prefix(close + 1);
  }
  if (host.empty()) {
    return fail("it names no host");
  }
  return host;
}

// FNV-1a, which is the same on all platforms and will not change.
std::uint16_t port_of_job(std::string_view name) {
  constexpr std::uint64_t kLowest = 20'000;
  constexpr std::uint64_t kPorts = 12'000;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : name) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return static_cast<std::uint16_t>(kLowest + hash % kPorts);
}

}  // namespace motley
