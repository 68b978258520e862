// Machine: the instruction set that a codec uses. Every kernel has a portable form and one for
// processors with AVX2 and F16C, chosen at run time. Both give the same bits, so that different
// machines agree on what is sent.
//
//   on_machine(machine, [&]() MOTLEY_INLINE { ... });   // one loop, compiled for both
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#define MOTLEY_AVX2 __attribute__((target("avx2,f16c")))
#else
#define MOTLEY_AVX2
#endif
#define MOTLEY_INLINE __attribute__((always_inline))

namespace motley {

enum class Machine : std::uint8_t { kPortable, kAvx2 };

// The best that this processor supports.
Machine this_machine();

template <class Body>
MOTLEY_AVX2 void on_avx2(Body body) {
  body();
}

// Runs `body`, a lambda marked MOTLEY_INLINE. It is compiled into both branches, so the compiler
// vectorises the same source once with the wide instructions and once without.
template <class Body>
void on_machine(Machine machine, Body body) {
  if (machine == Machine::kAvx2) {
    on_avx2(body);
  } else {
    body();
  }
}

}  // namespace motley
