// Method: everything that motley knows of one method, as one value.
//
//   const Method kPairs = {
//       .schema = {.name = "pairs", .summary = "averages with one neighbour", .keys = {...}},
//       .advance = Advance::kTogether,
//       .make = make_pairs,
//   };
//
// Nothing else in motley asks for a method by its name: what a job may say about it, how its
// workers go on, what runs on workers, coordinator and servers, all of it is here. motley's own
// methods are listed in src/sync/registry.cc, one line each; a program adds its own with
// register_method().
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "motley/job/method_schema.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"

namespace motley {

struct Method {
  MethodSchema schema;
  Advance advance = Advance::kTogether;

  // A worker's side.
  std::unique_ptr<Strategy> (*make)(const StrategyContext& context) = nullptr;
  // The coordinator's side. Null: the workers manage among themselves.
  Serve serve = nullptr;
  // A server's side, for a method that has servers.
  RunServer run_server = nullptr;

  // `motley calibrate` finds links by running a method with models of two sizes. A method whose
  // rounds follow from what it measures of itself would say nothing about links: it names another
  // one that loads the same links in every step. Null: the method itself.
  const Method* calibrate_as = nullptr;

  std::string_view name() const { return schema.name; }
};

// Adds a method of a program's own, so that jobs can name it. The value and its texts live as long
// as the program. Call it in every process of a run, before a job is read: at the top of main().
// Aborts when the name is taken or a part is missing.
void register_method(const Method& method);

// In the order of `motley strategies`.
std::span<const Method* const> methods();
// nullptr when there is none of that name.
const Method* find_method(std::string_view name);
// The job's method. Aborts when there is none of that name, which parsing a job rules out.
const Method& method_of(const Job& job);
// How many servers the job has beside its workers. Their ranks follow those of the workers.
int servers_of(const Job& job);

}  // namespace motley
