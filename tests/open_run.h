// A real run without torch that workers may join while it goes on: a test says what happens when
// the run has come so far, and when it is to end. The coordinator starts the workers of the job;
// the test starts others. The program's main() is toy_main() (tests/toy_processes.h).
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rendezvous/addresses.h"
#include "tests/process.h"
#include "tests/toy_processes.h"

namespace motley {

class OpenRun final : public RunMonitor {
 public:
  // With a port, it has the token of the environment.
  explicit OpenRun(const Job& job, bool starts_workers = true, std::uint16_t port = 0)
      : job_(job),
        task_(toy_task(job)),
        coordinator_(std::make_unique<Coordinator>(
            job_, *task_, *this,
            Gathering{.worker_command = {"/proc/self/exe", "worker", "--once"},
                      .job_text = to_toml(job_schema(), job),
                      .workers_come = !starts_workers,
                      .port = port,
                      .host = {.token = port != 0 ? token_of_environment() : ""}})),
        address_(show(coordinator_->rendezvous())),
        token_(coordinator_->token()) {
    setenv(kTokenVariable, token_.c_str(), 1);
  }

  // Call before conduct(): when so many samples are used, or have been used since the last act.
  void then(std::int64_t samples, std::function<void()> act) {
    acts_.push_back({samples, nullptr, std::move(act)});
  }
  // Likewise, once this holds. It is looked at again and again.
  void once(std::function<bool()> holds, std::function<void()> act) {
    acts_.push_back({0, std::move(holds), std::move(act)});
  }
  // Runs until all acts are done and so many more samples are used.
  RunOutcome conduct(std::int64_t more = 1'000) {
    then(more, [this] { stop("the test"); });
    return conduct_to_its_end();
  }
  // Runs until something else ends the run.
  RunOutcome conduct_to_its_end() {
    deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto coordinator = std::move(coordinator_);  // it is gone when the run is over
    RunOutcome outcome = coordinator->run();
    EXPECT_TRUE(acts_.empty()) << "the run ended before the test was done";
    return outcome;
  }
  std::string why_it_failed() {
    try {
      conduct();
    } catch (const RunFailed& failed) {
      return failed.what();
    }
    return "";
  }

  // Starts a worker of its own, and what is wrong with it (tests/toy_processes.h).
  Process& start(const std::vector<std::string>& flags = {}, const char* fault = "") {
    std::vector<std::string> command = {"/proc/self/exe", "worker", "--join", address()};
    command.insert(command.end(), flags.begin(), flags.end());
    setenv(kToyFault, fault, 1);
    started_.push_back(std::make_unique<Process>(command));
    unsetenv(kToyFault);
    return *started_.back();
  }

  // A signal to all processes that were started here.
  void signal_all(int number) {
    for (const pid_t pid : children_of(getpid())) {
      kill(pid, number);
    }
  }
  // Kills a worker that the coordinator started. Its number is its rank at the start.
  void kill_worker(Rank process) {
    for (const pid_t pid : children_of(getpid())) {
      if (command_of(pid).ends_with(fmt::format(" --rank {} ", process))) {
        kill(pid, SIGKILL);
      }
    }
  }

  const std::string& address() const { return address_; }
  const std::string& token() const { return token_; }
  std::int64_t samples() const { return samples_; }
  void stop(const std::string& why) {
    if (!stop_) {
      stop_ = why;
    }
  }
  // How many decisions about members have this in them.
  int decided(const std::string& words) const {
    return static_cast<int>(std::ranges::count_if(decisions_, [&](const std::string& decision) {
      return decision.find(words) != std::string::npos;
    }));
  }
  std::string decisions() const { return fmt::format("{}", fmt::join(decisions_, "\n")); }
  const std::vector<std::int64_t>& checkpoints() const { return checkpoints_; }
  const std::vector<TermRecord>& terms() const { return terms_; }
  const RunRecord& record() const { return record_; }
  bool saves = false;

 private:
  struct Act {
    std::int64_t samples = 0;  // since the last one
    std::function<bool()> holds;
    std::function<void()> act;
  };

  static RunFacts facts_of(const Job& job) {
    RunFacts facts;
    facts.workers = job.cluster.workers;
    return facts;
  }
  static std::string command_of(pid_t pid) {
    std::string command = read_file(fmt::format("/proc/{}/cmdline", pid));
    std::ranges::replace(command, '\0', ' ');
    return command;
  }

  void on_progress(const RunProgress& progress) override { samples_ = progress.samples; }
  void on_metric(const Metric&) override {}
  void on_members(std::vector<MemberRecord> members) override {
    record_.set_members(std::move(members));
  }
  void on_term(TermRecord term) override {
    terms_.push_back(term);
    record_.add(std::move(term));
  }
  void on_news(RecordPlace place, const WorkerNews& news) override {
    record_.add(place, news);
    for (const DecisionRecord& decision : news.entries.decisions) {
      if (place == kCoordinator && decision.kind == "members") {
        decisions_.push_back(decision.what +
                             (decision.reason.empty() ? "" : ": " + decision.reason));
      }
    }
  }
  bool wants_checkpoints() override { return saves; }
  void on_checkpoint(std::int64_t samples, State) override { checkpoints_.push_back(samples); }
  std::optional<std::string> stop_requested() override {
    while (!acts_.empty() && samples_ >= since_ + acts_.front().samples &&
           (!acts_.front().holds || acts_.front().holds())) {
      const Act act = std::move(acts_.front());
      acts_.pop_front();
      since_ = samples_;
      act.act();
    }
    if (!stop_ && std::chrono::steady_clock::now() > deadline_) {
      stop_ = "the deadline";
      ADD_FAILURE() << "the test took too long; decided:\n" << decisions();
    }
    return stop_;
  }
  bool abandon_requested() override { return false; }

  const Job job_;
  std::shared_ptr<ToyTask> task_;
  std::deque<Act> acts_;
  std::int64_t samples_ = 0;
  std::int64_t since_ = 0;
  std::optional<std::string> stop_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<std::string> decisions_;
  std::vector<std::int64_t> checkpoints_;
  std::vector<TermRecord> terms_;
  RunRecord record_{facts_of(job_)};
  std::vector<std::unique_ptr<Process>> started_;
  std::unique_ptr<Coordinator> coordinator_;  // uses all of the above
  const std::string address_;
  const std::string token_;
};

// Four workers, and steps of some 10 ms, more than any test waits for.
inline Job open_job(std::vector<std::string> settings = {}) {
  settings.insert(settings.begin(),
                  {"cluster.workers=4", "cluster.unit=8e-4", "train.steps=100000",
                   "data.features=200", "cluster.respawn=0", "train.eval_every=20"});
  return toy_job(settings);
}

}  // namespace motley
