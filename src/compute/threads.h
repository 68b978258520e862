// How many threads torch computes with, BLAS included.
#pragma once

namespace motley {

// In this process, from this thread: torch keeps the number per thread.
void set_threads(int threads);

}  // namespace motley
