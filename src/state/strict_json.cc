#include "state/strict_json.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace motley {
namespace {

constexpr int kMostLevels = 100;

// Sees every element while the text is parsed. The parser itself lets the last of two entries of
// one name win.
class ElementCheck {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > kMostLevels) {
      is_too_deep_ = true;
    } else if (event == Event::object_start) {
      names_.emplace_back();
    } else if (event == Event::object_end) {
      names_.pop_back();
    } else if (event == Event::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names_.back().insert(name).second && !twice_) {
        twice_ = name;
      }
    }
    return !is_too_deep_;  // what is deeper is not stored
  }

  Status status() const {
    if (is_too_deep_) {
      return fail("has more than {} levels", kMostLevels);
    }
    if (twice_) {
      return fail("has two entries {}", nlohmann::json(*twice_).dump());
    }
    return {};
  }

 private:
  std::vector<std::set<std::string>> names_;
  std::optional<std::string> twice_;
  bool is_too_deep_ = false;
};

}  // namespace

Result<nlohmann::json> parse_strictly(std::string_view text) {
  ElementCheck check;
  const auto callback = [&](int depth, nlohmann::json::parse_event_t event,
                            nlohmann::json& parsed) { return check(depth, event, parsed); };
  nlohmann::json json = nlohmann::json::parse(text, callback, false);
  if (Status status = check.status(); !status) {
    return tl::unexpected(status.error());
  }
  if (json.is_discarded()) {
    return fail("is not JSON");
  }
  return json;
}

}  // namespace motley
