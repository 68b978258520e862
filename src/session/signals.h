// SIGINT and SIGTERM: once asks to stop in order, twice to stop now.
#pragma once

#include <optional>
#include <string>

namespace motley {

// From now on the two signals are counted instead of ending the process: both, or the first.
enum class SecondSignal { kIsCounted, kEndsTheProcess };
void catch_signals(SecondSignal second = SecondSignal::kIsCounted);
// "SIGINT" or "SIGTERM": the first one that came.
std::optional<std::string> first_signal();
// How many came, of both or of one of them.
int signals_caught();
int signals_caught(int number);
inline bool signalled_twice() { return signals_caught() > 1; }
// Whether why a run ended early is one of them.
bool is_signal(const std::string& why);
// Its number: SIGINT or SIGTERM.
int number_of(const std::string& signal);
// What a shell expects of a process that ended by that signal: 128 plus its number.
int exit_code_of(const std::string& signal);

}  // namespace motley
