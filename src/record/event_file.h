// EventFile: scalars for TensorBoard, which reads the file while the run goes on.
//
//   auto file = EventFile::create(dir / event_file_name(std::time(nullptr)));
//   Status status = file->add(wall_time, step, {{"test/loss", 0.41}});
//
// The file is a sequence of TFRecords: length, checksum of the length, data, checksum of the data.
// Checksums are CRC-32C, masked as TFRecord requires. The data are protobuf messages
// (tensorflow.Event), encoded by hand: they need too few fields to be worth a generator. The first
// record holds the format version.
//
// Every record is one write(2) at the end of the file, so a reader sees it whole or truncated;
// TensorBoard treats a truncated record as not yet written. If the disk is full the record is
// removed again: the file stays readable, and add() may be retried. Cost: about 25 bytes per
// scalar.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "record/appended_file.h"

namespace motley {

class EventFile {
 public:
  // Creates the file with its version record. An existing file is overwritten.
  static Result<EventFile> create(const std::filesystem::path& path,
                                  double wall_time = static_cast<double>(std::time(nullptr)));

  // Opens an existing file and removes the events after this step, and what is damaged at its end.
  // Fails if the file is not one of these.
  static Result<EventFile> continue_after(const std::filesystem::path& path, std::int64_t step);

  // `wall_time` is in seconds since 1970. Values are stored as 32-bit floats; NaN and infinity are
  // allowed.
  Status add(double wall_time, std::int64_t step,
             const std::vector<std::pair<std::string, double>>& scalars);

 private:
  explicit EventFile(AppendedFile file) : file_(std::move(file)) {}

  AppendedFile file_;
  std::set<std::string> described_;  // tags whose type is in the file
};

// A name that TensorBoard recognises: "events.out.tfevents.<seconds>.motley".
std::string event_file_name(std::time_t now);

}  // namespace motley
