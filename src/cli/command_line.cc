#include "motley/command_line.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <exception>
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "motley/version.h"

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

// What the command line asks for: set by the subcommand that was named.
using Chosen = std::function<int()>;

// A subcommand with flags of its own kind: `add` gives it options that fill them, `run` does it.
template <class Flags, class Add, class Run>
void add_command(CLI::App& app, Chosen& chosen, const char* name, const char* what, Add add,
                 Run run) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(name, what);
  add(command, *flags);
  command->callback([&chosen, flags, run] { chosen = [flags, run] { return run(*flags); }; });
}

void add_runs(CLI::App& app, Chosen& chosen) {
  const auto add = [](CLI::App* command, RunFlags& flags) {
    add_run_flags(command, flags);
    add_variant_flag(command, flags.job);
    add_dashboard_flags(command, flags);
  };
  const auto add_train = [add](CLI::App* command, RunFlags& flags) {
    add(command, flags);
    command->add_option("--listen", flags.listen,
                        "HOST:PORT where workers come to, from any machine, instead of starting "
                        "them here (`motley worker --join HOST:PORT`)");
    command
        ->add_option("--join-timeout", flags.join_timeout,
                     "with --listen: seconds for all to come (default 600)")
        ->needs("--listen")
        ->check(CLI::Range(0.001, 1e6));
  };
  add_command<RunFlags>(app, chosen, "train", "run a job with worker processes on this machine",
                        add_train,
                        [](const RunFlags& flags) { return run_command(flags, Mode::kTrain); });
  add_command<RunFlags>(app, chosen, "simulate", "run the same job on a virtual clock", add,
                        [](const RunFlags& flags) { return run_command(flags, Mode::kSimulate); });
}

void add_compare(CLI::App& app, Chosen& chosen) {
  add_command<CompareFlags>(
      app, chosen, "compare", "every [[variant]] of a job, side by side in a table",
      [](CLI::App* command, CompareFlags& flags) {
        add_run_flags(command, flags.run);
        command->add_flag("--simulate", flags.simulate, "on a virtual clock, several at a time");
        command
            ->add_option("--jobs", flags.jobs, "simulations at a time (default: as many as cores)")
            ->check(CLI::Range(1, 1024));
      },
      compare_command);
}

void add_report(CLI::App& app, Chosen& chosen) {
  add_command<ReportFlags>(
      app, chosen, "report", "what there is to see of runs, as one HTML page",
      [](CLI::App* command, ReportFlags& flags) {
        command
            ->add_option("RUN_DIR", flags.directories,
                         "directories of runs or comparisons; several are overlaid")
            ->required();
        command->add_option(
            "--out", flags.out,
            "the file (default: report.html in RUN_DIR, or here when there are several)");
      },
      report_command);
}

void add_config(CLI::App& app, Chosen& chosen) {
  add_command<ConfigFlags>(
      app, chosen, "config", "print the resolved job, every default filled in",
      [](CLI::App* command, ConfigFlags& flags) {
        CLI::Option* job = add_job_flags(command, flags.job);
        add_variant_flag(command, flags.job);
        command
            ->add_flag("--keys", flags.keys,
                       "instead: every key that a job file may have, as a Markdown table")
            ->excludes(job);
      },
      config_command);
}

void add_calibrate(CLI::App& app, Chosen& chosen) {
  add_command<CalibrateFlags>(
      app, chosen, "calibrate",
      "measure the latency and bandwidth that make `simulate` as fast as this machine",
      [](CLI::App* command, CalibrateFlags& flags) {
        add_job_flags(command, flags.job);
        add_variant_flag(command, flags.job);
        command->add_flag("--write", flags.write, "into [cluster] of the job file, too");
        command->add_flag("--json", flags.json, "print the two as JSON");
      },
      calibrate_command);
}

void add_worker(CLI::App& app, Chosen& chosen) {
  add_command<WorkerFlags>(
      app, chosen, "worker", "takes part in a run that `motley train --listen` conducts",
      [](CLI::App* command, WorkerFlags& flags) {
        command->add_option("--join", flags.join, "HOST:PORT, as `motley train --listen` says")
            ->required();
        command->add_option("--rank", flags.rank, "which worker to be (default: any that is free)")
            ->check(CLI::NonNegativeNumber);
        command->add_flag("--quiet", flags.quiet, "do not say why the run failed");
        command->footer(
            "Exit codes: 0 done, 1 the run failed, 2 bad usage. A signal ends the worker, and the\n"
            "run with it: to end a run in order, send it to `motley train`.");
      },
      worker_command);
}

// At "--" CLI11 leaves the subcommand; this in its place is a word like any other.
constexpr const char* kDashes = "\x1f--";

// What was typed, last word first, as CLI11 wants it.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "launch") {
    std::ranges::replace(words, "--", kDashes);
  }
  std::ranges::reverse(words);
  return words;
}

// A program and its arguments, from what CLI11 left over.
std::vector<std::string> program_of(std::vector<std::string> words) {
  if (!words.empty() && words.front() == kDashes) {
    words.erase(words.begin());
  }
  std::ranges::replace(words, kDashes, "--");
  return words;
}

// The program's words are none that CLI11 knows of.
class LaunchFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::string options = "[OPTIONS]";
    return usage.insert(usage.find(options) + options.size(), " [--] PROGRAM [ARGS...]");
  }
};

void add_launch(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<LaunchFlags>();
  CLI::App* command = app.add_subcommand(
      "launch", "start a program of yours several times, as the ranks of one run");
  command->prefix_command();  // from the program on, all is the program's
  command->add_option("-n,--nproc", flags->processes, "processes on this machine (default 1)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--nnodes", flags->nodes, "machines, each with as many (default 1)")
      ->check(CLI::Range(1, 100'000));
  command->add_option("--node-rank", flags->node, "which of the machines this is, from 0 on");
  command->add_option("--master-addr", flags->master,
                      "the machine of rank 0 (default 127.0.0.1; needed for several machines)");
  command
      ->add_option("--master-port", flags->port,
                   "the port of rank 0 (default: one that is free; 29500 for several machines)")
      ->check(CLI::Range(1, 65'535));
  command->add_option("--log-dir", flags->log_dir,
                      "what each rank prints, as rank_N.log (default launch-logs/<time>)");
  command
      ->add_option("--grace", flags->grace,
                   "seconds for the others to end by themselves when one failed (default 10)")
      ->check(CLI::Range(0.0, 1e9));
  command->add_flag("--quiet", flags->quiet, "what they print goes to the logs alone");
  command->formatter(std::make_shared<LaunchFormatter>());
  command->footer(
      "Each process finds who it is in RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,\n"
      "MASTER_ADDR and MASTER_PORT, as torchrun sets them.\n"
      "Exit codes: 0 all exited with 0, 1 one failed, 2 bad usage,\n"
      "130 / 143 stopped by SIGINT / SIGTERM, which all processes are sent.");
  command->callback([&chosen, flags, command] {
    flags->command = program_of(command->remaining());
    chosen = [flags] { return launch_command(*flags); };
  });
}

int run(int argc, char** argv) {
  CLI::App app{"motley trains one libtorch model on machines that are not alike."};
  app.name("motley");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("motley ") + kVersion);
  app.footer(
      "Exit codes: 0 done, 1 the run failed, 2 bad usage or input,\n"
      "130 / 143 stopped by SIGINT / SIGTERM after saving.");
  Chosen chosen;
  add_runs(app, chosen);
  add_compare(app, chosen);
  add_report(app, chosen);
  add_config(app, chosen);
  add_calibrate(app, chosen);
  app.add_subcommand("strategies", "what a job can choose, one line each")->callback([&] {
    chosen = strategies_command;
  });
  add_launch(app, chosen);
  add_worker(app, chosen);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help, --version
    }
    return refuse(std::string(error.what()) + " (see motley --help)");
  }
  return chosen();
}

}  // namespace

int command_line(int argc, char** argv) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "motley", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("motley: %v");
  try {
    return run(argc, argv);
  } catch (const std::exception& exception) {
    spdlog::error("{}", exception.what());
    return kRunFailed;
  }
}

}  // namespace motley
