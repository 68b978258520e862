// The checkpoints of a run that is watched, and how its record goes on from one.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "session/warning.h"
#include "session/watch.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

// Of the part "run" of a state (runtime/run/run_position.h).
struct Cut {
  int term = 0;  // the next one
  std::int64_t samples = 0;
  Seconds seconds = 0;

  void state(Archive& archive) {
    archive("term", term);
    archive("samples", samples);
    archive("seconds", seconds);
  }
};

Cut cut_of(const State& state) {
  Cut cut;
  restore(cut, state.part("run"));
  return cut;
}

// Of the last model that was sent before; models are evaluated in the background.
std::optional<double> accuracy_at(std::int64_t samples, const std::vector<Metric>& metrics) {
  std::optional<double> accuracy;
  for (const Metric& metric : metrics) {
    if (metric.samples <= samples && std::isfinite(metric.accuracy)) {
      accuracy = metric.accuracy;
    }
  }
  return accuracy;
}

WorkerNews decided(Seconds at, const std::string& kind, const std::string& what,
                   const std::string& reason) {
  WorkerNews news;
  news.entries.decisions.push_back({at, kind, what, reason});
  return news;
}

}  // namespace

void Watch::on_checkpoint(std::int64_t samples, State state) {
  if (!checkpoints_) {
    return;
  }
  const Cut cut = cut_of(state);
  cuts_ = cut.term;
  cut_samples_ = samples;
  Checkpoint checkpoint;
  checkpoint.step = samples / record_.facts().batch;  // as in the summary: whole steps
  checkpoint.accuracy = accuracy_at(samples, record_.metrics());
  record_.add(kCoordinator,
              decided(cut.seconds, "checkpoint", fmt::format("step {}", checkpoint.step),
                      "the state of the run is saved"));
  add_to(state);
  checkpoint.state = std::move(state);
  if (samples >= record_.facts().limit) {
    last_checkpoint_ = std::move(checkpoint);
    return;
  }
  checkpoints_->write(std::move(checkpoint));
  say_problems(checkpoints_->take_problems());
}

void Watch::write_last_checkpoint() {
  if (last_checkpoint_) {
    checkpoints_->write(*std::exchange(last_checkpoint_, std::nullopt));
    checkpoints_->finish();
    say_problems(checkpoints_->take_problems());
  }
}

std::int64_t Watch::finish_checkpoints() {
  if (!checkpoints_) {
    return 0;
  }
  checkpoints_->finish();
  say_problems(checkpoints_->take_problems());
  return checkpoints_->written() + (last_checkpoint_ ? 1 : 0);
}

// What a run needs to go on with its record, and its job.
void Watch::add_to(State& state) {
  state.values[kSavedName] = record_.facts().name;
  state.values[kSavedMode] = record_.facts().mode;
  state.values[kSavedJob] = record_.facts().job;
  state.put(kSavedRecord, state_of(record_));
  State mine;
  Archive archive = Archive::saving(mine);
  this->state(archive);
  state.put(kSavedWatch, std::move(mine));
}

void Watch::state(Archive& archive) {
  std::int64_t written = checkpoints_ ? checkpoints_->expected() + 1 : 0;  // with this one
  archive("started", started_);
  archive("event_file", event_file_);
  archive("checkpoints", written);
  archive("cuts", cuts_);
  archive("cut_samples", cut_samples_);
  checkpoints_before_ = written;
  // Of what was last written to TensorBoard, only this matters for what comes next.
  archive("marked_seconds", marked_.seconds);
  archive("marked_samples", marked_.samples);
  std::vector<int> marked;
  for (const auto& [id, worker] : marked_.workers) {
    marked.push_back(id);
  }
  archive("marked_workers", marked);
  for (const int id : marked) {
    WorkerFigures& worker = marked_.workers[id];
    std::vector<double> times = {worker.compute, worker.communicate, worker.wait};
    archive(fmt::format("marked_{}", id), times);
    times.resize(3);
    worker.compute = times[0];
    worker.communicate = times[1];
    worker.wait = times[2];
  }
}

void Watch::go_on() {
  const State saved = from_->state().part(kSavedWatch);
  Archive archive = Archive::restoring(saved);
  state(archive);
  if (!RunDir::is_result(event_file_) || fs::path(event_file_).filename() != event_file_) {
    throw StateError("event_file is not the name of a file of TensorBoard");
  }
  go_on_with_record();
  if (marked_.samples > record_.samples()) {
    marked_ = figures_of(record_);
  }
}

void Watch::go_on_with_record() {
  const Cut cut = cut_of(from_->state());
  restore(record_, from_->state().part(kSavedRecord));
  record_.trim(cut.seconds, cut.samples);
  record_.add(kCoordinator,
              decided(cut.seconds, "resumption", fmt::format("step {}", from_->checkpoint.step),
                      "the run was resumed"));
}

}  // namespace motley
