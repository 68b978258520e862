#include "codec/machine.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace motley {
namespace {

#if defined(__x86_64__)
// Not every compiler's __builtin_cpu_supports() knows this one.
bool has_f16c() {
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Machine find_machine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && has_f16c()) {
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
