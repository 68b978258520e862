#include "runtime/simulate/simulate.h"

#include "runtime/simulate/simulation.h"

namespace motley {

RunOutcome simulate(const Job& job, Task& task, RunMonitor& monitor, const State* from) {
  Simulation simulation(job, task, monitor);
  if (from) {
    simulation.restore_all(*from);
  }
  return simulation.run();
}

}  // namespace motley
