// Writes files for other programs: an event file, texts for Prometheus and a checkpoint.
// event_file_test.py, prometheus_test.py and checkpoint_test.py read them back and check the
// contents.
// usage: write_samples DIRECTORY
#include <cstdio>
#include <filesystem>
#include <limits>

#include "record/event_file.h"
#include "record/prometheus.h"
#include "record/scalars.h"
#include "record/whole_file.h"
#include "state/checkpoint_store.h"
#include "state/sample_checkpoint.h"

namespace motley {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RunFigures first_mark() {
  RunFigures figures;
  figures.name = "fashion";
  figures.mode = "train";
  figures.sync = "hop";
  figures.allocation = "adaptive";
  figures.codec = "none";
  figures.seconds = 1.25;
  figures.samples = 12'800;
  figures.limit = 120'000;
  figures.samples_per_second = 10'240.5;
  figures.bytes_sent = 123'456'789'012;
  figures.test = Metric{1.25, 50, 12'800, 0.9, 0.7, {}};
  figures.train_loss = 1.1;
  figures.workers = {
      {0,
       {.compute = 0.75,
        .communicate = 0.125,
        .wait = 0.125,
        .samples = 9'600,
        .steps = 50,
        .share = 192,
        .bytes_sent = 61'728'394'506}},
      {1, {.compute = 0.5, .communicate = 0, .wait = 0.5, .samples = 3'200, .steps = 50}}};
  return figures;
}

// Nothing was evaluated, training diverges, and only one worker has done something.
RunFigures second_mark() {
  RunFigures figures = first_mark();
  figures.train_loss = kNaN;
  figures.samples_per_second = kInfinity;
  figures.seconds += 0.5;
  figures.samples += 512;
  figures.workers[0].compute += 1;
  figures.workers[0].wait += 3;
  return figures;
}

Status write_events(const std::filesystem::path& path) {
  auto file = EventFile::create(path, 1'700'000'000.5);
  if (!file) {
    return tl::unexpected(file.error());
  }
  Scalars first = scalars_of(*first_mark().test);
  const Scalars more = scalars_of(first_mark(), {});
  first.insert(first.end(), more.begin(), more.end());
  Status status = file->add(1'700'000'001.25, 50, first);
  if (status) {
    status = file->add(1'700'000'002.25, 1LL << 40, scalars_of(second_mark(), first_mark()));
  }
  for (int step = 0; status && step < 300; ++step) {  // lengths on both sides of a one-byte varint
    const std::string tag(static_cast<std::size_t>(step), 't');
    status = file->add(step, step, {{"long/" + tag, step / 8.0}});
  }
  return status;
}

Status write_state(const std::filesystem::path& directory) {
  Checkpoint checkpoint = sample_checkpoint(500);
  auto& tensors = checkpoint.state.tensors;
  tensors["optimizer.scale"] = tensor_of<double>(ElementType::kFloat64, {0.1});
  tensors["optimizer.scale"].shape = {};
  tensors["naïve \"name\""] = tensor_of<float>(ElementType::kFloat32, {});
  return CheckpointStore(real_files(), directory / "checkpoints").write(checkpoint);
}

Status write_all(const std::filesystem::path& directory) {
  RunFigures hostile = second_mark();
  hostile.name = "a\\b\"c\nd\\n é 模 {x=\"y\"} #\t\r 1";
  hostile.sync = "}";
  hostile.running = false;
  hostile.test->loss = -kInfinity;
  Status status = write_events(directory / event_file_name(1'700'000'000));
  for (const auto& [file, figures] :
       {std::pair("plain.prom", first_mark()), std::pair("hostile.prom", hostile),
        std::pair("empty.prom", RunFigures{})}) {
    if (status) {
      status = replace_file(directory / file, prometheus_text(figures));
    }
  }
  return status ? write_state(directory) : status;
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  const auto status = argc == 2 ? motley::write_all(argv[1]) : motley::fail("which directory?");
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
}
