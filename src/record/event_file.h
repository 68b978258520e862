// EventFile: scalars for TensorBoard, as a file that it reads while the run goes on.
//
//   auto file = EventFile::create(dir / event_file_name(std::time(nullptr)));
//   Status status = file->add(wall_time, step, {{"test/loss", 0.41}});
//
// A row of TFRecords: length, checksum of the length, data, checksum of the data; the checksums are
// CRC-32C, masked so that the checksum of what holds checksums is not degenerate. The data are
// protobuf messages (tensorflow.Event), written here by hand: the few fields needed are not worth a
// generator. The first says which version of the format it is.
//
// Every record is one write(2) at the end of the file, so that a reader sees it whole or the
// beginning of it, which TensorBoard takes for "not yet". One that the disk has no room for is
// taken back: the file stays readable, and add() may be called again. Costs about 25 bytes a
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

namespace motley {

class EventFile {
 public:
  // Makes the file, empty but for its version; one that is there is begun anew.
  static Result<EventFile> create(const std::filesystem::path& path,
                                  double wall_time = static_cast<double>(std::time(nullptr)));
  EventFile(EventFile&& other) noexcept;
  EventFile& operator=(EventFile&& other) noexcept;
  ~EventFile();

  // `wall_time` in seconds since 1970. Values are kept as 32-bit floats; NaN and infinity are fine.
  Status add(double wall_time, std::int64_t step,
             const std::vector<std::pair<std::string, double>>& scalars);

 private:
  EventFile(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  Status append(std::string_view event);

  std::filesystem::path path_;
  int descriptor_;                   // -1: moved from
  std::uint64_t size_ = 0;           // of what is whole
  std::set<std::string> described_;  // tags whose kind the file has
};

// A name that TensorBoard looks for: "events.out.tfevents.<seconds>.motley".
std::string event_file_name(std::time_t now);

}  // namespace motley
