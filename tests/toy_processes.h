// Real runs without torch: coordinator and workers as processes of the test program itself, so that
// sanitizers check both sides. The program's main() is toy_main().
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/reason.h"
#include "job/parse.h"
#include "job/print.h"
#include "runtime/coordinator/coordinator.h"
#include "runtime/rendezvous/token.h"
#include "session/joined_session.h"
#include "sync/registry.h"
#include "tests/toy_task.h"

namespace motley {

inline constexpr const char* kToyJob = R"(
name = "toy"
[data]
samples = 100      # every process generates its own data
features = 20000   # large enough for the ring all-reduce
[train]
batch = 50
momentum = 0.0
steps = 30
eval_every = 10
[cluster]
workers = 3
unit = 1e-5
heartbeat = 30.0   # sanitizers are slow
)";

inline std::shared_ptr<ToyTask> toy_task(const Job& job) {
  const auto features = static_cast<std::size_t>(job.data.features);
  const double lr = 1.0 / (10.0 + static_cast<double>(features));
  return std::make_shared<ToyTask>(job.data.samples, features, job.seed, lr, job.train.momentum);
}

// What is wrong with a worker that a test starts itself: "dies" while it joins, or has "other
// data".
inline constexpr const char* kToyFault = "MOTLEY_TOY_FAULT";

inline bool has_toy_fault(const char* name) {
  const char* const fault = std::getenv(kToyFault);
  return fault && std::strcmp(fault, name) == 0;
}

// A worker process of this program. The job's name says how it should fail.
inline void take_part(JoinedSession& session) {
  Job job = *parse_job(job_schema(), session.job_text(), "job.toml", {}, Mode::kTrain);
  if (has_toy_fault("dies")) {
    raise(SIGKILL);
  }
  job.data.samples += has_toy_fault("other data") ? 1 : 0;
  if (job.name == "hungry") {
    throw std::bad_alloc();
  }
  if (job.name == "unloadable") {
    session.give_up("the data is not there");
    throw RunFailed("the data is not there");
  }
  const bool is_server = session.is_server();
  if (job.name == (is_server ? "deadly server" : "deadly")) {
    raise(SIGKILL);
  }
  if (is_server) {
    return session.run_server(job);
  }
  const auto task = toy_task(job);
  const auto replica = task->make_replica();
  session.train(job, *replica, task->training_samples());
}

inline Job toy_job(std::vector<std::string> overrides = {}) {
  auto job = parse_job(job_schema(), kToyJob, "job.toml", overrides, Mode::kTrain);
  EXPECT_TRUE(job) << job.error().message;
  return *job;
}

inline RunOutcome train_toy(const Job& job, RunMonitor& monitor,
                            std::shared_ptr<const State> resume = {}) {
  auto task = toy_task(job);
  return train_with_processes(job, *task, monitor,
                              {.worker_command = {"/proc/self/exe", "worker", "--once"},
                               .job_text = to_toml(job_schema(), job),
                               .resume = std::move(resume)});
}

// With "--join 127.0.0.1:PORT", perhaps "--rank N", "--once" and "--patience SECONDS".
inline int toy_worker(const std::vector<std::string>& words) {
  const auto value_of = [&](const char* flag) {
    const auto found = std::ranges::find(words, flag);
    return found == words.end() ? std::nullopt : std::optional(*(found + 1));
  };
  try {
    const double patience = std::stod(value_of("--patience").value_or("60"));
    const bool may_return = std::ranges::count(words, "--once") == 0;
    Joining joining{.rendezvous = *value_of("--join"),
                    .rank = std::stoi(value_of("--rank").value_or("-1")),
                    .token = token_of_environment(),
                    .returns = {.may_return = may_return, .patience = patience},
                    .patience = patience};
    if (may_return) {
      joining.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    }
    take_part_in_run(joining, take_part);
    return 0;
  } catch (...) {
    fmt::print(stderr, "the run failed: {}\n", plain_reason(std::current_exception()));
    return 1;
  }
}

// A test, or with "worker" and its flags a worker.
inline int toy_main(int argc, char** argv) {
  if (argc > 3 && std::strcmp(argv[1], "worker") == 0) {
    return toy_worker({argv + 2, argv + argc});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace motley
