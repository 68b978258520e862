#include "session/signals.h"

#include <atomic>
#include <csignal>

namespace motley {
namespace {

// A signal handler can use only globals.
std::atomic<int> g_first = 0;
std::atomic<int> g_interrupts = 0;
std::atomic<int> g_terminations = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void count(int signal) {
  int none = 0;
  g_first.compare_exchange_strong(none, signal);
  (signal == SIGINT ? g_interrupts : g_terminations).fetch_add(1);
}

void count_one(int signal) {
  count(signal);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void catch_signals(SecondSignal second) {
  struct sigaction action {};
  action.sa_handler = second == SecondSignal::kIsCounted ? count : count_one;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void catch_termination() {
  struct sigaction action {};
  action.sa_handler = count_one;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

void let_termination_end() { std::signal(SIGTERM, SIG_DFL); }

std::optional<std::string> first_signal() {
  switch (g_first.load()) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    default:
      return std::nullopt;
  }
}

int signals_caught() { return g_interrupts.load() + g_terminations.load(); }

int signals_caught(int number) { return (number == SIGINT ? g_interrupts : g_terminations).load(); }

bool is_signal(const std::string& why) { return why == "SIGINT" || why == "SIGTERM"; }

int number_of(const std::string& signal) { return signal == "SIGINT" ? SIGINT : SIGTERM; }

int exit_code_of(const std::string& signal) { return 128 + number_of(signal); }

}  // namespace motley
