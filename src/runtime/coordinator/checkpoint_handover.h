// CheckpointHandover: the checkpoints that are under way, from the end of a term until the monitor
// has them. The states of one are gathered while training goes on; the next cut waits for those
// that are still missing. A whole one waits for the evaluations that belong to it. If too many do,
// the next checkpoint is left out: each takes the memory of all states. The last one of a run never
// is. Nor may the run wait for evaluations before it: a program evaluates on its training thread.
#pragma once

#include <deque>
#include <optional>

#include "runtime/coordinator/checkpoint_assembly.h"
#include "runtime/coordinator/evaluation_thread.h"
#include "runtime/run/run.h"

namespace motley {

class CheckpointHandover {
 public:
  // All must outlive this object.
  CheckpointHandover(const Job& job, RunMonitor& monitor, EvaluationThread& evaluator)
      : job_(job), monitor_(monitor), evaluator_(evaluator) {}

  // Whether a term that has lasted so long should end, since the job sets no interval.
  bool is_cut_due(Seconds lasted) const;
  // Whether a checkpoint should begin now, or the last one of the run.
  bool is_wanted(bool is_last = false) const;
  // The processes were asked for their states with this number. The rest is as in
  // CheckpointAssembly.
  void begin(std::int64_t number, CheckpointAssembly assembly);
  // Whether the states of this number are being gathered.
  bool gathers(std::int64_t number) const { return assembly_ && number_ == number; }
  // A chunk of the state of this process. False if it is damaged or was not expected.
  bool add(Rank process, std::span<const std::byte> chunk);
  // A process is gone: a checkpoint that lacks its state comes to nothing. Returns whether one did.
  bool abandon() {
    const bool had = assembly_.has_value();
    assembly_.reset();
    return had;
  }
  // A checkpoint that is whole already.
  void add_whole(std::int64_t samples, State state);
  bool has_missing_states() const { return assembly_.has_value(); }
  // Gives the monitor the checkpoints for which all states have arrived, and the models that were
  // sent before them have been evaluated: a resumed run does not evaluate these again.
  void hand_over();

 private:
  struct Whole {
    std::int64_t samples = 0;
    State state;
    std::int64_t evaluations = 0;  // those that belong to it
  };

  const Job& job_;
  RunMonitor& monitor_;
  EvaluationThread& evaluator_;
  std::optional<CheckpointAssembly> assembly_;
  std::int64_t number_ = 0;
  std::int64_t evaluations_ = 0;  // those that belong to it
  std::deque<Whole> whole_;
};

}  // namespace motley
