// Includes all of motley's API. To train torch modules: session.h and trainer.h. The layer below:
// run.h and options.h. To write a method: method.h and command_line.h.
#pragma once

#include "motley/command_line.h"
#include "motley/method.h"
#include "motley/options.h"
#include "motley/run.h"
#include "motley/session.h"
#include "motley/trainer.h"
#include "motley/version.h"
