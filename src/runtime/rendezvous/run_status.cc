#include "runtime/rendezvous/run_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace motley {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostNamed = 20;  // workers in a sentence

OrderedJson json_of(const MemberStatus& member, const char* kind) {
  OrderedJson json = {{kind, member.id}, {"host", member.host}, {"pid", member.pid}};
  json[member.left ? "why" : "doing"] = member.left ? member.why : member.doing;
  json["left"] = member.left ? OrderedJson(*member.left) : OrderedJson();
  if (!member.cannot_leave.empty()) {
    json["cannot_leave"] = member.cannot_leave;
  }
  return json;
}

OrderedJson json_of(const std::vector<MemberStatus>& members, const char* kind) {
  OrderedJson list = OrderedJson::array();
  for (const MemberStatus& member : members) {
    list.push_back(json_of(member, kind));
  }
  return list;
}

// Reads the members of an object and remembers whether one had the wrong type.
class ObjectReader {
 public:
  explicit ObjectReader(const OrderedJson& object)
      : object_(object), is_right_(object.is_object()) {}

  bool is_right() const { return is_right_; }

  void read(const char* key, std::string& value) { read(key, value, &OrderedJson::is_string); }
  void read(const char* key, double& value) { read(key, value, &OrderedJson::is_number); }
  template <class Integer>
  void read(const char* key, Integer& value) {
    read(key, value, &OrderedJson::is_number_integer);
  }
  void read(const char* key, std::optional<double>& value) {
    if (const OrderedJson* found = find(key); found && !found->is_null()) {
      read(key, value.emplace());
    }
  }
  void read(const char* key, std::vector<MemberStatus>& members, const char* kind) {
    const OrderedJson* found = find(key);
    is_right_ = is_right_ && (!found || found->is_array());
    for (std::size_t i = 0; is_right_ && found && i < found->size(); ++i) {
      ObjectReader reader((*found)[i]);
      MemberStatus& member = members.emplace_back();
      reader.read(kind, member.id);
      reader.read("host", member.host);
      reader.read("pid", member.pid);
      reader.read("doing", member.doing);
      reader.read("left", member.left);
      reader.read("why", member.why);
      reader.read("cannot_leave", member.cannot_leave);
      is_right_ = reader.is_right();
    }
  }

 private:
  const OrderedJson* find(const char* key) const {
    const auto found = is_right_ ? object_.find(key) : object_.end();
    return found == object_.end() ? nullptr : &*found;
  }
  template <class Value, class Is>
  void read(const char* key, Value& value, Is is) {
    if (const OrderedJson* found = find(key)) {
      is_right_ = (found->*is)();
      value = is_right_ ? found->get<Value>() : value;
    }
  }

  const OrderedJson& object_;
  bool is_right_;
};

std::string those_there(const RunStatus& status) {
  std::vector<int> ids;
  for (const MemberStatus& member : status.members) {
    if (!member.left && ids.size() < kMostNamed) {
      ids.push_back(member.id);
    }
  }
  return ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "));
}

}  // namespace

OrderedJson to_json(const RunStatus& status) {
  return {{"name", status.name},
          {"method", status.method},
          {"seconds", status.seconds},
          {"samples", status.samples},
          {"limit", status.limit > 0 ? OrderedJson(status.limit) : OrderedJson()},
          {"term", status.term},
          {"members", json_of(status.members, "worker")},
          {"servers", json_of(status.servers, "server")}};
}

std::optional<RunStatus> status_in(const OrderedJson& json) {
  RunStatus status;
  ObjectReader reader(json);
  reader.read("name", status.name);
  reader.read("method", status.method);
  reader.read("seconds", status.seconds);
  reader.read("samples", status.samples);
  if (json.is_object() && json.contains("limit") && !json["limit"].is_null()) {
    reader.read("limit", status.limit);
  }
  reader.read("term", status.term);
  reader.read("members", status.members, "worker");
  reader.read("servers", status.servers, "server");
  return reader.is_right() ? std::optional(std::move(status)) : std::nullopt;
}

std::optional<std::string> drain_objection(const std::optional<RunStatus>& status,
                                           std::int64_t worker) {
  if (!status) {
    return fmt::format("worker {} cannot leave yet: the run has not begun", worker);
  }
  // Who left may have come back under the same id.
  const MemberStatus* found = nullptr;
  for (const MemberStatus& member : status->members) {
    if (member.id == worker && (!found || !member.left)) {
      found = &member;
    }
  }
  if (!found) {
    return fmt::format("there is no worker {}; workers of this run: {}", worker,
                       those_there(*status));
  }
  if (found->left) {
    return fmt::format("worker {} left after {:.1f} s: {}", worker, *found->left, found->why);
  }
  return found->cannot_leave.empty() ? std::nullopt
                                     : std::optional(fmt::format("worker {} cannot leave: {}",
                                                                 worker, found->cannot_leave));
}

}  // namespace motley
