// compare: runs every variant of a job as a process of this program and compares them.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/show.h"
#include "cli/variant_runs.h"
#include "compute/torch_loader.h"
#include "record/comparison.h"
#include "record/run_dir.h"
#include "runtime/coordinator/cpu_quota.h"
#include "runtime/run/run.h"
#include "session/resume_point.h"
#include "session/signals.h"
#include "session/warning.h"
#include "sync/registry.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

namespace fs = std::filesystem;

constexpr std::string_view kJob = "job.toml";  // a copy of the given file, which all runs read

// Where the job file is, and the directory of the comparison if one goes on.
struct Place {
  std::string job;
  std::optional<std::string> out;
};

Result<std::string> latest_comparison() {
  std::optional<fs::file_time_type> newest;
  std::string found;
  std::error_code none;
  for (const fs::directory_entry& each : fs::directory_iterator("runs", none)) {
    const auto written = fs::last_write_time(each.path() / kCompareFile, none);
    if (!none && (!newest || written > *newest)) {
      newest = written;
      found = each.path();
    }
  }
  return newest ? Result<std::string>(found) : fail("no comparison in runs");
}

Result<Place> place_of(const RunFlags& flags) {
  if (!flags.resume) {
    return flags.job.path.empty() ? fail("compare: JOB is required (see motley compare --help)")
                                  : Result<Place>(Place{flags.job.path, flags.out});
  }
  if (flags.out) {
    return fail("--resume: a comparison goes on in its own directory; leave out --out");
  }
  const auto where =
      *flags.resume == "latest" ? latest_comparison() : Result<std::string>(*flags.resume);
  if (!where) {
    return fail("--resume: {}", where.error().message);
  }
  std::error_code none;
  if (!fs::is_regular_file(fs::path(*where) / kCompareFile, none)) {
    return fail("--resume: {}: is not the directory of a comparison", *where);
  }
  const std::string job = fs::path(*where) / kJob;
  return Place{flags.job.path.empty() ? job : flags.job.path, *where};
}

// The summary of a variant that an earlier call has completed.
std::optional<std::string> completed(const fs::path& directory) {
  std::ifstream file(directory / "summary.json", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const Json summary = Json::parse(text, nullptr, false);
  const bool is_whole = summary.is_object() && summary.value("stopped", "target") == "target";
  return is_whole ? std::optional(text) : std::nullopt;
}

std::vector<VariantRun> runs_of(const Variants& variants, const RunDir& dir,
                                const CompareFlags& flags) {
  std::vector<VariantRun> runs;
  for (const Job& job : variants.jobs) {
    const auto directory = dir.path() / job.name;
    std::vector<std::string> command{"/proc/self/exe", flags.simulate ? "simulate" : "train"};
    const bool goes_on = flags.run.resume && has_checkpoint(directory);
    if (goes_on) {
      command.insert(command.end(), {"--resume", directory});
    }
    if (!goes_on || !flags.run.job.path.empty()) {
      command.insert(command.end(), {dir.path() / kJob, "--variant", job.name});
    }
    command.insert(command.end(), {"--out", directory});
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

// Takes the variants that are complete from their directories. Returns how many there are, and
// removes them from `runs`; `indices` has those that are left.
std::size_t take_completed(std::vector<VariantRun>& runs, Results& results,
                           std::vector<std::size_t>& indices) {
  std::vector<VariantRun> left;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (const auto summary = completed(runs[i].directory)) {
      results.add({.index = i, .summary = summary, .trouble = {}});
    } else {
      left.push_back(std::move(runs[i]));
      indices.push_back(i);
    }
  }
  const std::size_t taken = runs.size() - left.size();
  runs = std::move(left);
  return taken;
}

void run_all(std::vector<VariantRun> all, Results& results, const RunDir& dir,
             const CompareFlags& flags) {
  std::vector<std::size_t> indices(flags.run.resume ? 0 : all.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::size_t ended = flags.run.resume ? take_completed(all, results, indices) : 0;
  // Real runs have the machine to themselves, because their times are compared.
  VariantRuns runs(std::move(all), flags.simulate ? flags.jobs.value_or(cores_here()) : 1);
  if (!flags.run.quiet && !flags.simulate) {
    runs.follow(show_progress);
  }
  const auto keep = [&] { write_or_throw(dir, kCompareFile, results.json().dump(2) + "\n"); };
  keep();
  while (auto result = runs.next()) {
    result->index = indices.at(result->index);
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
  const auto place = place_of(flags.run);
  if (!place) {
    return refuse(place.error().message);
  }
  const auto text = read_job_file(place->job);
  if (!text) {
    return refuse(text.error().message);
  }
  const auto variants = parse_variants(job_schema(), *text, place->job, flags.run.job.overrides,
                                       flags.simulate ? Mode::kSimulate : Mode::kTrain);
  if (!variants) {
    return refuse(variants.error().message);
  }
  if (const auto taken = std::ranges::find_if(variants->jobs, RunDir::is_result, &Job::name);
      taken != variants->jobs.end()) {
    return refuse(fmt::format("{}: a variant cannot be named {}: that is the name of a result file",
                              place->job, taken->name));
  }
  for (const Job& job : variants->jobs) {
    if (const Status status = expect_torch(job); !status) {
      return refuse(status.error().message);
    }
  }
  const auto dir =
      RunDir::create(place->out, variants->name, flags.simulate ? Durable::kNo : Durable::kYes);
  if (!dir) {
    return refuse(dir.error().message);
  }
  Results results(*variants);
  try {
    write_or_throw(*dir, kJob, *text);
    run_all(runs_of(*variants, *dir, flags), results, *dir, flags);
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
