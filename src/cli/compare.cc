// compare: runs every variant of a job as a process of this program and compares them.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/show.h"
#include "cli/variant_runs.h"
#include "compute/torch_loader.h"
#include "record/comparison.h"
#include "record/run_dir.h"
#include "runtime/coordinator/cpu_quota.h"
#include "runtime/run/run.h"
#include "session/signals.h"
#include "session/warning.h"
#include "sync/registry.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kJob = "job.toml";  // a copy of the given file, which all runs read

std::vector<VariantRun> runs_of(const Variants& variants, const RunDir& dir,
                                const CompareFlags& flags) {
  std::vector<VariantRun> runs;
  for (const Job& job : variants.jobs) {
    const auto directory = dir.path() / job.name;
    std::vector<std::string> command{"/proc/self/exe",  flags.simulate ? "simulate" : "train",
                                     dir.path() / kJob, "--variant",
                                     job.name,          "--out",
                                     directory};
    for (const std::string& change : flags.run.job.overrides) {
      command.insert(command.end(), {"--set", change});
    }
    if (flags.run.no_trace) {
      command.emplace_back("--no-trace");
    }
    runs.push_back({job.name, std::move(command), directory});
  }
  return runs;
}

// What is known about every variant, in the order of the file.
class Results {
 public:
  explicit Results(const Variants& variants) {
    for (const Job& job : variants.jobs) {
      entries_.push_back({{"name", job.name}, {"error", "not run"}});
    }
  }

  void add(const VariantResult& result) {
    Json& entry = entries_.at(result.index);
    if (result.summary) {
      entry = Json::parse(*result.summary);
    } else {
      entry["error"] = result.trouble;
      failed_ = true;
      bad_input_ = bad_input_ && result.bad_input;
    }
    good_ = good_ || result.summary;
  }

  // A list of the summaries; a run without one has its name and the error.
  const Json& json() const { return entries_; }

  ComparedRun compared(std::size_t index) const {
    const Json& entry = entries_.at(index);
    ComparedRun run = compared_run(entry);
    if (entry.contains("error")) {
      run.trouble = entry["error"].get<std::string>();
    }
    return run;
  }
  std::string table() const {
    std::vector<ComparedRun> runs;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      runs.push_back(compared(i));
    }
    return Comparison(std::move(runs)).table();
  }

  int exit_code() const {
    if (const auto signal = first_signal()) {
      return exit_code_of(*signal);
    }
    return !failed_ ? kDone : !good_ && bad_input_ ? kBadInput : kRunFailed;
  }

 private:
  Json entries_ = Json::array();
  bool failed_ = false;
  bool good_ = false;
  bool bad_input_ = true;  // true as long as every failure was bad input
};

std::string in_words(const ComparedRun& run) {
  std::string words = run.trouble.value_or("");
  if (run.seconds) {
    words += fmt::format("{}{:.2f} s", words.empty() ? "" : ", ", *run.seconds);
  }
  if (run.accuracy) {
    words += fmt::format(", accuracy {:.4f}", *run.accuracy);
  }
  return words;
}

// Ignores errors: nobody may be there to read it.
void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

// Shows the steps of a real run, but not the summary that it also prints.
void show_progress(const std::string& name, const std::string& line) {
  if (line.starts_with("step ")) {
    tell(fmt::format("{}: {}\n", name, line));
  }
}

void run_all(VariantRuns& runs, Results& results, const RunDir& dir, const CompareFlags& flags) {
  const auto keep = [&] { write_or_throw(dir, kCompareFile, results.json().dump(2) + "\n"); };
  std::size_t ended = 0;
  keep();
  while (const auto result = runs.next()) {
    results.add(*result);
    keep();
    if (!flags.run.quiet) {
      const ComparedRun run = results.compared(result->index);
      tell(
          fmt::format("[{}/{}] {}: {}\n", ++ended, results.json().size(), run.name, in_words(run)));
    }
  }
}

}  // namespace

int compare_command(const CompareFlags& flags) {
  catch_signals();
  const auto text = read_job_file(flags.run.job.path);
  if (!text) {
    return refuse(text.error().message);
  }
  const auto variants =
      parse_variants(job_schema(), *text, flags.run.job.path, flags.run.job.overrides,
                     flags.simulate ? Mode::kSimulate : Mode::kTrain);
  if (!variants) {
    return refuse(variants.error().message);
  }
  if (const auto taken = std::ranges::find_if(variants->jobs, RunDir::is_result, &Job::name);
      taken != variants->jobs.end()) {
    return refuse(fmt::format("{}: a variant cannot be named {}: that is the name of a result file",
                              flags.run.job.path, taken->name));
  }
  for (const Job& job : variants->jobs) {
    if (const Status status = expect_torch(job); !status) {
      return refuse(status.error().message);
    }
  }
  const auto dir =
      RunDir::create(flags.run.out, variants->name, flags.simulate ? Durable::kNo : Durable::kYes);
  if (!dir) {
    return refuse(dir.error().message);
  }
  Results results(*variants);
  // Real runs have the machine to themselves, because their times are compared.
  const int at_a_time = flags.simulate ? flags.jobs.value_or(cores_here()) : 1;
  try {
    write_or_throw(*dir, kJob, *text);
    VariantRuns runs(runs_of(*variants, *dir, flags), at_a_time);
    if (!flags.run.quiet && !flags.simulate) {
      runs.follow(show_progress);
    }
    run_all(runs, results, *dir, flags);
    warn_unless(write_comparison_report(*dir, variants->name));
  } catch (const std::exception& failure) {
    spdlog::error("the comparison failed: {}", failure.what());
    return kRunFailed;
  }
  if (flags.run.json) {
    fmt::print("{}\n", results.json().dump(2));
  } else {
    fmt::print("{}{}\n", results.table(), where_saved(dir->path()));
  }
  return results.exit_code();
}

}  // namespace motley
