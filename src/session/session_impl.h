// The state of a Session, for the code that runs something in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "motley/session.h"
#include "runtime/launch/world.h"

namespace motley {

// Why a run ended early for a rank that has left it.
inline constexpr const char* kLeftRun = "left";

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
  std::optional<std::string> resume;  // a run directory or a checkpoint
  bool trace = true;
  bool progress = false;
  Seconds patience = 60;

  bool has_run = false;                // a run is in progress
  int runs = 0;                        // so far
  std::optional<std::string> stopped;  // why the last one ended early
};

}  // namespace motley
