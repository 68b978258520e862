// The processes of one measurement: forked, and never left behind.
#pragma once

#include <functional>

namespace motley::bench {

// Runs body(rank) in `count` forked processes and waits for them. Call it before the process has
// threads. True when every body returned; when one throws, dies or `limit_s` seconds pass, the
// others are killed, stderr says why, and it is false. They die with the caller, too.
bool run_processes(int count, unsigned limit_s, const std::function<void(int rank)>& body);

}  // namespace motley::bench
