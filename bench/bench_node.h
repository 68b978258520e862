// motley's own node and fabric in a process of a benchmark. The nodes meet through files in a
// directory, as Gloo's do.
#pragma once

#include <filesystem>
#include <string>

#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "runtime/worker/real_node.h"

namespace motley::bench {

class BenchNode {
 public:
  // Returns when all have met: workers 0 .. size-1, and the coordinator if there is one.
  enum class Coordinator { kNone, kPresent };
  BenchNode(Rank rank, int size, Coordinator coordinator, const std::filesystem::path& meeting);
  ~BenchNode() { fabric_.close(1.0); }
  BenchNode(const BenchNode&) = delete;
  BenchNode& operator=(const BenchNode&) = delete;

  RealNode& node() { return node_; }

 private:
  Driver driver_;
  RealNode node_;
  TcpFabric fabric_;
};

}  // namespace motley::bench
