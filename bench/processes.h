// The processes of one measurement: forked, and never left behind.
#pragma once

#include <functional>

namespace motley::bench {

// Runs body(rank) in `count` forked processes and waits for them. Call it before the process has
// threads. Returns true if every body returned. If one throws, dies or takes more than `limit_s`
// seconds, the others are killed, stderr says why, and it returns false. They also die with the
// caller.
bool run_processes(int count, unsigned limit_s, const std::function<void(int rank)>& body);

}  // namespace motley::bench
