// To write a method of your own: the same interfaces that motley's own methods are written against.
// Read node/node.h first; examples/04_write_a_strategy.cc is a whole one.
//
//   motley::register_strategy({"my_method", motley::Advance::kTogether, make_my_method},
//                             "what it does, in one line");
//
// From then on jobs and Options can say strategy.sync = "my_method", in real runs and simulated
// ones.
#pragma once

#include "node/node.h"
#include "sync/collective.h"
#include "sync/common_steps.h"
#include "sync/registry.h"
#include "sync/replica.h"
#include "sync/service.h"
#include "sync/strategy.h"
