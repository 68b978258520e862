// The state of a Session, for the code that runs something in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "motley/session.h"
#include "runtime/launch/world.h"

namespace motley {

class Session::Impl {
 public:
  Impl();  // throws if the process already has one
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  World world;
  // Set by flags.
  std::string job_path;                // empty: none
  std::vector<std::string> overrides;  // --motley-set
  std::optional<std::string> out;
  bool trace = true;
  bool progress = false;
  Seconds patience = 60;

  bool has_run = false;                // a run is in progress
  std::optional<std::string> stopped;  // why the last one ended early
};

}  // namespace motley
