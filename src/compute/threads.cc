#include "compute/threads.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <mutex>

namespace motley {
namespace {

// torch's number of threads does not reach OpenBLAS, which would take every core for each worker.
// Which BLAS is there is known only when the program runs.
void set_blas_threads(int threads) {
  using SetThreads = void (*)(int);
  if (auto* set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    set(threads);
  }
}

}  // namespace

void set_threads(int threads) {
  at::set_num_threads(threads);
  set_blas_threads(threads);
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      at::set_num_interop_threads(1);
    } catch (const c10::Error&) {
      // Somebody else in this process has set it already; it matters little.
    }
  });
}

}  // namespace motley
