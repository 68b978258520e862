// Times Open MPI's all-reduce with the sizes, blocks, checks and medians of all_reduce_bench. It is
// a separate program because mpirun starts its processes.
//
//   mpirun -n N mpi_all_reduce NAME [--quick]     one JSON object per line on stdout
//
// NAME goes into the rows: mpirun chooses the transport, and this program cannot query it.
#include <fmt/format.h>
#define OMPI_SKIP_MPICXX 1  // only the C interface is used
#include <mpi.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "pattern.h"
#include "sizes.h"

namespace motley::bench {
namespace {

// Seconds per all-reduce in the slowest process. Ends the whole run on a wrong sum.
double time_block(int rank, int size, std::vector<float>& buffer, std::size_t floats,
                  int iterations) {
  const std::span<float> values = std::span(buffer).first(floats);
  fill_pattern(rank, values);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(floats), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  const double mine = (MPI_Wtime() - begin) / iterations;
  if (first_wrong(values, size, iterations) < values.size()) {
    fmt::print(stderr, "process {}: wrong sum of {} floats\n", rank, floats);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

void measure(const char* name, bool quick) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<float> buffer(kSizes.back().floats());
  for (const Size& s : kSizes) {
    time_block(rank, size, buffer, s.floats(), 1);  // checks the sum before anything is timed
    time_block(rank, size, buffer, s.floats(), std::min(5, s.iterations));  // warm-up
    std::vector<double> blocks;
    for (int round = 0; round < rounds_of(s, quick); ++round) {
      blocks.push_back(time_block(rank, size, buffer, s.floats(), s.iterations));
    }
    std::sort(blocks.begin(), blocks.end());
    if (rank == 0) {
      fmt::print(R"({{"bench":"mpi_all_reduce","contender":"{}","workers":{},"bytes":{},"us":{}}})"
                 "\n",
                 name, size, s.bytes, 1e6 * blocks[blocks.size() / 2]);
    }
  }
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool quick = argc == 3 && std::string_view(argv[2]) == "--quick";
  const bool usable = argc == 2 || quick;
  if (usable) {
    motley::bench::measure(argv[1], quick);
  } else {
    fmt::print(stderr, "usage: mpirun -n N mpi_all_reduce NAME [--quick]\n");
  }
  MPI_Finalize();
  return usable ? 0 : 2;
}
