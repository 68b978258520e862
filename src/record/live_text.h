// The state of a running run as text, for a terminal or a log. Pure; progress.h does the drawing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record/document.h"
#include "record/run_record.h"

namespace motley {

// The size of the screen.
struct TextRoom {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// "step 244/469  4880 samples/s  loss 0.4123  accuracy 0.8121  ETA 0:12"
// "step 244/469  no progress for 12 s  loss 0.4123  accuracy 0.8121"
std::string progress_line(const RunRecord& record, const Moment& moment);

// The whole run: a bar, one line per worker as far as they fit, and the straggler. No line is wider
// than the screen.
std::vector<std::string> live_block(const RunRecord& record, const Moment& moment, TextRoom room);

// The same for a log: progress, then one line per worker, each beginning with its rank. With many
// workers only the straggler is listed. Without progress, what each worker is doing.
std::vector<std::string> plain_lines(const RunRecord& record, const Moment& moment);

}  // namespace motley
