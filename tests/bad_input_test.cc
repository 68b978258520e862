// A user's mistake gives one clear line, exit code 2 and no run directory.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/process.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

struct Mistake {
  std::string name;
  std::string job;
  std::vector<std::string> expected;  // all of these must occur in the line
};

// Printed by a failing test.
std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

std::string small_job(const std::string& more) { return "name = \"small\"\n" + more; }

// Files with one mistake each; FILES stands for their folder.
void write_bad_files(const ScratchDir& scratch) {
  constexpr std::size_t kImage = 784;  // pixels
  auto number = [](std::uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                       static_cast<char>(value >> 8), static_cast<char>(value)};
  };
  auto images = [&](std::uint32_t magic, std::uint32_t count, std::size_t pixels) {
    return number(magic) + number(count) + number(28) + number(28) + std::string(pixels, '\1');
  };
  auto labels = [&](std::uint32_t count) {
    return number(0x801) + number(count) + std::string(count, '\1');
  };
  auto folder = [&](const std::string& name, const std::string& image_file,
                    const std::string& label_file) {
    fs::create_directories(scratch.file(name));
    for (const char* part : {"train", "t10k"}) {
      scratch.write(name + "/" + part + "-images-idx3-ubyte", image_file);
      scratch.write(name + "/" + part + "-labels-idx1-ubyte", label_file);
    }
  };
  folder("magic", images(0x999, 4, 4 * kImage), labels(4));
  folder("counts", images(0x803, 4, 4 * kImage), labels(5));
  folder("short", images(0x803, 4, 3 * kImage), labels(4));
  fs::create_directories(scratch.file("gz"));
  for (const char* file : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    const std::string whole =
        read_file(std::string("/usr/share/datasets/fashion-mnist/") + file + ".gz");
    scratch.write(std::string("gz/") + file + ".gz", whole.substr(0, whole.size() / 2));
  }
  scratch.write("not.pt", "this is not a module");
}

std::string idx_job(const std::string& folder) {
  return small_job("[data]\nkind = \"idx\"\npath = \"FILES/" + folder + "\"\n");
}

const std::vector<Mistake>& mistakes_about_machines() {
  static const std::vector<Mistake> all = {
      {"AnEventForNobody",
       small_job("[[cluster.event]]\nat = 1\nworker = 4\nspeed = 1\n"),
       {"job.toml:4", "cluster.event[0].worker"}},
      {"AnEventThatOnlySimulateKnows",
       small_job("[[cluster.event]]\nat = 1\nworker = 0\nkind = \"latency\"\nlatency = 1\n"),
       {"job.toml:5", "cluster.event[0].kind = \"latency\"", "simulated"}},
      {"AnEventWithTheKeyOfAnotherKind",
       small_job("[[cluster.event]]\nat = 1\nworker = 0\nbandwidth = 1\n"),
       {"job.toml:5", "cluster.event[0].bandwidth", "kind is \"speed\""}},
      {"HostsOfTheWrongLength",
       small_job("[cluster]\nhosts = [0, 0, 1]\n"),
       {"job.toml:3", "cluster.hosts", "3", "4"}},
      {"AMachineWithTwoLinks",
       small_job("[cluster]\nhosts = [0, 0, 1, 1]\nbandwidth = [1, 2, 3, 3]\n"),
       {"job.toml:4", "cluster.bandwidth", "worker 0", "worker 1", "cluster.hosts"}},
      {"AMatrixThatIsNotSquare",
       small_job("[cluster]\nworkers = 2\nlatency = [[0, 1],\n [1]]\n"),
       {"job.toml:5", "cluster.latency[1]", "1 entries", "2 rows"}},
      {"QuotasWithOverhead",
       small_job("[cluster]\nisolate = \"cgroup\"\noverhead = 1\n"),
       {"job.toml:4", "cluster.overhead", "cgroup"}},
      {"AQuotaThatTheKernelCannotHold",
       small_job("[cluster]\nisolate = \"cgroup\"\nspeeds = [1, 1, 1, 1e-6]\n"),
       {"cluster.isolate", "worker 3", "cluster.speeds"}},
  };
  return all;
}

const std::vector<Mistake>& mistakes_in_jobs() {
  static const std::vector<Mistake> all = {
      {"UnknownKey", small_job("[train]\nbach = 3\n"), {"job.toml:3", "train.bach", "train.batch"}},
      {"UnknownTable", small_job("[trian]\nbatch = 3\n"), {"job.toml:2", "trian"}},
      {"WrongType", small_job("[train]\nbatch = \"many\"\n"), {"job.toml:3", "train.batch"}},
      {"NegativeSize", small_job("[train]\nbatch = -1\n"), {"job.toml:3", "train.batch"}},
      {"ZeroWorkers", small_job("[cluster]\nworkers = 0\n"), {"job.toml:3", "cluster.workers"}},
      {"WrongLength",
       small_job("[cluster]\nworkers = 4\nspeeds = [1, 1, 1]\n"),
       {"job.toml:4", "cluster.speeds", "3", "4"}},
      {"MicroBatchesOfTheWrongLength",
       small_job("[train]\nmicro_batch = [8, 8]\n"),
       {"job.toml:3", "train.micro_batch", "2", "4"}},
      {"AMicroBatchOfZero",
       small_job("[train]\nmicro_batch = [8, 8, 0, 8]\n"),
       {"job.toml:3", "train.micro_batch[2]"}},
      {"AMicroBatchInWords",
       small_job("[train]\nmicro_batch = \"small\"\n"),
       {"job.toml:3", "train.micro_batch"}},
      {"SharesOfTheWrongLength",
       small_job("[strategy]\nallocation = \"static\"\nshares = [1, 2]\n"),
       {"job.toml:4", "strategy.shares", "2", "4"}},
      {"AShareOfZero",
       small_job("[strategy]\nallocation = \"static\"\nshares = [1, 1, 1, 0]\n"),
       {"job.toml:4", "strategy.shares[3]"}},
      {"ANegativeShare",
       small_job("[strategy]\nallocation = \"static\"\nshares = [1, -1, 1, 1]\n"),
       {"job.toml:4", "strategy.shares[1]"}},
      {"NoShares",
       small_job("[strategy]\nallocation = \"static\"\n"),
       {"job.toml:3", "strategy.shares", "missing"}},
      {"FewerSamplesThanWorkers",
       small_job("[train]\nbatch = 3\n"),
       {"job.toml:3", "train.batch", "cluster.workers"}},
      {"Syntax", "name = \n", {"job.toml:1"}},
      {"MoreServersThanWorkers",
       small_job("[strategy]\nsync = \"ps_asp\"\nps.servers = 9\n"),
       {"job.toml:4", "strategy.ps.servers is 9", "cluster.workers is "}},
      {"BackupWithoutTokens",
       small_job("[strategy]\nsync = \"hop\"\n[strategy.hop]\nmode = \"backup\"\n"),
       {"strategy.hop.mode", "strategy.hop.max_gap"}},
      {"AGraphInTwoParts",
       small_job("[strategy]\nsync = \"hop\"\n[strategy.hop]\ngraph = \"edges\"\n"
                 "edges = [[0, 1], [1, 0], [2, 3], [3, 2]]\n"),
       {"strategy.hop.edges", "strongly connected"}},
      {"UnknownStrategy", small_job("[strategy]\nsync = \"all_reduse\"\n"), {"all_reduce"}},
  };
  return all;
}

const std::vector<Mistake>& mistakes_in_files() {
  static const std::vector<Mistake> all = {
      {"MissingFolder", idx_job("nowhere"), {"nowhere"}},
      {"WrongMagic", idx_job("magic"), {"magic", "images"}},
      {"CountsDisagree", idx_job("counts"), {"counts", "4", "5"}},
      {"TooShort", idx_job("short"), {"short", "images"}},
      {"TruncatedGz", idx_job("gz"), {"train-images-idx3-ubyte.gz"}},
      {"NotAModule",
       small_job("[model]\nkind = \"torchscript\"\npath = \"FILES/not.pt\"\n"),
       {"not.pt"}},
      {"MissingModule",
       small_job("[model]\nkind = \"torchscript\"\npath = \"FILES/none.pt\"\n"),
       {"none.pt"}},
      {"PhantomNeedsASimulation",
       small_job("[model]\nkind = \"phantom\"\nparameters = 10\n"),
       {"phantom"}},
  };
  return all;
}

class BadInput : public testing::TestWithParam<Mistake> {};

TEST_P(BadInput, IsRefusedInOneLine) {
  ScratchDir scratch;
  write_bad_files(scratch);
  std::string job = GetParam().job;
  if (const auto at = job.find("FILES"); at != std::string::npos) {
    job.replace(at, 5, scratch.path());
  }
  scratch.write("job.toml", job);
  const Finished finished = run({MOTLEY_PROGRAM, "train", "job.toml"}, scratch.path());
  EXPECT_EQ(finished.code, 2) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  for (const std::string& part : GetParam().expected) {
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err << "lacks " << part;
  }
  EXPECT_FALSE(fs::exists(scratch.file("runs")));
}

constexpr auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Jobs, BadInput, testing::ValuesIn(mistakes_in_jobs()), kName);
INSTANTIATE_TEST_SUITE_P(Machines, BadInput, testing::ValuesIn(mistakes_about_machines()), kName);
INSTANTIATE_TEST_SUITE_P(Files, BadInput, testing::ValuesIn(mistakes_in_files()), kName);

}  // namespace
}  // namespace motley
