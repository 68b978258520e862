// One way to sum floats over the processes of a benchmark. Created in every process, used by one
// thread, one call at a time. Between calls it must not use the processor, because the others are
// measured then.
#pragma once

#include <span>
#include <string>

namespace motley::bench {

struct Contender {
  virtual ~Contender() = default;
  virtual std::string name() const = 0;
  // Replaces `values` in every process by their sum over all processes.
  virtual void all_reduce(std::span<float> values) = 0;
};

}  // namespace motley::bench
