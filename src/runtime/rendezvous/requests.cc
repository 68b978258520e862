#include "runtime/rendezvous/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/rendezvous/agreement.h"

namespace motley {

using OrderedJson = nlohmann::ordered_json;

std::vector<int> RunRequests::take_drain_requests() { return std::exchange(drained_, {}); }

OrderedJson RunRequests::answer(const RunRequest& request) {
  if (request.name == "status") {
    return {{"status", status_ ? to_json(*status_) : OrderedJson()}};
  }
  if (request.name != "drain") {
    return {{"refused", fmt::format("there is no request \"{}\", only \"status\" and \"drain\"",
                                    for_people(request.name))}};
  }
  if (!request.worker) {
    return {{"refused", "which worker is to leave? `worker` is missing"}};
  }
  if (const auto objection = drain_objection(status_, *request.worker)) {
    return {{"refused", *objection}};
  }
  const int worker = static_cast<int>(*request.worker);  // the id of a member
  if (std::ranges::find(drained_, worker) == drained_.end()) {
    drained_.push_back(worker);
  }
  return {{"draining", worker}};
}

}  // namespace motley
