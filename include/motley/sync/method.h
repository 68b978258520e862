// Method: everything that motley knows about one method, as one value.
//
//   const Method kPairs = {
//       .schema = {.name = "pairs", .summary = "averages with one neighbour", .keys = {...}},
//       .advance = Advance::kTogether,
//       .make = make_pairs,
//   };
//
// It contains the keys of the method in a job file, how its workers advance, and the code that runs
// on workers, coordinator and servers. No other code in motley refers to a method by name. motley's
// own methods are listed in src/sync/registry.cc, one line each; a program adds its own with
// register_method().
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "motley/job/method_schema.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"

namespace motley {

struct MethodState;  // sync/refit.h
struct Refit;

struct Method {
  MethodSchema schema;
  Advance advance = Advance::kTogether;

  // Makes a worker's side.
  std::unique_ptr<Strategy> (*make)(const StrategyContext& context) = nullptr;
  // The coordinator's side. Null if the method does not need one.
  // Required for workers that use SampleClient or DealtSamples: it deals the samples.
  Serve serve = nullptr;
  // A server's side. Set if and only if schema.has_servers.
  RunServer run_server = nullptr;
  // What becomes of its state if the run goes on with other workers, servers or another codec.
  // Null: everything but the models begins as in the first term.
  MethodState (*fit)(const MethodState& before, const Refit& refit) = nullptr;
  // What becomes of its options in a term with other members. `ids` are the workers that the term
  // has, ascending; worker ids[r] is rank r. `job` is the job of the term: all but the method's own
  // options is of these workers already, and so are lists with one value per worker. The other
  // options are still those of the whole run, which number workers by id. Afterwards the job must
  // pass the method's check(). Called for every term, each time with the options of the run; they
  // must not change if no worker is missing and none is new. Null: the options fit any number of
  // workers.
  void (*arrange)(Job& job, const std::vector<int>& ids) = nullptr;

  std::string_view name() const { return schema.name; }
};

// Adds a method of the program, so that jobs can use it by name. The value and its strings must
// live as long as the program. Call it in every process of a run before a job is read, for example
// at the top of main(). Throws std::invalid_argument if the value cannot work: a name that is
// taken, a missing part, a key whose rule does not fit its place or its default.
void register_method(const Method& method);

// All known methods, in the order of `motley strategies`.
std::span<const Method* const> methods();
// nullptr if there is no method of that name.
const Method* find_method(std::string_view name);
// The job's method. Aborts if it does not exist, which cannot happen for a parsed job.
const Method& method_of(const Job& job);
// The number of servers that the job has in addition to its workers. Their ranks follow the
// workers' ranks.
int servers_of(const Job& job);

}  // namespace motley
