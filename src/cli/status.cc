// `motley status` and `motley drain`: ask a run that goes on.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/agreement.h"
#include "runtime/rendezvous/ask.h"
#include "runtime/rendezvous/token.h"
#include "session/run_address.h"

namespace motley {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr Seconds kAskingPatience = 10;

// What was answered, or the exit code of a question that was not: the reason has been printed.
using Told = tl::expected<OrderedJson, int>;

int say_no_run(const std::string& why) {
  fmt::print(stderr, "motley: {}\n", why);
  return kRunFailed;
}

// `where` names the run in messages.
Told ask_at(const std::string& where, const RunAddress& address, const RunRequest& request) {
  const RunReply reply = ask_run(address.rendezvous, address.token, request, kAskingPatience);
  switch (reply.kind) {
    case RunReply::Kind::kAnswered:
      return OrderedJson::parse(reply.text, nullptr, false);
    case RunReply::Kind::kRefused:
      return tl::unexpected(refuse(fmt::format("{}: {}", where, reply.text)));
    case RunReply::Kind::kSilent:
      break;
  }
  const bool is_elsewhere = !address.host.empty() && address.host != peer_of_this_process().host;
  return tl::unexpected(say_no_run(fmt::format(
      "{}: the run does not answer: {}{}", where, reply.text,
      is_elsewhere ? fmt::format("; it was started on {}", for_people(address.host)) : "")));
}

Told ask(const AskFlags& flags, const RunRequest& request) {
  if (flags.join) {
    const auto endpoint = parse_endpoint(*flags.join);
    if (!endpoint || endpoint->port == 0) {
      return tl::unexpected(refuse(
          fmt::format("--join {}", endpoint ? *flags.join + ": expected a port from 1 to 65535"
                                            : endpoint.error().message)));
    }
    return ask_at("--join " + *flags.join, {*endpoint, token_of_environment()}, request);
  }
  const auto run = find_run(flags.directory);
  if (!run) {
    const NoRun& none = run.error();
    return tl::unexpected(none.is_bad_input ? refuse(none.why) : say_no_run(none.why));
  }
  return ask_at(run->directory.string(), run->address, request);
}

void show_members(const std::vector<MemberStatus>& members, const char* kind) {
  std::size_t width = 4;
  for (const MemberStatus& member : members) {
    width = std::max(width, for_people(member.host).size());
  }
  fmt::print("  {}  {:<{}}  {:>7}  now\n", kind, "host", width, "pid");
  for (const MemberStatus& member : members) {
    const std::string now =
        member.left ? fmt::format("left after {:.1f} s: {}", *member.left, for_people(member.why))
                    : for_people(member.doing);
    fmt::print("  {:>6}  {:<{}}  {:>7}  {}\n", member.id, for_people(member.host), width,
               member.pid, now);
  }
}

void show(const RunStatus& status) {
  fmt::print("{}: {}, term {}\n", for_people(status.name), for_people(status.method), status.term);
  fmt::print("  {}", status.samples);
  if (status.limit > 0) {
    fmt::print(" of {}", status.limit);
  }
  fmt::print(" samples");
  if (status.limit > 0) {
    fmt::print(" ({:.0f} %)",
               100 * static_cast<double>(status.samples) / static_cast<double>(status.limit));
  }
  fmt::print(" in {:.1f} s\n", status.seconds);
  show_members(status.members, "worker");
  if (!status.servers.empty()) {
    show_members(status.servers, "server");
  }
}

}  // namespace

int status_command(const AskFlags& flags) {
  const auto told = ask(flags, {"status"});
  if (!told) {
    return told.error();
  }
  if (told->contains("status") && told->at("status").is_null()) {
    return say_no_run("the run has not begun: it waits for its workers");
  }
  const auto status = status_in(told->value("status", OrderedJson()));
  if (!status) {
    return say_no_run("the run's answer cannot be understood");
  }
  if (flags.json) {
    fmt::print("{}\n", to_json(*status).dump(2, ' ', false, OrderedJson::error_handler_t::replace));
  } else {
    show(*status);
  }
  return kDone;
}

int drain_command(const AskFlags& flags) {
  const auto told = ask(flags, {"drain", flags.worker});
  if (!told) {
    return told.error();
  }
  if (told->value("draining", OrderedJson()) != flags.worker) {
    return say_no_run("the run's answer cannot be understood");
  }
  fmt::print("asked worker {} to leave\n", flags.worker);
  return kDone;
}

}  // namespace motley
