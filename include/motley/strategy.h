// Includes what a method of your own needs; motley's methods are written against the same
// interfaces. Read motley/node/node.h first; examples/04_write_a_strategy.cc is a complete method.
//
//   motley::register_strategy({"my_method", motley::Advance::kTogether, make_my_method},
//                             "what it does, in one line");
//
// After this call, jobs and Options can set strategy.sync = "my_method", in real and in simulated
// runs.
#pragma once

#include "motley/node/node.h"
#include "motley/sync/collective.h"
#include "motley/sync/common_steps.h"
#include "motley/sync/registry.h"
#include "motley/sync/replica.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"
