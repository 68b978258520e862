// ResumePoint: a checkpoint from which a run goes on, and what motley itself put into it.
//
//   auto point = find_resume_point("runs/20261118-090000-fashion", {.mode = "simulate"});
//   Status status = check_resume(job_schema(), old_job, new_job);
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "job/schema.h"
#include "state/checkpoint.h"

namespace motley {

struct ResumePoint {
  Checkpoint checkpoint;
  std::filesystem::path path;            // of the checkpoint
  std::filesystem::path run;             // the run directory that it is in; empty: in none
  std::vector<std::string> passed_over;  // newer checkpoints that are not whole, and why

  const State& state() const { return checkpoint.state; }
  // The job of the run that wrote it, as a job file.
  const std::string& job() const;
};

// Says on stderr where a run goes on, and which checkpoints were passed over.
void say_where(const ResumePoint& point, bool quiet);

// The state alone, which keeps the whole point alive. Null if there is none.
std::shared_ptr<const State> state_in(const std::shared_ptr<const ResumePoint>& point);

// The names of what a run adds to its state in a checkpoint.
inline constexpr const char* kSavedName = "name";      // of the job
inline constexpr const char* kSavedMode = "mode";      // "train" | "simulate"
inline constexpr const char* kSavedJob = "job";        // the resolved job file
inline constexpr const char* kSavedRecord = "record";  // a part: RunRecord
inline constexpr const char* kSavedWatch = "watch";    // a part: positions in the files of the run

// Which runs "latest" may mean.
struct ResumeWish {
  std::string mode;                       // "train" | "simulate"
  std::optional<std::string> name = {};   // of the job; none: any
  std::filesystem::path parent = "runs";  // where they are
};

// `where` is a checkpoint, a run directory (its newest whole checkpoint is taken) or "latest" (the
// run whose newest checkpoint was written last). The message is one line.
Result<ResumePoint> find_resume_point(const std::string& where, const ResumeWish& wish);

// The same for any checkpoint, also one that no run can go on from; not "latest".
Result<ResumePoint> find_checkpoint(const std::string& where);

// Whether the run in this directory can go on: it has a checkpoint.
bool has_checkpoint(const std::filesystem::path& run);

// Whether a run of the job `before` may go on as a run of the job `now`. The model, the data, the
// optimizer, the seed and the batch must be the same: a state without them has no meaning, and the
// seed and the batch decide which samples are still to come. Pure.
Status check_resume(const JobSchema& schema, const Job& before, const Job& now);

// The same for the job that is in the checkpoint.
Status check_job(const ResumePoint& point, const Job& now);

}  // namespace motley
