// A run under way in words, for a terminal or for a log: pure text, the drawing is progress.h's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record/document.h"
#include "record/run_record.h"

namespace motley {

// Room on the screen.
struct TextRoom {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// "step 244/469  4880 samples/s  loss 0.4123  accuracy 0.8121  ETA 0:12"
std::string progress_line(const RunRecord& record, const Moment& moment);

// The whole run: a bar, a line per worker as far as there is room, and the straggler. No line is
// wider than the room.
std::vector<std::string> live_block(const RunRecord& record, const Moment& moment, TextRoom room);

// The same for a log: progress, then a line of every worker, each with its rank in front. Of many
// workers the straggler alone.
std::vector<std::string> plain_lines(const RunRecord& record, const Moment& moment);

}  // namespace motley
