#include "record/event_file.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "record/whole_file.h"

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

template <class T>
T get(std::string_view bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

constexpr std::size_t kRecordHead = sizeof(std::uint64_t) + sizeof(std::uint32_t);

// The length of the record at the beginning of `bytes`; 0 if it is not whole.
std::size_t record_length(std::string_view bytes) {
  if (bytes.size() < kRecordHead) {
    return 0;
  }
  const auto size = get<std::uint64_t>(bytes, 0);
  if (size > bytes.size() - kRecordHead) {
    return 0;
  }
  const std::string record = record_of(bytes.substr(kRecordHead, size));
  return bytes.starts_with(record) ? record.size() : 0;
}

// Of an event that add() has written; none of others.
std::optional<std::int64_t> step_in(std::string_view event) {
  std::string key;
  put_key(key, kEventStep, Wire::kVarint);
  const std::size_t head = event_at(0).size();
  if (event.size() <= head || !event.substr(head).starts_with(key)) {
    return std::nullopt;
  }
  std::uint64_t step = 0;
  int shift = 0;
  for (const char each : event.substr(head + key.size())) {
    step |= static_cast<std::uint64_t>(each & 0x7f) << shift;
    shift += 7;
    if ((each & 0x80) == 0 || shift >= 64) {
      break;
    }
  }
  return static_cast<std::int64_t>(step);
}

std::string events_up_to(std::string_view bytes, std::int64_t step) {
  std::string kept;
  while (const std::size_t length = record_length(bytes)) {
    const std::string_view event =
        bytes.substr(kRecordHead, length - kRecordHead - sizeof(std::uint32_t));
    if (step_in(event).value_or(0) <= step) {
      kept += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return kept;
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

// Tags are described once more, which does no harm.
Result<EventFile> EventFile::continue_after(const std::filesystem::path& path, std::int64_t step) {
  std::ifstream file(path, std::ios::binary);
  const std::string before(std::istreambuf_iterator<char>(file), {});
  const std::string kept = events_up_to(before, step);
  if (kept.empty()) {
    return fail("{}: is not a file of TensorBoard", path.string());
  }
  // Evaluations come late, so an event that goes may stand before one that stays.
  if (!before.starts_with(kept)) {
    if (const Status status = replace_file(path, kept, Durable::kNo); !status) {
      return tl::unexpected(status.error());
    }
  }
  return AppendedFile::continue_at(path, kept.size()).map([](AppendedFile&& appended) {
    return EventFile(std::move(appended));
  });
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
