#include "session/terminate_handler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "motley/base/failure.h"
#include "record/whole_file.h"
#include "runtime/launch/world.h"
#include "runtime/rendezvous/agreement.h"

namespace motley {
namespace {

// A terminate handler can use only globals.
std::string g_name = "motley";
std::terminate_handler g_before = nullptr;
std::function<void(const std::string&)> g_tell;
std::thread::id g_teller;
const TerminateNotice* g_owner = nullptr;  // of g_tell and g_teller

void write_error_file(bool cause, const std::string& why) {
  if (const char* path = std::getenv(kErrorFileVariable)) {
    (void)replace_file(path, fmt::format("{}\n{}\n", cause ? "cause" : "consequence", why));
  }
}

// Runs no destructors: nothing can catch the exception any more, and other threads may still run.
[[noreturn]] void end(int code, bool cause, const std::string& why) {
  write_error_file(cause, why);
  std::fflush(nullptr);
  complain(why);
  std::_Exit(code);
}

void tell_others(const std::string& why) {
  if (g_tell && g_teller == std::this_thread::get_id()) {
    g_tell(why);
  }
}

[[noreturn]] void on_terminate() {
  const std::exception_ptr error = std::current_exception();
  if (!error) {
    g_before();  // no exception: leave it to the previous handler
    std::abort();
  }
  try {
    std::rethrow_exception(error);
  } catch (const Refused& refused) {
    tell_others(refused.what());
    end(2, true, refused.what());
  } catch (const RunFailed& failed) {
    end(1, false, failed.what());
  } catch (...) {
    const std::string why = for_people(reason_of(error), 2000);
    tell_others(why);
    end(1, true, why);
  }
}

}  // namespace

void install_terminate_handler() {
  static std::once_flag once;
  std::call_once(once, [] { g_before = std::set_terminate(on_terminate); });
}

void set_terminate_rank(Rank rank, int size) {
  g_name = size > 1 ? fmt::format("motley: rank {}", rank) : "motley";
}

void note_cause(const std::string& why) { write_error_file(true, why); }

void forget_cause() {
  if (const char* path = std::getenv(kErrorFileVariable)) {
    std::remove(path);
  }
}

void complain(const std::string& why) { fmt::print(stderr, "{}: {}\n", g_name, why); }

TerminateNotice::TerminateNotice(std::function<void(const std::string&)> tell) {
  g_tell = std::move(tell);
  g_teller = std::this_thread::get_id();
  g_owner = this;
}
TerminateNotice::~TerminateNotice() {
  if (g_owner == this) {  // a later run may have replaced it
    g_tell = nullptr;
  }
}

}  // namespace motley
