// All of motley's API. Training on torch: session.h, trainer.h. Below them: run.h, options.h. A
// method of your own: method.h, command_line.h.
#pragma once

#include "motley/command_line.h"
#include "motley/method.h"
#include "motley/options.h"
#include "motley/run.h"
#include "motley/session.h"
#include "motley/trainer.h"
#include "motley/version.h"
