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
#include "cli/usage.h"
#include "motley/version.h"

namespace motley {
namespace {

// Adds the job file and --set; returns the option of the job file.
CLI::Option* add_job_flags(CLI::App* command, JobFlags& flags) {
  command
      ->add_option("--set", flags.overrides,
                   "override a key of the job with dotted.key=value; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  return command->add_option("JOB", flags.path, "the job file (TOML)");
}

void add_variant_flag(CLI::App* command, JobFlags& flags) {
  command->add_option("--variant", flags.variant, "run this [[variant]] of the job");
}

void add_run_flags(CLI::App* command, RunFlags& flags) {
  add_job_flags(command, flags.job);
  command->add_option("--resume", flags.resume,
                      "go on from the newest checkpoint of a run directory, from a checkpoint, or "
                      "from the \"latest\" run; without JOB with the job of the checkpoint");
  command->add_option("--out", flags.out, "the run directory (default runs/<time>-<name>)");
  command->add_flag("--no-trace", flags.no_trace,
                    "do not write trace.json, which may have up to 50 MB");
  command->add_flag("--json", flags.json, "print only the result on stdout, as JSON");
  command->add_flag("--quiet", flags.quiet, "show no progress");
}

// CLI11 gives one empty string if the port is left out.
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
               : "invalid port " + text + " (1 to 65535); put JOB before --dashboard";
  };
  command
      ->add_option_function<std::string>(
          "--dashboard", [&flags](const std::string& text) { flags.dashboard = port_of(text); },
          "serve a live page of the run on this port (default 8420)")
      ->expected(0, 1)
      ->type_name("[PORT]")
      ->check(CLI::Validator(check, ""));
  command
      ->add_option("--dashboard-host", flags.dashboard_host,
                   "address of the live page (default 127.0.0.1: only this machine)")
      ->needs("--dashboard");
}

void add_listen_flags(CLI::App* command, ListenFlags& flags) {
  command->add_option("--listen", flags.listen,
                      "wait for workers to join at HOST:PORT, from any machine, instead of "
                      "starting them here (`motley worker --join HOST:PORT`)");
  command
      ->add_option("--join-timeout", flags.join_timeout,
                   "with --listen: seconds to wait for all workers (default 600)")
      ->needs("--listen")
      ->check(CLI::Range(0.001, 1e6));
}

// The action of the chosen subcommand.
using Chosen = std::function<int()>;

// Adds a subcommand with its own type of flags: `add` declares options that fill them, `run` runs
// it.
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
    add_listen_flags(command, flags.listen);
  };
  add_command<RunFlags>(app, chosen, "train", "run a job with worker processes on this machine",
                        add_train,
                        [](const RunFlags& flags) { return run_command(flags, Mode::kTrain); });
  add_command<RunFlags>(app, chosen, "simulate", "run the same job on a virtual clock", add,
                        [](const RunFlags& flags) { return run_command(flags, Mode::kSimulate); });
}

void add_compare(CLI::App& app, Chosen& chosen) {
  add_command<CompareFlags>(
      app, chosen, "compare", "run every [[variant]] of a job and compare them in a table",
      [](CLI::App* command, CompareFlags& flags) {
        add_run_flags(command, flags.run);
        command->add_flag("--simulate", flags.simulate, "simulate the variants, several at a time");
        command
            ->add_option("--jobs", flags.jobs, "simulations at a time (default: number of cores)")
            ->check(CLI::Range(1, 1024));
      },
      compare_command);
}

void add_report(CLI::App& app, Chosen& chosen) {
  add_command<ReportFlags>(
      app, chosen, "report", "write an HTML report of one or more runs",
      [](CLI::App* command, ReportFlags& flags) {
        command
            ->add_option("RUN_DIR", flags.directories,
                         "run or comparison directories; several are overlaid")
            ->required();
        command->add_option("--out", flags.out,
                            "output file (default: report.html in RUN_DIR, or in . for several)");
      },
      report_command);
}

void add_state(CLI::App& app, Chosen& chosen) {
  add_command<StateFlags>(
      app, chosen, "state", "show what a checkpoint holds, and check that it is whole",
      [](CLI::App* command, StateFlags& flags) {
        command
            ->add_option("DIR", flags.directory,
                         "a checkpoint, or a run directory: its newest whole checkpoint")
            ->required();
        command->add_flag("--json", flags.json, "print it as JSON");
      },
      state_command);
}

void add_asked_run(CLI::App* command, AskFlags& flags) {
  CLI::Option* directory = command->add_option(
      "RUN_DIR", flags.directory,
      "its run directory, or \"latest\" (default): the one in runs/ that began last");
  command
      ->add_option("--join", flags.join,
                   "HOST:PORT where its workers join, from any machine; needs the run's token in "
                   "MOTLEY_TOKEN")
      ->excludes(directory);
  command->footer("Exit codes: 0 answered, 1 no run answers, 2 bad usage, or the run refuses.");
}

void add_status(CLI::App& app, Chosen& chosen) {
  add_command<AskFlags>(
      app, chosen, "status", "show who takes part in a run that goes on, and what they do",
      [](CLI::App* command, AskFlags& flags) {
        add_asked_run(command, flags);
        command->add_flag("--json", flags.json, "print it as JSON");
      },
      status_command);
}

void add_drain(CLI::App& app, Chosen& chosen) {
  add_command<AskFlags>(
      app, chosen, "drain", "ask a worker of a run that goes on to leave it in order",
      [](CLI::App* command, AskFlags& flags) {
        command->add_option("WORKER", flags.worker, "its number, as `motley status` shows it")
            ->required()
            ->check(CLI::NonNegativeNumber);
        add_asked_run(command, flags);
      },
      drain_command);
}

void add_config(CLI::App& app, Chosen& chosen) {
  add_command<ConfigFlags>(
      app, chosen, "config", "print the resolved job with all defaults",
      [](CLI::App* command, ConfigFlags& flags) {
        CLI::Option* job = add_job_flags(command, flags.job);
        add_variant_flag(command, flags.job);
        command
            ->add_flag("--keys", flags.keys,
                       "print every key that a job file may have instead, as Markdown tables")
            ->excludes(job);
      },
      config_command);
}

void add_calibrate(CLI::App& app, Chosen& chosen) {
  add_command<CalibrateFlags>(
      app, chosen, "calibrate",
      "measure the links of the machines for `simulate`, by plain transfers",
      [](CLI::App* command, CalibrateFlags& flags) {
        add_job_flags(command, flags.job);
        add_variant_flag(command, flags.job);
        add_listen_flags(command, flags.listen);
        command->add_flag("--write", flags.write,
                          "also write the result into [cluster] of the job file");
        command->add_flag("--json", flags.json, "print the result as JSON");
      },
      calibrate_command);
}

void add_worker(CLI::App& app, Chosen& chosen) {
  add_command<WorkerFlags>(
      app, chosen, "worker",
      "join a run started with `motley train --listen` (or calibrate), also while it goes on",
      [](CLI::App* command, WorkerFlags& flags) {
        command
            ->add_option("--join", flags.join, "HOST:PORT of `motley train --listen` or calibrate")
            ->required();
        command->add_option("--rank", flags.rank, "rank of this worker (default: any free rank)")
            ->check(CLI::NonNegativeNumber);
        command->add_flag("--once", flags.once,
                          "do not join again if the run loses this worker: its machine was "
                          "suspended, or its link was cut");
        command->add_flag("--quiet", flags.quiet,
                          "do not print why the run failed, or why the worker joins again");
        command->footer(
            "SIGTERM makes the worker leave the run in order, which goes on; a second one ends it\n"
            "at once. SIGINT ends it at once. To stop the run, send the signal to `motley train`.\n"
            "Exit codes: 0 the run is over or the worker has left it, 1 the run failed or refuses\n"
            "the worker, 2 bad usage.");
      },
      worker_command);
}

// CLI11 leaves the subcommand at "--"; this stands in for it and is a word like any other.
constexpr const char* kDashes = "\x1f--";

// The arguments in reverse order, as CLI11 expects them.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "launch") {
    std::ranges::replace(words, "--", kDashes);
  }
  std::ranges::reverse(words);
  return words;
}

// The program and its arguments, from what CLI11 left over.
std::vector<std::string> program_of(std::vector<std::string> words) {
  if (!words.empty() && words.front() == kDashes) {
    words.erase(words.begin());
  }
  std::ranges::replace(words, kDashes, "--");
  return words;
}

// CLI11 does not know of PROGRAM and ARGS: adds them to the usage line.
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
  CLI::App* command =
      app.add_subcommand("launch", "start your program several times, as the ranks of one run");
  command->prefix_command();  // everything after the program belongs to it
  command->add_option("-n,--nproc", flags->processes, "processes on this machine (default 1)")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--nnodes", flags->nodes,
                   "number of machines with --nproc processes each (default 1)")
      ->check(CLI::Range(1, 100'000));
  command->add_option("--node-rank", flags->node, "index of this machine, from 0");
  command->add_option("--master-addr", flags->master,
                      "machine of rank 0 (default 127.0.0.1; required with --nnodes)");
  command
      ->add_option("--master-port", flags->port,
                   "port of rank 0 (default: a free one; 29500 with --nnodes)")
      ->check(CLI::Range(1, 65'535));
  command->add_option("--log-dir", flags->log_dir,
                      "directory for the logs rank_N.log (default launch-logs/<time>)");
  command
      ->add_option("--grace", flags->grace,
                   "seconds for the other ranks to end after one fails (default 10)")
      ->check(CLI::Range(0.0, 1e9));
  command->add_flag("--quiet", flags->quiet, "write the output to the logs only");
  command->formatter(std::make_shared<LaunchFormatter>());
  command->footer(
      "Each process gets its identity in RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,\n"
      "MASTER_ADDR and MASTER_PORT, as torchrun sets them.\n"
      "Exit codes: 0 all exited with 0, 1 one failed, 2 bad usage,\n"
      "130 / 143 stopped by SIGINT / SIGTERM, which is forwarded to all ranks.");
  command->callback([&chosen, flags, command] {
    flags->command = program_of(command->remaining());
    if (!flags->command.empty() && flags->command.front().starts_with("-")) {
      throw CLI::ExtrasError(flags->command);
    }
    chosen = [flags] { return launch_command(*flags); };
  });
}

int run(int argc, char** argv) {
  CLI::App app{"motley trains one libtorch model on machines that differ in speed."};
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
  add_state(app, chosen);
  add_status(app, chosen);
  add_drain(app, chosen);
  add_config(app, chosen);
  add_calibrate(app, chosen);
  app.add_subcommand("strategies", "list what a job can choose, one line each")->callback([&] {
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
    return refuse(usage_error(app, error, {argv + 1, argv + argc}));
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
