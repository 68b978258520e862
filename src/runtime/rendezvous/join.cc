#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "motley/version.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/exchange.h"
#include "runtime/rendezvous/rendezvous.h"

namespace motley {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause(20);  // before a retry; doubles each time
constexpr milliseconds kLongestPause(500);

std::string line_of(const Peer& me) {
  std::random_device device;  // only needs to differ between attempts
  Json said = {{"motley", me.version},
               {"host", me.host},
               {"pid", me.pid},
               {"token", me.token},
               {"job", me.job},
               {"parameters", me.parameters},
               {"attempt", fmt::format("{:08x}{:08x}", device(), device())}};
  if (me.rank) {
    said["rank"] = *me.rank;
  }
  return said.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Admission> understand(const std::string& line, int socket) {
  const Endpoint rendezvous = peer_address(socket).endpoint();
  const Json told = Json::parse(line, nullptr, false);
  if (told.is_object() && told.contains("refused") && told["refused"].is_string()) {
    return fail("{}", for_people(told["refused"].get<std::string>(), 2000));
  }
  const auto is = [&](const char* key, auto type) {
    return told.is_object() && told.contains(key) && (told[key].*type)();
  };
  if (!is("rank", &Json::is_number_integer) || !is("token", &Json::is_string) ||
      !is("port", &Json::is_number_unsigned)) {
    return fail("{} is not a motley rendezvous: it answered \"{}\"", show(rendezvous),
                for_people(line));
  }
  Admission admission;
  admission.rank = told["rank"].get<Rank>();
  admission.token = told["token"].get<std::string>();
  admission.coordinator = {rendezvous.host, told["port"].get<std::uint16_t>()};
  admission.here = own_address(socket).endpoint().host;
  return admission;
}

}  // namespace

Peer peer_of_this_process() {
  Peer peer;
  peer.version = kVersion;
  peer.pid = getpid();
  std::array<char, 256> name{};
  peer.host = gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
  return peer;
}

Result<Admission> join_rendezvous(const Endpoint& rendezvous, const Peer& me, Seconds deadline,
                                  const Interruption& interrupted) {
  const std::string line = line_of(me);
  if (line.size() > kLongestLine) {
    return fail("the description of {}'s job and model is too long: {} bytes (at most {})",
                name_of_peer(me), line.size(), kLongestLine);
  }
  const Patience patience(deadline, interrupted);
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    const Exchanged tried = exchange_lines(rendezvous, line, patience, kLongestLine);
    if (tried.heard) {
      return understand(*tried.heard, tried.socket.get());
    }
    if (!patience.sleep(pause)) {
      if (const auto why = patience.why_interrupted()) {
        return fail("{}", *why);
      }
      return fail("timed out after {:g} s waiting for {}: {}", deadline,
                  me.rank ? "rank 0" : "the coordinator", tried.trouble);
    }
  }
}

}  // namespace motley
