#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <exception>

#include "cli/commands.h"

namespace motley {
namespace {

// The option of the job file, and --set.
CLI::Option* add_job_flags(CLI::App* command, JobFlags& flags) {
  command
      ->add_option("--set", flags.overrides,
                   "dotted.key=value: overrides a key of the job; may be given several times")
      ->take_all()
      ->allow_extra_args(false);
  return command->add_option("JOB", flags.path, "the job file (TOML)");
}

void add_variant_flag(CLI::App* command, JobFlags& flags) {
  command->add_option("--variant", flags.variant, "this [[variant]] of the job, by its name");
}

void add_run_flags(CLI::App* command, RunFlags& flags) {
  add_job_flags(command, flags.job)->required();
  command->add_option("--out", flags.out, "the run directory (default runs/<time>-<name>)");
  command->add_flag("--json", flags.json,
                    "print the result as JSON on stdout, and nothing else there");
  command->add_flag("--quiet", flags.quiet, "no progress");
}

// Without a port CLI11 gives one empty text.
std::optional<int> port_of(const std::string& text) {
  int port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  const bool is_port = error == std::errc() && rest == end && port >= 1 && port <= 65'535;
  return is_port ? std::optional(port) : std::nullopt;
}

void add_dashboard_flags(CLI::App* command, RunFlags& flags) {
  const auto check = [](const std::string& text) {
    return text.empty() || port_of(text)
               ? ""
               : text + " is no port (1 to 65535); the job file stands before --dashboard";
  };
  command
      ->add_option_function<std::string>(
          "--dashboard", [&flags](const std::string& text) { flags.dashboard = port_of(text); },
          "a live page of the run, on this port (default 8420)")
      ->expected(0, 1)
      ->type_name("[PORT]")
      ->check(CLI::Validator(check, ""));
  command
      ->add_option("--dashboard-host", flags.dashboard_host,
                   "the address that the live page listens on (default 127.0.0.1: this machine)")
      ->needs("--dashboard");
}

int run(int argc, char** argv) {
  CLI::App app{"motley trains one libtorch model on machines that are not alike."};
  app.name("motley");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("motley ") + MOTLEY_VERSION);
  app.footer(
      "Exit codes: 0 done, 1 the run failed, 2 bad usage or input,\n"
      "130 / 143 stopped by SIGINT / SIGTERM after saving.");

  RunFlags train;
  RunFlags simulate;
  CompareFlags compare;
  ReportFlags report;
  JobFlags config;
  CalibrateFlags calibrate;
  WorkerFlags worker;
  auto* train_app = app.add_subcommand("train", "run a job with worker processes on this machine");
  add_run_flags(train_app, train);
  add_variant_flag(train_app, train.job);
  add_dashboard_flags(train_app, train);
  auto* simulate_app = app.add_subcommand("simulate", "run the same job on a virtual clock");
  add_run_flags(simulate_app, simulate);
  add_variant_flag(simulate_app, simulate.job);
  add_dashboard_flags(simulate_app, simulate);
  auto* compare_app =
      app.add_subcommand("compare", "every [[variant]] of a job, side by side in a table");
  add_run_flags(compare_app, compare.run);
  compare_app->add_flag("--simulate", compare.simulate, "on a virtual clock, several at a time");
  compare_app
      ->add_option("--jobs", compare.jobs, "simulations at a time (default: as many as cores)")
      ->check(CLI::Range(1, 1024));
  auto* report_app = app.add_subcommand("report", "what there is to see of runs, as one HTML page");
  report_app
      ->add_option("RUN_DIR", report.directories,
                   "directories of runs or comparisons; several are overlaid")
      ->required();
  report_app->add_option(
      "--out", report.out,
      "the file (default: report.html in RUN_DIR, or here when there are several)");
  auto* config_app =
      app.add_subcommand("config", "print the resolved job, every default filled in");
  add_job_flags(config_app, config)->required();
  add_variant_flag(config_app, config);
  auto* calibrate_app = app.add_subcommand(
      "calibrate",
      "measure the latency and bandwidth that make `simulate` as fast as this machine");
  add_job_flags(calibrate_app, calibrate.job);
  add_variant_flag(calibrate_app, calibrate.job);
  calibrate_app->add_flag("--write", calibrate.write, "into [cluster] of the job file, too");
  calibrate_app->add_flag("--json", calibrate.json, "print the two as JSON");
  auto* strategies_app = app.add_subcommand("strategies", "what a job can choose, one line each");
  auto* worker_app = app.add_subcommand("worker", "a worker process; `train` starts these");
  worker_app->group("");  // not for people
  worker_app->add_option("--join", worker.join)->required();
  worker_app->add_option("--rank", worker.rank)->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help, --version
    }
    return refuse(std::string(error.what()) + " (see motley --help)");
  }
  if (train_app->parsed()) {
    return run_command(train, Mode::kTrain);
  }
  if (simulate_app->parsed()) {
    return run_command(simulate, Mode::kSimulate);
  }
  if (compare_app->parsed()) {
    return compare_command(compare);
  }
  if (report_app->parsed()) {
    return report_command(report);
  }
  if (config_app->parsed()) {
    return config_command(config);
  }
  if (calibrate_app->parsed()) {
    return calibrate_command(calibrate);
  }
  if (strategies_app->parsed()) {
    return strategies_command();
  }
  return worker_app->parsed() ? worker_command(worker) : kBadInput;
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("motley"));
  spdlog::set_pattern("motley: %v");
  try {
    return motley::run(argc, argv);
  } catch (const std::exception& exception) {
    spdlog::error("{}", exception.what());
    return motley::kRunFailed;
  }
}
