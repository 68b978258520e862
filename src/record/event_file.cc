#include "record/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/crc32c.h"

namespace motley {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little-endian");

template <class T>
void put(std::string& out, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof raw);
}

// The wire format of protocol buffers: a key (field number and wire type), then the value.
enum class Wire : std::uint8_t { kVarint = 0, k64Bit = 1, kBytes = 2, k32Bit = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}
void put_key(std::string& out, int field, Wire wire) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}
void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, Wire::kBytes);
  put_varint(out, bytes.size());
  out.append(bytes);
}

// Fields of tensorflow.Event, .Summary, .Summary.Value and .SummaryMetadata.
constexpr int kEventWallTime = 1;
constexpr int kEventStep = 2;
constexpr int kEventFileVersion = 3;
constexpr int kEventSummary = 5;
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1;
constexpr int kValueSimple = 2;
constexpr int kValueMetadata = 9;
constexpr int kMetadataPluginData = 1;
constexpr int kPluginDataName = 1;

std::string event_at(double wall_time) {
  std::string event;
  put_key(event, kEventWallTime, Wire::k64Bit);
  put(event, wall_time);
  return event;
}

std::string value_of(const std::string& tag, double number, bool describe) {
  std::string value;
  put_bytes(value, kValueTag, tag);
  put_key(value, kValueSimple, Wire::k32Bit);
  put(value, static_cast<float>(number));
  if (describe) {  // tells TensorBoard how to draw the tag; needed once per tag
    std::string plugin;
    put_bytes(plugin, kPluginDataName, "scalars");
    std::string metadata;
    put_bytes(metadata, kMetadataPluginData, plugin);
    put_bytes(value, kValueMetadata, metadata);
  }
  return value;
}

std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

std::string record_of(std::string_view data) {
  std::string record;
  record.reserve(data.size() + 16);
  put(record, static_cast<std::uint64_t>(data.size()));
  put(record, masked_crc(record));
  record.append(data);
  put(record, masked_crc(data));
  return record;
}

// Returns 0, or errno if not everything was written.
int write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return 0;
}

tl::unexpected<Error> not_written(const std::filesystem::path& path, int problem) {
  return fail("{}: cannot be written: {}", path.string(), std::generic_category().message(problem));
}

}  // namespace

EventFile::EventFile(EventFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      described_(std::move(other.described_)) {}

EventFile& EventFile::operator=(EventFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(described_, other.described_);
  return *this;
}

EventFile::~EventFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<EventFile> EventFile::create(const std::filesystem::path& path, double wall_time) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor < 0) {
    return not_written(path, errno);
  }
  EventFile file(path, descriptor);
  std::string event = event_at(wall_time);
  put_bytes(event, kEventFileVersion, "brain.Event:2");
  if (Status status = file.append(event); !status) {
    return tl::unexpected(status.error());
  }
  return file;
}

Status EventFile::add(double wall_time, std::int64_t step,
                      const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    put_bytes(summary, kSummaryValue, value_of(tag, number, !described_.contains(tag)));
  }
  std::string event = event_at(wall_time);
  put_key(event, kEventStep, Wire::kVarint);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, kEventSummary, summary);
  if (Status status = append(event); !status) {
    return status;
  }
  for (const auto& [tag, number] : scalars) {
    described_.insert(tag);  // only now that the file has it
  }
  return {};
}

Status EventFile::append(std::string_view event) {
  const std::string record = record_of(event);
  if (const int problem = write_whole(descriptor_, record); problem != 0) {
    // A partial record would make the rest of the file unreadable.
    const int taken_back = ::ftruncate(descriptor_, static_cast<off_t>(size_));
    static_cast<void>(taken_back);  // fails for a pipe, which has no length
    return not_written(path_, problem);
  }
  size_ += record.size();
  return {};
}

std::string event_file_name(std::time_t now) {
  return fmt::format("events.out.tfevents.{}.motley", static_cast<std::int64_t>(now));
}

}  // namespace motley
