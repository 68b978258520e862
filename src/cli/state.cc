// `motley state`: what a checkpoint holds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "session/resume_point.h"
#include "session/warning.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

Json value_in(const nlohmann::json& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? Json() : Json(*found);
}

// A number that is stored as text.
Json number_in(const nlohmann::json& values, const char* name) {
  const Json value = value_in(values, name);
  return value.is_string() ? Json::parse(value.get<std::string>(), nullptr, false) : value;
}

const char* type_name(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "F32";
    case ElementType::kUint8:
      return "U8";
    case ElementType::kInt64:
      return "I64";
    case ElementType::kFloat64:
      return "F64";
  }
  return "";
}

Json description_of(const ResumePoint& point) {
  const State& state = point.state();
  const nlohmann::json run = state.part("run").values;
  const auto& accuracy = point.checkpoint.accuracy;
  Json json;
  json["checkpoint"] = point.path.string();
  json["name"] = value_in(state.values, kSavedName);
  json["mode"] = value_in(state.values, kSavedMode);
  json["method"] = value_in(run, "method");
  json["workers"] = number_in(run, "workers");
  json["servers"] = number_in(run, "servers");
  json["step"] = point.checkpoint.step;
  json["samples"] = value_in(run, "samples");
  json["seconds"] = value_in(run, "seconds");
  json["terms"] = value_in(run, "term");
  json["accuracy"] = accuracy ? Json(*accuracy) : Json();
  json["passed_over"] = point.passed_over;
  json["tensors"] = Json::array();
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : state.tensors) {
    bytes += tensor.bytes.size();
    json["tensors"].push_back({{"name", name},
                               {"type", type_name(tensor.type)},
                               {"shape", tensor.shape},
                               {"bytes", tensor.bytes.size()}});
  }
  json["tensor_bytes"] = bytes;
  json["files"] = Json::object();
  for (const auto& [name, contents] : point.checkpoint.files) {
    json["files"][name] = contents.size();
  }
  return json;
}

// A text without quotation marks, or the value as JSON.
std::string shown(const Json& value) {
  return value.is_null() ? "?" : value.is_string() ? value.get<std::string>() : value.dump();
}

void show_state(const Json& json) {
  fmt::print("{}: whole, every checksum is right\n", shown(json["checkpoint"]));
  fmt::print("  {} ({}): {}, workers: {}, servers: {}\n", shown(json["name"]), shown(json["mode"]),
             shown(json["method"]), shown(json["workers"]), shown(json["servers"]));
  fmt::print("  step {}, {} samples, {} s, {} terms, accuracy {}\n", shown(json["step"]),
             shown(json["samples"]), shown(json["seconds"]), shown(json["terms"]),
             shown(json["accuracy"]));
  fmt::print("  {} tensors, {} bytes\n", json["tensors"].size(), shown(json["tensor_bytes"]));
  for (const Json& tensor : json["tensors"]) {
    fmt::print("    {:<48} {} {} {} bytes\n", shown(tensor["name"]), shown(tensor["type"]),
               shown(tensor["shape"]), shown(tensor["bytes"]));
  }
  for (const auto& [name, bytes] : json["files"].items()) {
    fmt::print("  file {}: {} bytes\n", name, shown(bytes));
  }
}

}  // namespace

int state_command(const StateFlags& flags) {
  const auto point = find_checkpoint(flags.directory);
  if (!point) {
    return refuse(point.error().message);
  }
  for (const std::string& each : point->passed_over) {
    print_notice("warning: passed over: " + each);
  }
  const Json json = description_of(*point);
  if (flags.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    show_state(json);
  }
  return kDone;
}

}  // namespace motley
