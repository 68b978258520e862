#include "record/event_file.h"

#include <bit>
#include <cstring>
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

}  // namespace

Result<EventFile> EventFile::create(const std::filesystem::path& path, double wall_time) {
  auto created = AppendedFile::create(path);
  if (!created) {
    return tl::unexpected(created.error());
  }
  EventFile file(std::move(*created));
  std::string event = event_at(wall_time);
  put_bytes(event, kEventFileVersion, "brain.Event:2");
  if (Status status = file.file_.append(record_of(event)); !status) {
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
  if (Status status = file_.append(record_of(event)); !status) {
    return status;
  }
  for (const auto& [tag, number] : scalars) {
    described_.insert(tag);  // only now that the file has it
  }
  return {};
}

std::string event_file_name(std::time_t now) {
  return fmt::format("events.out.tfevents.{}.motley", static_cast<std::int64_t>(now));
}

}  // namespace motley
