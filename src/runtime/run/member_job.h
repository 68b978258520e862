// job_of_members(): the job of one term of a run, whose members may be others than those that the
// job file lists.
//
//   Job term = job_of_members(run, {0, 2, 5});  // worker 5 is rank 2 of three
//
// Workers have ids that last for the run; lists of the run's job index ids. Ranks are dense, of one
// term. Beyond the lists a worker's speed is 1 and its link the default one; a value that all
// workers of the run have in common, as one number in a job file stands for all, is its value too.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "motley/job/job.h"

namespace motley {

// `ids` are ascending and not empty. If they are 0 .. n-1 of n workers, the result is the run's job
// without what concerns members: their events and churn are of the run, not of a term.
//
// `servers` are the ids of the run's servers that are there, ascending; none of a method without.
// The term has those of servers_of_members(). The result passes the checks of a job of so many
// workers, unless refusal_of_members() has a reason.
Job job_of_members(const Job& run, const std::vector<int>& ids, const std::vector<int>& servers);
// All servers of the run are there.
Job job_of_members(const Job& run, const std::vector<int>& ids);

// Which of the servers that are there a term has: never more than workers, the first ones.
std::vector<int> servers_of_members(const Job& run, int workers, const std::vector<int>& servers);
// The ids of all servers of the run.
std::vector<int> all_servers(const Job& run);

// Why these workers and servers cannot be the members of a term; nullopt if they can. Fewer members
// than the run has are never refused, but a method with servers needs one.
std::optional<std::string> refusal_of_members(const Job& run, const std::vector<int>& ids,
                                              const std::vector<int>& servers);
std::optional<std::string> refusal_of_members(const Job& run, const std::vector<int>& ids);

}  // namespace motley
