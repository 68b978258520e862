#include "compute/threads.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <mutex>

namespace motley {
namespace {

// torch's number of threads does not affect OpenBLAS, which would use every core in each worker.
// Which BLAS is in use is known only at run time.
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
      // Other code in this process has already set it; ignore that.
    }
  });
}

}  // namespace motley
