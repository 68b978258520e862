// The number of threads that torch computes with, including BLAS.
#pragma once

namespace motley {

// Applies to this process when called from this thread: torch keeps the number per thread.
void set_threads(int threads);

}  // namespace motley
