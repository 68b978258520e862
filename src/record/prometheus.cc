#include "record/prometheus.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

namespace motley {
namespace {

// Builds the text: each family has two comment lines, then its samples.
class Exposition {
 public:
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }
  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
  // `labels` is the text between the braces.
  template <class Number>
  void sample(Number value, std::string_view labels = {}) {
    const std::string braced = labels.empty() ? "" : fmt::format("{{{}}}", labels);
    if constexpr (std::is_floating_point_v<Number>) {
      fmt::format_to(end(), "{}{} {}\n", name_, braced, sample_value(value));
    } else {
      fmt::format_to(end(), "{}{} {}\n", name_, braced, value);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(end(), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  std::back_insert_iterator<std::string> end() { return std::back_inserter(text_); }

  std::string text_;
  std::string name_;
};

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, escape_label(value));
}

void add_named(Exposition& out, const std::vector<NamedNumber>& named) {
  if (!named.empty()) {
    out.gauge("motley_test_metric", "What else the program measured at the last evaluation.");
  }
  for (const NamedNumber& each : named) {
    out.sample(each.value, label("name", each.name));
  }
}

void add_run(Exposition& out, const RunFigures& run) {
  out.gauge("motley_run_info", "Name, mode and method of the run.");
  out.sample(1, fmt::format("{},{},{},{},{}", label("name", run.name), label("mode", run.mode),
                            label("sync", run.sync), label("allocation", run.allocation),
                            label("codec", run.codec)));
  out.gauge("motley_running", "1 while the run goes on, 0 when it has ended.");
  out.sample(run.running ? 1 : 0);
  out.counter("motley_run_seconds_total", "Seconds since the run began; virtual in simulations.");
  out.sample(run.seconds);
  out.counter("motley_samples_total", "Samples trained on.");
  out.sample(run.samples);
  out.gauge("motley_samples_limit", "Samples of the whole run.");
  out.sample(run.limit);
  out.gauge("motley_samples_per_second", "Samples per second of all workers, over the run so far.");
  out.sample(run.samples_per_second);
  out.counter("motley_sent_bytes_total", "Bytes that all workers have sent.");
  out.sample(run.bytes_sent);
  if (run.train_loss) {
    out.gauge("motley_train_loss", "Mean loss of recent training samples.");
    out.sample(*run.train_loss);
  }
  if (run.test) {
    out.gauge("motley_test_loss", "Loss on the test data at the last evaluation.");
    out.sample(run.test->loss);
    if (!std::isnan(run.test->accuracy)) {
      out.gauge("motley_test_accuracy",
                "Accuracy on the test data at the last evaluation, 0 to 1.");
      out.sample(run.test->accuracy);
    }
    add_named(out, run.test->named);
  }
}

// One family with a sample per worker.
template <class Number>
void add_each(Exposition& out, const RunFigures& run, Number WorkerFigures::*figure) {
  for (const auto& [id, worker] : run.workers) {
    out.sample(worker.*figure, fmt::format("worker=\"{}\"", id));
  }
}

void add_workers(Exposition& out, const RunFigures& run) {
  if (run.workers.empty()) {
    return;  // a family without samples would be useless
  }
  out.counter("motley_worker_seconds_total", "Where a worker's time went.");
  for (const auto& [id, worker] : run.workers) {
    out.sample(worker.compute, fmt::format("worker=\"{}\",doing=\"compute\"", id));
    out.sample(worker.communicate, fmt::format("worker=\"{}\",doing=\"communicate\"", id));
    out.sample(worker.wait, fmt::format("worker=\"{}\",doing=\"wait\"", id));
  }
  out.counter("motley_worker_samples_total", "Samples that a worker has trained on.");
  add_each(out, run, &WorkerFigures::samples);
  out.counter("motley_worker_steps_total", "Steps that a worker has taken.");
  add_each(out, run, &WorkerFigures::steps);
  out.gauge("motley_worker_share_samples", "Current share of a worker: samples per step.");
  add_each(out, run, &WorkerFigures::share);
  out.counter("motley_worker_sent_bytes_total", "Bytes that a worker has sent.");
  add_each(out, run, &WorkerFigures::bytes_sent);
}

}  // namespace

std::string escape_label(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    switch (c) {
      case '\\':
        escaped += "\\\\";
        break;
      case '"':
        escaped += "\\\"";
        break;
      case '\n':
        escaped += "\\n";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string sample_value(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  return fmt::format("{}", value);
}

std::string prometheus_text(const RunFigures& figures) {
  Exposition out;
  add_run(out, figures);
  add_workers(out, figures);
  return out.take();
}

}  // namespace motley
