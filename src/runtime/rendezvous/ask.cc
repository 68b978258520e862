#include "runtime/rendezvous/ask.h"

#include <nlohmann/json.hpp>

#include "motley/version.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/agreement.h"
#include "runtime/rendezvous/exchange.h"

namespace motley {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kLongestAnswer = 64 << 20;  // a run may have many members

std::string line_asking(const std::string& token, const RunRequest& request) {
  OrderedJson said = {{"motley", kVersion}, {"token", token}, {"request", request.name}};
  if (request.worker) {
    said["worker"] = *request.worker;
  }
  return said.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

RunReply ask_run(const Endpoint& rendezvous, const std::string& token, const RunRequest& request,
                 Seconds deadline) {
  const Interruption never;
  auto told = exchange_lines(rendezvous, line_asking(token, request), Patience(deadline, never),
                             kLongestAnswer);
  if (!told.heard) {
    return {RunReply::Kind::kSilent, told.trouble};
  }
  const OrderedJson json = OrderedJson::parse(*told.heard, nullptr, false);
  if (!json.is_object() || !json.contains("motley")) {
    return {RunReply::Kind::kSilent,
            fmt::format("{} is not a motley rendezvous: it answered \"{}\"", show(rendezvous),
                        for_people(*told.heard))};
  }
  if (json.contains("refused")) {
    const OrderedJson& why = json["refused"];
    return {RunReply::Kind::kRefused,
            why.is_string() ? for_people(why.get<std::string>(), 2000) : "refused"};
  }
  return {RunReply::Kind::kAnswered, std::move(*told.heard)};
}

}  // namespace motley
