// SIGINT and SIGTERM: the first signal asks for an orderly stop, the second for an immediate one.
#pragma once

#include <optional>
#include <string>

namespace motley {

// From now on the first signal is counted instead of ending the process. A second one is counted
// too, or ends the process.
enum class SecondSignal { kIsCounted, kEndsTheProcess };
void catch_signals(SecondSignal second = SecondSignal::kIsCounted);
// The same for SIGTERM alone; a second one ends the process. Or SIGTERM ends it, as at first.
void catch_termination();
void let_termination_end();
// The first signal caught, "SIGINT" or "SIGTERM", if any.
std::optional<std::string> first_signal();
// How many signals were caught: of both kinds, or of one.
int signals_caught();
int signals_caught(int number);
inline bool signalled_twice() { return signals_caught() > 1; }
// Whether the reason for which a run ended early is one of these signals.
bool is_signal(const std::string& why);
// Its number: SIGINT or SIGTERM.
int number_of(const std::string& signal);
// The exit code that shells use for a process ended by that signal: 128 plus its number.
int exit_code_of(const std::string& signal);

}  // namespace motley
