#include "state/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "state/strict_json.h"

namespace motley {
namespace {

constexpr std::size_t kLengthSize = 8;
constexpr std::size_t kAlignment = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // as in other readers
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<ElementType, std::string_view> kElementNames[] = {
    {ElementType::kFloat64, "F64"},
    {ElementType::kInt64, "I64"},
    {ElementType::kFloat32, "F32"},
    {ElementType::kUint8, "U8"}};

std::string_view name_of(ElementType type) {
  return std::ranges::find(kElementNames, type, &std::pair<ElementType, std::string_view>::first)
      ->second;
}

std::optional<ElementType> element_type(const nlohmann::json& name) {
  for (const auto& [type, known] : kElementNames) {
    if (name == known) {
      return type;
    }
  }
  return std::nullopt;
}

// None if a dimension is not one, or if the product is too large for any file.
std::optional<std::uint64_t> bytes_of(ElementType type, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = size_of(type);
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

using TensorEntry = TensorMap::value_type;

std::vector<const TensorEntry*> in_file_order(const TensorMap& tensors) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& each : tensors) {
    MOTLEY_CHECK(bytes_of(each.second.type, each.second.shape) == each.second.bytes.size(),
                 "the shape of {} does not fit its {} bytes", each.first, each.second.bytes.size());
    order.push_back(&each);
  }
  std::ranges::stable_sort(order, std::greater<>{},
                           [](const TensorEntry* each) { return size_of(each->second.type); });
  return order;
}

nlohmann::json header_of(const std::vector<const TensorEntry*>& order) {
  nlohmann::json header = nlohmann::json::object();
  std::uint64_t at = 0;
  for (const TensorEntry* each : order) {
    const std::uint64_t end = at + each->second.bytes.size();
    header[each->first] = {{"dtype", name_of(each->second.type)},
                           {"shape", each->second.shape},
                           {"data_offsets", {at, end}}};
    at = end;
  }
  return header;
}

Result<std::string> length_and_header(const std::vector<const TensorEntry*>& order) {
  std::string text;
  try {
    text = header_of(order).dump();
  } catch (const nlohmann::json::exception&) {
    return fail("the name of a tensor is not UTF-8");
  }
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::uint64_t size = text.size();
  char length[kLengthSize];
  std::memcpy(length, &size, sizeof length);
  return std::string(length, sizeof length) + text;
}

// For a message: one line, and not without end.
std::string quote(const nlohmann::json& text) { return fmt::format("{:.100}", text.dump()); }

// Where a tensor of the header lies in the data.
struct PlacedTensor {
  std::string name;
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::optional<std::vector<std::int64_t>> sizes_in(const nlohmann::json& list) {
  if (!list.is_array()) {
    return std::nullopt;
  }
  std::vector<std::int64_t> sizes;
  for (const nlohmann::json& each : list) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > INT64_MAX) {
      return std::nullopt;
    }
    sizes.push_back(each.get<std::int64_t>());
  }
  return sizes;
}

Result<PlacedTensor> placed_tensor(const std::string& name, const nlohmann::json& entry) {
  const std::string quoted = quote(name);
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets")) {
    return fail("the tensor {} needs dtype, shape and data_offsets, and nothing else", quoted);
  }
  const auto type = element_type(entry["dtype"]);
  if (!type) {
    return fail("the tensor {} has a dtype that motley does not know: {}", quoted,
                quote(entry["dtype"]));
  }
  const auto shape = sizes_in(entry["shape"]);
  const auto offsets = sizes_in(entry["data_offsets"]);
  if (!shape || !offsets || offsets->size() != 2 || offsets->front() > offsets->back()) {
    return fail("the tensor {} has a wrong shape or wrong data_offsets", quoted);
  }
  PlacedTensor placed{name, *type, *shape, static_cast<std::uint64_t>(offsets->front()),
                      static_cast<std::uint64_t>(offsets->back())};
  if (bytes_of(*type, *shape) != placed.end - placed.begin) {
    return fail("the tensor {} has a shape that does not fit its {} bytes", quoted,
                placed.end - placed.begin);
  }
  return placed;
}

Result<std::vector<PlacedTensor>> placed_tensors(const nlohmann::json& header) {
  std::vector<PlacedTensor> placed;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      continue;
    }
    auto each = placed_tensor(name, entry);
    if (!each) {
      return tl::unexpected(each.error());
    }
    placed.push_back(std::move(*each));
  }
  std::ranges::stable_sort(
      placed, {}, [](const PlacedTensor& each) { return std::pair(each.begin, each.end); });
  return placed;
}

// The tensors lie one after the other, from the first byte of the data to the last.
Status check_places(const std::vector<PlacedTensor>& placed, std::uint64_t data_size) {
  std::uint64_t at = 0;
  for (const PlacedTensor& each : placed) {
    if (each.begin != at) {
      return fail("the tensor {} begins at byte {} of the data, not at {}", quote(each.name),
                  each.begin, at);
    }
    at = each.end;
  }
  if (at != data_size) {
    return fail("has {} bytes of data, but its tensors have {}", data_size, at);
  }
  return {};
}

Result<nlohmann::json> parse_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto header = parse_strictly(text);
  if (!header) {
    return fail("the header {}", header.error().message);
  }
  if (!header->is_object()) {
    return fail("the header is not an object");
  }
  return header;
}

TensorMap copied(const std::vector<PlacedTensor>& placed, std::span<const std::byte> data) {
  TensorMap tensors;
  for (const PlacedTensor& each : placed) {
    const auto bytes = data.subspan(each.begin, each.end - each.begin);
    tensors[each.name] = {each.type, each.shape, {bytes.begin(), bytes.end()}};
  }
  return tensors;
}

}  // namespace

Status write_safetensors(const TensorMap& tensors, const ByteSink& sink) {
  if (tensors.contains(std::string(kMetadata))) {
    return fail("a tensor cannot have the name {}", kMetadata);
  }
  const auto order = in_file_order(tensors);
  const auto begin = length_and_header(order);
  if (!begin) {
    return tl::unexpected(begin.error());
  }
  Status status = sink(std::as_bytes(std::span(*begin)));
  for (const TensorEntry* each : order) {
    if (status && !each->second.bytes.empty()) {
      status = sink(each->second.bytes);
    }
  }
  return status;
}

Result<TensorMap> read_safetensors(std::span<const std::byte> file) {
  if (file.size() < kLengthSize) {
    return fail("has {} bytes, which is too short for a safetensors file", file.size());
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > kLongestHeader || length > file.size() - kLengthSize) {
    return fail("has no safetensors header: it would have {} bytes", length);
  }
  const auto header = parse_header(file.subspan(kLengthSize, length));
  if (!header) {
    return tl::unexpected(header.error());
  }
  const auto placed = placed_tensors(*header);
  if (!placed) {
    return tl::unexpected(placed.error());
  }
  const auto data = file.subspan(kLengthSize + length);
  if (Status status = check_places(*placed, data.size()); !status) {
    return tl::unexpected(status.error());
  }
  return copied(*placed, data);
}

}  // namespace motley
