// Real runs that lose workers and go on. Coordinator and workers are real processes, without torch.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/random.h"
#include "motley/base/failure.h"
#include "motley/sync/method.h"
#include "tests/relative_difference.h"
#include "tests/toy_processes.h"

namespace motley {
namespace {

std::string words_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream whole;
  whole << file.rdbuf();  // what is there, if the process ends meanwhile
  std::string text = whole.str();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

// The processes of the run that this test has started, by their numbers. The command line of a
// process that is frozen may not be readable, so it is read once.
std::map<Rank, pid_t> processes_of_run() {
  static std::map<pid_t, Rank> numbers;
  std::map<Rank, pid_t> found;
  DIR* const directory = opendir("/proc");
  while (const dirent* const entry = readdir(directory)) {
    const pid_t pid = std::atoi(entry->d_name);
    const std::string path = std::string("/proc/") + entry->d_name;
    const std::string stat = pid > 0 ? words_of(path + "/stat") : "";
    const auto fields = stat.rfind(") ");
    int parent = 0;
    char state = 0;
    if (fields == std::string::npos ||
        sscanf(stat.c_str() + fields, ") %c %d", &state, &parent) != 2 || parent != getpid() ||
        state == 'Z') {
      continue;
    }
    if (!numbers.contains(pid)) {
      const std::string command = words_of(path + "/cmdline");
      const auto rank = command.find("--rank ");
      if (rank == std::string::npos) {
        continue;  // it has just been started
      }
      numbers[pid] = std::stoi(command.substr(rank + 7));
    }
    found[numbers[pid]] = pid;
  }
  closedir(directory);
  return found;
}

// Does something to a process of the run when the run has used so many samples.
struct Strike {
  std::int64_t at = 0;
  Rank process = 0;
  int signal = SIGKILL;
};

class FaultyMonitor final : public RunMonitor {
 public:
  explicit FaultyMonitor(std::vector<Strike> faults) : faults_(std::move(faults)) {}
  void on_progress(const RunProgress& progress) override {
    while (next_ < faults_.size() && progress.samples >= faults_[next_].at) {
      const Strike& fault = faults_[next_++];
      const auto processes = processes_of_run();
      if (const auto found = processes.find(fault.process); found != processes.end()) {
        kill(found->second, fault.signal);
        ++done;
      }
    }
  }
  void on_metric(const Metric& metric) override { metrics.push_back(metric); }
  void on_news(RecordPlace place, const WorkerNews& news) override {
    for (const DecisionRecord& decision : news.entries.decisions) {
      if (place == kCoordinator && decision.kind == "members") {
        decisions.push_back(decision.what);
      }
    }
  }
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  int done = 0;
  std::vector<Metric> metrics;
  std::vector<std::string> decisions;

 private:
  const std::vector<Strike> faults_;
  std::size_t next_ = 0;
};

// 60 steps of some 10 ms.
Job faulty_job(std::vector<std::string> settings) {
  settings.insert(settings.begin(),
                  {"cluster.workers=4", "cluster.unit=8e-4", "train.steps=60", "data.features=200",
                   "cluster.respawn=0", "train.eval_every=20"});
  return toy_job(settings);
}

std::int64_t processed_by(const RunOutcome& outcome) {
  std::int64_t samples = 0;
  for (const auto* workers : {&outcome.workers, &outcome.former_workers}) {
    for (const WorkerSummary& worker : *workers) {
      samples += worker.samples;
    }
  }
  return samples;
}

std::string why_it_failed(const Job& job, FaultyMonitor& monitor) {
  try {
    train_toy(job, monitor);
  } catch (const RunFailed& failed) {
    return failed.what();
  }
  return "";
}

class LossesInLockStep : public testing::TestWithParam<std::string> {};

// Which worker or server is lost, and when, makes no difference to what is learnt.
TEST_P(LossesInLockStep, ARunThatLosesWorkersLearnsTheSame) {
  const std::vector<std::string> settings = {"strategy.sync=" + GetParam()};
  FaultyMonitor none({});
  const RunOutcome whole = train_toy(faulty_job(settings), none);
  FaultyMonitor two({{500, 1}, {1'500, 3}});
  const RunOutcome outcome = train_toy(faulty_job(settings), two);
  EXPECT_EQ(two.done, 2);
  EXPECT_EQ(outcome.samples, 3'000);
  EXPECT_LT(relative_difference(outcome.model.parameters, whole.model.parameters), 1e-6);
  EXPECT_EQ(outcome.workers.size(), 2U);
  EXPECT_EQ(outcome.workers[1].rank, 2) << "ids last for the run";
  EXPECT_EQ(outcome.former_workers.size(), 2U);
  EXPECT_EQ(outcome.terms, 3);
  ASSERT_GE(outcome.members.size(), 4U);
  EXPECT_NE(outcome.members[1].why.find("was killed by signal 9"), std::string::npos);
  EXPECT_EQ(outcome.members[0].left, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Elastic, LossesInLockStep, testing::Values("all_reduce", "ps_bsp"),
                         [](const auto& param) { return param.param; });

class EveryMethodGoesOn : public testing::TestWithParam<std::string> {
 protected:
  std::vector<std::string> settings() const {
    return {"strategy.sync=" + GetParam(), "strategy.adsp.period=0.01"};
  }
};

TEST_P(EveryMethodGoesOn, WithoutAWorkerThatIsKilled) {
  FaultyMonitor monitor({{800, 2}});
  const RunOutcome outcome = train_toy(faulty_job(settings()), monitor);
  EXPECT_EQ(monitor.done, 1);
  EXPECT_EQ(outcome.samples, 3'000);
  EXPECT_EQ(outcome.workers.size(), 3U);
  EXPECT_GE(outcome.terms, 2);
  EXPECT_EQ(monitor.metrics.back().samples, 3'000);
}

TEST_P(EveryMethodGoesOn, WithAWorkerThatIsStartedAgain) {
  std::vector<std::string> all = settings();
  all.insert(all.end(), {"cluster.respawn=3", "train.steps=200"});
  FaultyMonitor monitor({{800, 2}});
  const RunOutcome outcome = train_toy(faulty_job(all), monitor);
  EXPECT_EQ(monitor.done, 1);
  EXPECT_EQ(outcome.samples, 10'000);
  EXPECT_EQ(outcome.workers.size(), 4U);
  ASSERT_GE(outcome.members.size(), 5U);  // servers follow
  EXPECT_EQ(outcome.members[4].process, (ProcessId{ProcessKind::kWorker, 2}));
  EXPECT_TRUE(std::isfinite(monitor.metrics.back().loss));
}

// Process 4 is server 0.
TEST_P(EveryMethodGoesOn, WithAServerThatIsStartedAgain) {
  std::vector<std::string> all = settings();
  all.insert(all.end(), {"strategy.ps.servers=2", "cluster.respawn=1"});
  if (!find_method(GetParam())->schema.has_servers) {
    GTEST_SKIP() << "a method without servers";
  }
  FaultyMonitor monitor({{800, 4}, {1'600, 1}});
  const RunOutcome outcome = train_toy(faulty_job(all), monitor);
  EXPECT_EQ(monitor.done, 2);
  EXPECT_EQ(outcome.samples, 3'000);
  EXPECT_EQ(outcome.servers.size(), 2U);
  EXPECT_TRUE(std::isfinite(monitor.metrics.back().loss));
}

TEST_P(EveryMethodGoesOn, WithTheServerThatIsLeft) {
  std::vector<std::string> all = settings();
  all.insert(all.end(), {"strategy.ps.servers=2"});
  if (!find_method(GetParam())->schema.has_servers) {
    GTEST_SKIP() << "a method without servers";
  }
  FaultyMonitor monitor({{800, 4}});
  const RunOutcome outcome = train_toy(faulty_job(all), monitor);
  EXPECT_EQ(outcome.samples, 3'000);
  ASSERT_EQ(outcome.servers.size(), 1U);
  EXPECT_EQ(outcome.servers[0].rank, 5);
}

std::vector<std::string> names_of_methods() {
  std::vector<std::string> names;
  for (const Method* method : methods()) {
    names.emplace_back(method->name());
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Elastic, EveryMethodGoesOn, testing::ValuesIn(names_of_methods()),
                         [](const auto& param) { return param.param; });

TEST(Elastic, AWorkerThatIsFrozenIsLost) {
  FaultyMonitor monitor({{800, 1, SIGSTOP}});
  const RunOutcome outcome = train_toy(faulty_job({"cluster.heartbeat=2"}), monitor);
  EXPECT_EQ(outcome.samples, 3'000);
  EXPECT_EQ(outcome.workers.size(), 3U);
  EXPECT_NE(outcome.members[1].why.find("gave no sign of life for 2 s"), std::string::npos)
      << outcome.members[1].why;
}

// Stops all processes of the run, this one included, for longer than workers wait for a
// coordinator.
class StoppedMachine final : public RunMonitor {
 public:
  void on_progress(const RunProgress& progress) override {
    if (progress.samples >= 800 && !std::exchange(done_, true)) {
      std::string all = std::to_string(getpid());
      for (const auto& [number, pid] : processes_of_run()) {
        all += " " + std::to_string(pid);
      }
      EXPECT_EQ(
          std::system(fmt::format("(kill -STOP {0}; sleep 4; kill -CONT {0}) &", all).c_str()), 0);
    }
  }
  void on_metric(const Metric&) override {}
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

 private:
  bool done_ = false;
};

TEST(Elastic, AMachineThatIsStoppedForAWhileGoesOn) {
  StoppedMachine monitor;
  const RunOutcome outcome =
      train_toy(faulty_job({"cluster.heartbeat=0.5", "cluster.respawn=9"}), monitor);
  EXPECT_EQ(outcome.samples, 3'000);
}

TEST(Elastic, ARunThatIsNotElasticEnds) {
  FaultyMonitor monitor({{800, 1}});
  const std::string why = why_it_failed(faulty_job({"cluster.elastic=false"}), monitor);
  EXPECT_NE(why.find("was killed by signal 9 (Killed)"), std::string::npos) << why;
  EXPECT_EQ(why.find("worker 1 (pid "), 0U) << why;
}

TEST(Elastic, ARunThatLosesEverybodyEnds) {
  FaultyMonitor monitor({{800, 0}, {800, 1}, {800, 2}, {800, 3}});
  const std::string why = why_it_failed(faulty_job({}), monitor);
  EXPECT_NE(why.find("was killed by signal 9 (Killed), and nobody is left"), std::string::npos)
      << why;
}

TEST(Elastic, WithTooFewWorkersARunWaitsAndEnds) {
  FaultyMonitor monitor({{800, 1}});
  const std::string why =
      why_it_failed(faulty_job({"cluster.min_workers=4", "cluster.rejoin_timeout=0.5"}), monitor);
  EXPECT_NE(why.find("3 of at least 4 workers are left, and nobody has joined for 0.5 s"),
            std::string::npos)
      << why;
}

TEST(Elastic, WithTooFewWorkersARunWaitsForOneThatIsStartedAgain) {
  FaultyMonitor monitor({{800, 1}, {1'800, 2}});
  const RunOutcome outcome =
      train_toy(faulty_job({"cluster.min_workers=4", "cluster.respawn=1"}), monitor);
  EXPECT_EQ(outcome.samples, 3'000);
  EXPECT_EQ(outcome.workers.size(), 4U);
  // Of workers that are gone it is known what they had last reported.
  EXPECT_LE(processed_by(outcome), 3'000);
  EXPECT_GT(processed_by(outcome), 2'400);
}

// Kills, freezes and terminates workers and servers at random moments, sometimes two at once. Notes
// whom the run blames, and how long it takes from a kill until the next step without that process
// counts, unless somebody is frozen, who is waited for.
class RandomFaults final : public RunMonitor {
 public:
  explicit RandomFaults(Random& random) : random_(random) {}
  void on_progress(const RunProgress& progress) override {
    if (progress.samples > samples_) {
      for (const Moment killed : std::exchange(going_on_, {})) {
        recoveries.push_back(std::chrono::duration<double>(Clock::now() - killed).count());
      }
    }
    samples_ = progress.samples;
    if (progress.samples >= next_) {
      next_ = progress.samples + 400 + static_cast<std::int64_t>(random_.below(1'600));
      strike();
    }
  }
  // "worker 2 (pid 77 on host) was killed by signal 9 (Killed)", "goes on without worker 2"
  void on_notice(const std::string& line) override {
    const auto pid_at = line.find(" (pid ");
    for (const auto& [blame, number] :
         {std::pair("was killed by signal 9", SIGKILL), std::pair("gave no sign of life", SIGSTOP),
          std::pair("is lost: ", 0), std::pair("leaves", SIGTERM)}) {
      if (pid_at == std::string::npos || line.find(blame) == std::string::npos) {
        continue;
      }
      const pid_t pid = std::stoi(line.substr(pid_at + 6));
      wrongly_blamed += struck_by_[pid].contains(number) ? "" : line + "\n";
      if (number == SIGSTOP) {
        frozen_.erase(pid);
      }
      if (number == SIGKILL && killed_at_.contains(pid)) {
        killed_[line.substr(0, pid_at)] = killed_at_[pid];
      }
    }
    if (line.starts_with("goes on without ")) {
      for (const auto& [name, at] : std::exchange(killed_, {})) {
        if (line.find(name) != std::string::npos) {
          going_on_.push_back(at);
        }
      }
    }
  }
  void on_metric(const Metric& metric) override { last_loss = metric.loss; }
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  int struck = 0;
  double last_loss = 0;
  std::vector<double> recoveries;
  std::string said;
  std::string wrongly_blamed;

 private:
  using Clock = std::chrono::steady_clock;
  using Moment = Clock::time_point;

  void strike() {
    const auto all = processes_of_run();
    std::vector<std::pair<Rank, pid_t>> workers(all.begin(), all.end());
    const std::uint64_t count = 1 + random_.below(2);
    for (std::uint64_t i = 0; i < count && workers.size() > 2; ++i) {
      const auto victim =
          workers.begin() + static_cast<std::ptrdiff_t>(random_.below(workers.size()));
      const int number = random_.below(20) == 0  ? SIGSTOP
                         : random_.below(4) == 0 ? SIGTERM
                                                 : SIGKILL;
      said += fmt::format(" {}:{}", victim->first, number);
      struck_by_[victim->second].insert(number);
      if (number == SIGSTOP) {
        frozen_.insert(victim->second);
        killed_at_.clear();
        killed_.clear();
        going_on_.clear();
      } else if (number == SIGKILL && frozen_.empty()) {
        killed_at_[victim->second] = Clock::now();
      }
      kill(victim->second, number);
      ++struck;
      workers.erase(victim);
    }
  }

  Random& random_;
  std::int64_t next_ = 300;
  std::int64_t samples_ = 0;
  std::map<pid_t, std::set<int>> struck_by_;
  std::set<pid_t> frozen_;
  std::map<pid_t, Moment> killed_at_;
  std::map<std::string, Moment> killed_;  // of whom the run knows; by name
  std::vector<Moment> going_on_;          // without them
};

// MOTLEY_KILLS: how many; MOTLEY_SEED: of the first run.
TEST(Elastic, RandomFaultsOfEveryMethod) {
  const char* const kills = std::getenv("MOTLEY_KILLS");
  const char* const first = std::getenv("MOTLEY_SEED");
  const int wanted = kills ? std::stoi(kills) : 50;
  std::vector<double> recoveries;
  int struck = 0;
  for (std::uint64_t seed = first ? std::stoull(first) : 1; struck < wanted; ++seed) {
    Random random(seed);
    const std::string method(methods()[seed % methods().size()]->name());
    const Job job =
        faulty_job({"strategy.sync=" + method, "cluster.respawn=1000", "train.steps=160",
                    "cluster.heartbeat=3", "strategy.adsp.period=0.01", "strategy.ps.servers=2"});
    RandomFaults monitor(random);
    try {
      const RunOutcome outcome = train_toy(job, monitor);
      EXPECT_EQ(outcome.samples, 8'000) << method << ", seed " << seed << monitor.said;
      EXPECT_TRUE(std::isfinite(monitor.last_loss)) << method << ", seed " << seed;
    } catch (const RunFailed& failed) {
      // Several may be lost before one that was started again has taken part.
      const std::string why = failed.what();
      const bool nobody = why.find("nobody is left") != std::string::npos;
      EXPECT_TRUE(nobody) << method << ", seed " << seed << monitor.said << ": " << why;
    }
    EXPECT_TRUE(processes_of_run().empty());
    EXPECT_EQ(monitor.wrongly_blamed, "") << method << ", seed " << seed << monitor.said;
    struck += monitor.struck;
    recoveries.insert(recoveries.end(), monitor.recoveries.begin(), monitor.recoveries.end());
    if (HasFailure()) {
      break;
    }
  }
  ASSERT_FALSE(recoveries.empty());
  std::ranges::sort(recoveries);
  const auto quantile = [&](double part) {
    return recoveries.at(
        static_cast<std::size_t>(part * static_cast<double>(recoveries.size() - 1)));
  };
  fmt::print(
      "{} faults; from {} kills to the next step: median {:.3f} s, 99 % {:.3f} s, most {:.3f} s\n",
      struck, recoveries.size(), quantile(0.5), quantile(0.99), recoveries.back());
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) { return motley::toy_main(argc, argv); }
