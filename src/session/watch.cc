#include "session/watch.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "record/document.h"
#include "record/prometheus.h"
#include "record/scalars.h"
#include "session/signals.h"
#include "session/warning.h"

namespace motley {
namespace {

using namespace std::chrono_literals;

constexpr auto kPublishPause = 250ms;
constexpr int kPublishShare = 20;     // publishing takes at most 1/20 of the time
constexpr std::int64_t kMarks = 200;  // points in TensorBoard besides evaluations

}  // namespace

Watch::Watch(const RunDir* dir, RunFacts facts, ProgressDisplay::Style style,
             std::unique_ptr<Dashboard> dashboard)
    : dir_(dir),
      record_(std::move(facts)),
      display_(style),
      dashboard_(std::move(dashboard)),
      started_(static_cast<double>(std::time(nullptr))) {
  if (dir) {
    keep(events_, EventFile::create(dir->path() / event_file_name(std::time(nullptr))),
         warned_of_events_);
  }
  publish();
  if (style == ProgressDisplay::Style::kLive) {
    display_.update(record_, moment());  // at once, because workers take a while to start
  }
}

void Watch::on_begin(const std::function<Activity(Rank)>& activity_of) {
  began_ = Clock::now();
  activity_of_ = activity_of;
}

void Watch::on_news(Rank rank, const WorkerNews& news) {
  record_.add(rank, news);
  show();
}

void Watch::on_progress(const RunProgress& progress) {
  record_.progress(progress.seconds, progress.samples, progress.loss);
  if ((record_.samples() - marked_.samples) * kMarks >= record_.facts().limit) {
    mark();
  }
  show();
}

void Watch::on_metric(const Metric& metric) {
  record_.add(metric);
  if (dir_ && record_.metrics().size() == 1) {  // the file exists from the first evaluation on
    keep(metrics_, AppendedFile::create(dir_->path() / "metrics.jsonl"), warned_of_metrics_);
  }
  if (metrics_) {
    warn_once(metrics_->append_line(to_json(metric).dump()), warned_of_metrics_);
  }
  if (events_) {
    warn_once(events_->add(started_ + metric.seconds, metric.step, scalars_of(metric)),
              warned_of_events_);
  }
  display_.evaluated(metric);
}

void Watch::on_last_model(std::int64_t samples, const Snapshot& model) {
  last_model_ = {step_of(samples), model};
}

std::optional<std::string> Watch::stop_requested() { return first_signal(); }

bool Watch::abandon_requested() { return signalled_twice(); }

void Watch::finish(const Summary& summary) {
  record_.finish(summary);
  if (record_.samples() > marked_.samples) {
    mark();
  }
  end();
}

void Watch::fail(const std::string& why) {
  record_.fail(why);
  end();
}

void Watch::end() {
  activity_of_ = nullptr;
  display_.clear();
  publish();
}

// The time left is in real seconds, also in a simulation.
Moment Watch::moment() const {
  Moment moment;
  moment.activity_of = activity_of_;
  if (began_ && record_.samples() > 0 && record_.state() == RunState::kRunning) {
    const std::chrono::duration<double> passed = Clock::now() - *began_;
    const auto left = static_cast<double>(record_.facts().limit - record_.samples());
    moment.eta = passed.count() * left / static_cast<double>(record_.samples());
  }
  return moment;
}

void Watch::show() {
  if (display_.is_due()) {
    display_.update(record_, moment());
  }
  if (dashboard_ && Clock::now() >= publish_next_) {
    publish();
  }
}

void Watch::publish() {
  if (dashboard_) {
    const auto began = Clock::now();
    dashboard_->publish(one_line(document_of(record_, moment())),
                        prometheus_text(figures_of(record_)));
    const auto took = Clock::now() - began;
    publish_next_ = began + std::max<Clock::duration>(kPublishPause, kPublishShare * took);
  }
}

// Trouble with a file of the record does not end the run.
void Watch::warn_once(const Status& status, bool& warned) {
  if (!status && !warned) {
    display_.clear();
    warned = warn_unless(status);
  }
}

template <class File>
void Watch::keep(std::optional<File>& kept, Result<File> file, bool& warned) {
  if (file) {
    kept = std::move(*file);
  } else {
    warn_once(tl::unexpected(file.error()), warned);
  }
}

std::int64_t Watch::step_of(std::int64_t samples) const {
  const std::int64_t batch = record_.facts().batch;
  return (samples + batch - 1) / batch;
}

void Watch::mark() {
  if (!events_) {
    return;
  }
  RunFigures now = figures_of(record_);
  warn_once(events_->add(started_ + now.seconds, step_of(now.samples), scalars_of(now, marked_)),
            warned_of_events_);
  marked_ = std::move(now);
}

}  // namespace motley
