// To write a method of your own: the same interfaces that motley's own methods are written against.
// Read motley/node/node.h first; examples/04_write_a_strategy.cc is a whole one.
//
//   motley::register_strategy({"my_method", motley::Advance::kTogether, make_my_method},
//                             "what it does, in one line");
//
// From then on jobs and Options can say strategy.sync = "my_method", in real runs and simulated
// ones.
#pragma once

#include "motley/node/node.h"
#include "motley/sync/collective.h"
#include "motley/sync/common_steps.h"
#include "motley/sync/registry.h"
#include "motley/sync/replica.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"
