// A user's program with its own model and without torch: starts quickly and can be made to fail.
//   toy_program [--features N] [--samples N] [--steps N] [--fail-on RANK] [--leave RANK]
//               [--stop-file FILE] [--second]
// Every rank prints "training" when it trains, and "left" if it leaves the run; rank 0 prints the
// result at the end. Rank 0 stops the run when there is such a file. With --second the session has
// a short run before.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "motley/run.h"
#include "motley/session.h"
#include "tests/toy_task.h"

namespace {

// The number that follows a flag.
long long number_of(int argc, char** argv, const std::string& flag, long long otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == flag) {
      return std::atoll(argv[i + 1]);
    }
  }
  return otherwise;
}

std::string text_of(int argc, char** argv, const std::string& flag) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == flag) {
      return argv[i + 1];
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  const auto features = number_of(argc, argv, "--features", 10);
  const auto samples = number_of(argc, argv, "--samples", 500);
  motley::ToyTask task(samples, static_cast<std::size_t>(features), 1, 0.05);
  const auto replica = task.make_replica();
  motley::Options options{.batch = 50};
  options.steps = number_of(argc, argv, "--steps", 30);
  if (std::find(argv, argv + argc, std::string("--second")) != argv + argc) {
    motley::Run first(session, {.batch = 50, .steps = 10}, *replica, task.training_samples());
    first.fit([&](const motley::Work& work) { return replica->compute(work.samples); });
  }
  motley::RunHooks hooks;
  hooks.evaluate = [&](const motley::Snapshot& snapshot) { return *task.evaluate(snapshot); };
  motley::Run run(session, options, *replica, task.training_samples(), hooks);

  if (session.rank() == number_of(argc, argv, "--leave", -1)) {
    return 0;
  }
  const std::string stop_file = text_of(argc, argv, "--stop-file");
  bool said = false;
  run.fit([&](const motley::Work& work) {
    if (!said) {
      said = true;
      std::puts("training");
      std::fflush(stdout);
    }
    if (session.rank() == number_of(argc, argv, "--fail-on", -1)) {
      throw std::runtime_error("out of luck");
    }
    if (session.is_main() && !stop_file.empty() && std::filesystem::exists(stop_file)) {
      run.stop();
    }
    return replica->compute(work.samples);
  });
  if (run.result().stopped == "left") {
    std::puts("left");
  }
  if (session.is_main()) {
    std::printf("%lld steps, loss %.6f, %s\n", static_cast<long long>(run.result().steps),
                *run.result().loss, run.result().stopped.value_or("to the end").c_str());
  }
  return session.exit_code();
}
