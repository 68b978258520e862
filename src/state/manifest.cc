#include "state/manifest.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "motley/version.h"
#include "state/sha256.h"
#include "state/strict_json.h"

namespace motley {
namespace {

constexpr std::string_view kFormat = "motley checkpoint";
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kDigits = 64;

// The last lines of the file. The checksum is of all bytes before them.
constexpr std::string_view kBeforeDigits = ",\n\"sha256\": \"";
constexpr std::string_view kAfterDigits = "\"\n}\n";
constexpr std::size_t kTailSize = kBeforeDigits.size() + kDigits + kAfterDigits.size();

std::string tail_of(std::string_view body) {
  return fmt::format("{}{}{}", kBeforeDigits, sha256(std::as_bytes(std::span(body))), kAfterDigits);
}

bool is_sealed(std::string_view text) {
  if (text.size() < kTailSize) {
    return false;
  }
  const std::string_view body = text.substr(0, text.size() - kTailSize);
  return text.substr(body.size()) == tail_of(body);
}

// JSON has no infinities and no NaN, and would store null.
bool is_finite(const nlohmann::json& value) {
  return value.is_number_float() ? std::isfinite(value.get<double>())
                                 : !value.is_structured() || std::ranges::all_of(value, is_finite);
}

nlohmann::json json_of_seals(const Manifest& manifest) {
  nlohmann::json files = nlohmann::json::object();
  for (const auto& [name, seal] : manifest.files) {
    files[name] = {{"bytes", seal.bytes}, {"sha256", seal.sha256}};
  }
  return files;
}

// Format and version come first, so that they can be seen, and one thing is on a line.
std::string body_of(const Manifest& manifest) {
  const nlohmann::json accuracy =
      manifest.accuracy ? nlohmann::json(*manifest.accuracy) : nlohmann::json();
  return fmt::format(
      "{{\n\"format\": \"{}\",\n\"version\": {},\n\"written_by\": \"motley {}\",\n\"step\": {},\n"
      "\"accuracy\": {},\n\"files\": {},\n\"values\": {}",
      kFormat, kCheckpointVersion, kVersion, manifest.step, accuracy.dump(),
      json_of_seals(manifest).dump(), manifest.values.dump());
}

Status check_version(const nlohmann::json& json, bool is_whole) {
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat ||
      !json.contains("version") || !json["version"].is_number_integer()) {
    return fail("is not of a motley checkpoint");
  }
  const auto version = json["version"].get<std::int64_t>();
  if (version > kCheckpointVersion) {
    return fail("was written by a newer version of motley{}: its format is {}, this one reads {}",
                is_whole ? "" : ", or is damaged", version, kCheckpointVersion);
  }
  if (is_whole && version < kCheckpointVersion) {
    return fail("has the format {}, which never was", version);
  }
  return {};
}

std::optional<FileSeal> seal_of(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("bytes") || !json["bytes"].is_number_unsigned() ||
      !json.contains("sha256") || !json["sha256"].is_string()) {
    return std::nullopt;
  }
  return FileSeal{json["bytes"].get<std::uint64_t>(), json["sha256"].get<std::string>()};
}

bool read_seals(const nlohmann::json& json, Manifest& manifest) {
  const auto files = json.find("files");
  if (files == json.end() || !files->is_object() || !files->contains(kTensorsFile)) {
    return false;
  }
  for (const auto& [name, entry] : files->items()) {
    const auto seal = seal_of(entry);
    if (!seal || (name != kTensorsFile && !is_own_file_name(name))) {
      return false;
    }
    manifest.files[name] = *seal;
  }
  return true;
}

bool read_position(const nlohmann::json& json, Manifest& manifest) {
  const auto step = json.find("step");
  const auto accuracy = json.find("accuracy");
  if (step == json.end() || !step->is_number_unsigned() || accuracy == json.end()) {
    return false;
  }
  manifest.step = step->get<std::int64_t>();
  if (accuracy->is_number()) {
    manifest.accuracy = accuracy->get<double>();
  }
  return manifest.step >= 0 && (manifest.accuracy || accuracy->is_null());
}

}  // namespace

bool is_own_file_name(std::string_view name) {
  const auto is_bad = [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  };
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::ranges::none_of(name, is_bad) && name != kManifestFile && name != kTensorsFile;
}

Result<std::string> manifest_text(const Manifest& manifest) {
  if (!is_finite(manifest.values)) {
    return fail("a number of the state is not finite, which JSON cannot store");
  }
  try {
    std::string text = body_of(manifest);
    text += tail_of(text);
    return text;
  } catch (const nlohmann::json::exception&) {
    return fail("a name or a text of the state is not UTF-8");
  }
}

Result<Manifest> parse_manifest(std::string_view text) {
  auto json = parse_strictly(text);
  if (!json) {
    return fail("{}: it is damaged", json.error().message);
  }
  const bool is_whole = is_sealed(text);
  if (Status status = check_version(*json, is_whole); !status) {
    return tl::unexpected(status.error());
  }
  if (!is_whole) {
    return fail("is damaged: its checksum is wrong");
  }
  Manifest manifest;
  const auto values = json->find("values");
  if (!read_seals(*json, manifest) || !read_position(*json, manifest) || values == json->end() ||
      !values->is_object()) {
    return fail("lacks files, step, accuracy or values of a checkpoint");
  }
  manifest.values = std::move(*values);
  return manifest;
}

}  // namespace motley
