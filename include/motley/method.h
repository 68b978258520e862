// Includes what a method of your own needs; motley's methods are written against the same
// interfaces. Read motley/node/node.h first; examples/04_write_a_strategy.cc is a complete method.
//
//   const motley::Method kMine = {.schema = {.name = "mine", .summary = "what it does"},
//                                 .advance = motley::Advance::kTogether,
//                                 .make = make_mine};
//   motley::register_method(kMine);
//
// After this call, jobs and Options can set strategy.sync = "mine", in real and in simulated runs.
#pragma once

#include "motley/base/cxx20.h"

#include "motley/node/node.h"
#include "motley/sync/collective.h"
#include "motley/sync/common_steps.h"
#include "motley/sync/final_average.h"
#include "motley/sync/method.h"
#include "motley/sync/parameter_server/bounded_committer.h"
#include "motley/sync/parameter_server/committer.h"
#include "motley/sync/parameter_server/server.h"
#include "motley/sync/parameter_server/staleness_bound.h"
#include "motley/sync/replica.h"
#include "motley/sync/sample_client.h"
#include "motley/sync/sample_server.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"
