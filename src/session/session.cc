#include "motley/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <ranges>
#include <stdexcept>
#include <string_view>

#include "runtime/rendezvous/addresses.h"
#include "session/session_impl.h"
#include "session/signals.h"
#include "session/terminate_handler.h"

namespace motley {
namespace {

Seconds read_seconds(const std::string& text) {
  Seconds seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || rest != end || !(seconds > 0) || seconds > 1e6) {
    throw Refused(fmt::format("--motley-join-timeout {}: expected seconds above 0", text));
  }
  return seconds;
}

std::atomic<bool> exists = false;  // a session

// The flags without a value.
using TurnOn = void (*)(Session::Impl&);
const std::map<std::string, TurnOn>& switches() {
  using Impl = Session::Impl;
  static const std::map<std::string, TurnOn> all = {
      {"--motley-no-trace", [](Impl& to) { to.trace = false; }},
      {"--motley-progress", [](Impl& to) { to.progress = true; }}};
  return all;
}

// The flags that have a value, and where it goes.
using Put = void (*)(Session::Impl&, const std::string&);
const std::map<std::string, Put>& flags() {
  using Impl = Session::Impl;
  static const std::map<std::string, Put> all = {
      {"--motley-job", [](Impl& to, const std::string& value) { to.job_path = value; }},
      {"--motley-set", [](Impl& to, const std::string& value) { to.overrides.push_back(value); }},
      {"--motley-out", [](Impl& to, const std::string& value) { to.out = value; }},
      {"--motley-resume", [](Impl& to, const std::string& value) { to.resume = value; }},
      {"--motley-join-timeout",
       [](Impl& to, const std::string& value) { to.patience = read_seconds(value); }}};
  return all;
}

[[noreturn]] void refuse_flag(const std::string& name) {
  std::vector<std::string> known;
  std::ranges::copy(switches() | std::views::keys, std::back_inserter(known));
  std::ranges::copy(flags() | std::views::keys, std::back_inserter(known));
  throw Refused(fmt::format("{}: unknown flag (expected one of {})", name, fmt::join(known, ", ")));
}

// Takes the session's flags out of the arguments, up to "--".
void take_flags(Session::Impl& session, int& argc, char** argv) {
  int kept = std::min(argc, 1);
  int i = kept;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto flag = flags().find(name);
    const auto turned_on = switches().find(name);
    if (!argument.starts_with("--motley-")) {
      argv[kept++] = argv[i];
    } else if (turned_on != switches().end() && argument == name) {
      turned_on->second(session);
    } else if (turned_on != switches().end()) {
      throw Refused(fmt::format("{}: this flag takes no value", argument));
    } else if (flag == flags().end()) {
      refuse_flag(name);
    } else if (argument == name && i + 1 == argc) {
      throw Refused(fmt::format("{} needs a value", name));
    } else {
      const std::string value = argument == name ? argv[++i] : argument.substr(equals + 1);
      if (value.empty()) {
        throw Refused(fmt::format("{} needs a value", name));
      }
      flag->second(session, value);
    }
  }
  for (; i < argc; ++i) {
    argv[kept++] = argv[i];
  }
  argc = kept;
  argv[argc] = nullptr;
}

}  // namespace

Session::Impl::Impl() {
  if (exists.exchange(true)) {
    throw std::logic_error("a process can have only one motley::Session at a time");
  }
}
Session::Impl::~Impl() { exists = false; }

Session::Session(int& argc, char** argv) : impl_(std::make_unique<Impl>()) {
  install_terminate_handler();
  take_flags(*impl_, argc, argv);
  const auto world = world_from([](const char* name) { return std::getenv(name); });
  if (!world) {
    throw Refused(world.error().message);
  }
  impl_->world = *world;
  set_terminate_rank(world->rank, world->size);
  catch_signals(SecondSignal::kEndsTheProcess);
}

Session::~Session() = default;

int Session::rank() const { return impl_->world.rank; }
int Session::size() const { return impl_->world.size; }
bool Session::shares_machine() const { return impl_->world.local_size > 1; }
int Session::local_rank() const { return impl_->world.local_rank; }

int Session::exit_code() const {
  if (impl_->stopped == kLeftRun) {
    return 0;
  }
  const auto signal = first_signal() ? first_signal() : impl_->stopped;
  return signal && is_signal(*signal) ? exit_code_of(*signal) : 0;
}

}  // namespace motley
