#include "session/watch.h"

#include <fmt/format.h>

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

Watch::Watch(RunFacts facts, ProgressDisplay::Style style, std::unique_ptr<Dashboard> dashboard,
             const ResumePoint* from)
    : from_(from),
      record_(std::move(facts)),
      display_(style),
      dashboard_(std::move(dashboard)),
      started_(static_cast<double>(std::time(nullptr))),
      event_file_(event_file_name(std::time(nullptr))) {
  if (from) {
    go_on();
  }
  publish();
  if (style == ProgressDisplay::Style::kLive) {
    display_.update(record_, moment());  // at once, because workers take a while to start
  }
}

void Watch::open(const RunDir& dir, bool with_checkpoints, int checkpoint_keep) {
  dir_ = &dir;
  if (with_checkpoints) {
    checkpoints_.emplace(dir.path(), checkpoint_keep, record_.facts().mode == "simulate");
    checkpoints_->go_on_from(checkpoints_before_);
  }
  files_ = std::make_shared<RunFiles>(dir.path(), event_file_, started_);
  // A simulation would overtake the disk, and nobody has to answer it in time.
  writer_.emplace(record_.facts().mode == "simulate" ? BackgroundWriter::WhenFull::kWait
                                                     : BackgroundWriter::WhenFull::kLeaveOut);
  if (!from_) {
    change(files_->events_path(), [](RunFiles& files) { return files.begin_events(); });
    return;
  }
  change(files_->metrics_path(), [metrics = record_.metrics()](RunFiles& files) {
    return files.continue_metrics(metrics);
  });
  change(files_->events_path(),
         [before = from_->run, step = step_of(cut_samples_), metrics = record_.metrics()](
             RunFiles& files) { return files.continue_events(before, step, metrics); });
}

void Watch::on_begin(const std::function<Activity(int)>& activity_of) {
  began_ = Clock::now();
  began_samples_ = record_.samples();
  staleness_.begin(0);
  activity_of_ = activity_of;
}

void Watch::on_members(std::vector<MemberRecord> members) {
  record_.set_members(std::move(members));
  show();
}

void Watch::on_term(TermRecord term) {
  record_.add(std::move(term));
  show();
}

void Watch::on_news(RecordPlace place, const WorkerNews& news) {
  record_.add(place, news);
  show();
}

void Watch::on_progress(const RunProgress& progress) {
  if (progress.samples > record_.samples() && began_) {
    staleness_.on_progress(seconds_since_begin());
  }
  record_.progress(progress.seconds, progress.samples, progress.loss);
  if ((record_.samples() - marked_.samples) * kMarks >= record_.facts().limit) {
    mark();
  }
  show();
}

void Watch::on_metric(const Metric& metric) {
  record_.add(metric);
  if (files_) {
    const bool is_first = record_.metrics().size() == 1;  // then the file is made
    change(files_->metrics_path(),
           [metric, is_first](RunFiles& files) { return files.add_metric(metric, is_first); });
    change(files_->events_path(),
           [metric](RunFiles& files) { return files.add_evaluation(metric); });
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
  finish_files();
  publish();
}

Seconds Watch::seconds_since_begin() const {
  return std::chrono::duration<double>(Clock::now() - *began_).count();
}

// The time left is in real seconds, also in a simulation.
Moment Watch::moment() const {
  Moment moment;
  moment.activity_of = activity_of_;
  const auto left = static_cast<double>(record_.facts().limit - record_.samples());
  if (!began_ || record_.state() != RunState::kRunning) {
    return moment;
  }
  const Seconds passed = seconds_since_begin();
  if (left > 0) {  // evaluations may take long after the last step
    moment.stale_for = staleness_.at(passed);
  }
  const std::int64_t done = record_.samples() - began_samples_;
  if (done > 0 && !moment.stale_for) {
    moment.eta = passed * left / static_cast<double>(done);
  }
  return moment;
}

void Watch::show() {
  if (writer_) {
    say_problems(writer_->take_problems());
  }
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

void Watch::change(const std::filesystem::path& file,
                   const std::function<Status(RunFiles&)>& change) {
  writer_->add(file.string(), [files = files_, change] { return change(*files); });
}

void Watch::finish_files() {
  if (writer_) {
    const bool finished = writer_->finish(BackgroundWriter::kPatience);
    say_problems(writer_->take_problems());
    if (!finished) {
      say_problems({fmt::format("{}: the disk has not answered for {:g} s: files are not whole",
                                dir_->path().string(), BackgroundWriter::kPatience)});
    }
  }
}

// Trouble with a file of the record does not end the run.
void Watch::say_problems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    display_.clear();
    print_notice("warning: " + problem);
  }
}

std::int64_t Watch::step_of(std::int64_t samples) const {
  const std::int64_t batch = record_.facts().batch;
  return (samples + batch - 1) / batch;
}

void Watch::mark() {
  if (!files_) {
    return;
  }
  RunFigures now = figures_of(record_);
  change(files_->events_path(),
         [seconds = now.seconds, step = step_of(now.samples), scalars = scalars_of(now, marked_)](
             RunFiles& files) { return files.add_scalars(seconds, step, scalars); });
  marked_ = std::move(now);
}

}  // namespace motley
