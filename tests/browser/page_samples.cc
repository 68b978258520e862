// Writes the pages that report_test.py opens, and the documents for the live one.
// usage: page_samples DIRECTORY
#include <filesystem>
#include <fstream>

#include "page/page.h"
#include "tests/browser/sample_runs.h"

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace motley;
  if (argc != 2) {
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const SampleRun hop = {
      .name = "hop, adaptive shares", .sync = "hop", .allocation = "adaptive", .behind = true};
  write(folder / "one.html", report_page({sample_run(hop)}, "fashion"));
  write(folder / "compare.html",
        report_page({sample_run({.name = "equal", .allocation = "equal"}),
                     sample_run({.name = "adaptive", .seed = 2}), failed_run("ps_asp"),
                     sample_run({.name = "partial_reduce",
                                 .sync = "partial_reduce",
                                 .allocation = "equal",
                                 .width = 0.04,
                                 .behind = true,
                                 .seed = 3})},
                    "Four ways to train fashion"));
  write(folder / "phantom.html",
        report_page({sample_run({.name = "phantom", .evaluated = false})}, "phantom"));
  write(folder / "large.html",
        report_page({sample_run({.name = "64 workers", .workers = 64, .behind = true})}, "large"));
  write(folder / "elastic.html",
        report_page({sample_run({.name = "spot", .elastic = true})}, "spot"));
  write(folder / "huge.html",
        report_page({sample_run({.name = "4,096 workers", .workers = 4096, .bins = 20})}, "huge"));
  write(folder / "hostile.html", report_page({hostile_run()}, kHostile));
  write(folder / "hostile_compare.html", report_page({hostile_run(), hostile_run()}, kHostile));
  write(folder / "failed.html", report_page({failed_run("ps_asp")}, "failed"));
  write(folder / "live.html", live_page("fashion"));
  int number = 0;
  for (const double finished : {0.004, 0.3, 0.6, 1.0}) {
    SampleRun run = hop;
    run.finished = finished;
    run.elastic = true;
    write(folder / fmt::format("live-{}.json", number++), sample_run(run).dump());
  }
  return 0;
}
