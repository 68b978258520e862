// To write a method of your own: the same interfaces that motley's own methods are written against.
// Read motley/node/node.h first; examples/04_write_a_strategy.cc is a whole method.
//
//   const motley::Method kMine = {.schema = {.name = "mine", .summary = "what it does"},
//                                 .advance = motley::Advance::kTogether,
//                                 .make = make_mine};
//   motley::register_method(kMine);
//
// From then on jobs and Options can say strategy.sync = "mine", in real runs and simulated ones.
#pragma once

#include "motley/node/node.h"
#include "motley/sync/collective.h"
#include "motley/sync/common_steps.h"
#include "motley/sync/method.h"
#include "motley/sync/replica.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"
