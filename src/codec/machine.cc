#include "codec/machine.h"

namespace motley {
namespace {

Machine find_machine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0) {
    return Machine::kAvx2;
  }
#endif
  return Machine::kPortable;
}

}  // namespace

Machine this_machine() {
  static const Machine machine = find_machine();
  return machine;
}

}  // namespace motley
