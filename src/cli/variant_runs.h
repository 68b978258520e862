// VariantRuns: the runs of a comparison. Each is a process of this program, so that none can harm
// another; several run at a time. The output of a run goes to log.txt in its directory.
//
//   VariantRuns runs(variants, at_a_time);
//   while (auto result = runs.next()) { ... }
//
// SIGINT and SIGTERM are forwarded to the active runs, which stop cleanly and save; no further run
// is started.
#pragma once

#include <filesystem>
#include <functional>
#include <ios>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/children.h"

namespace motley {

struct VariantRun {
  std::string name;
  std::vector<std::string> command;
  std::filesystem::path directory;
};

struct VariantResult {
  std::size_t index = 0;
  std::optional<std::string> summary;  // the text of its summary.json
  std::string trouble;                 // empty if it succeeded
  bool bad_input = false;              // it was refused at the start
};

class VariantRuns {
 public:
  VariantRuns(std::vector<VariantRun> runs, int at_a_time)
      : runs_(std::move(runs)), at_a_time_(static_cast<std::size_t>(at_a_time)) {}

  // From now on, next() also passes the output of the runs to the listener, line by line.
  using Listener = std::function<void(const std::string& name, const std::string& line)>;
  void follow(Listener listener) { listener_ = std::move(listener); }

  // Waits for a run to end; nullopt when all started runs have ended. Throws std::system_error if
  // one cannot be started.
  std::optional<VariantResult> next();

 private:
  void start_some();
  void hand_signals_on();
  void tell_what_is_new();
  VariantResult result_of(const ChildExit& exit) const;

  const std::vector<VariantRun> runs_;
  const std::size_t at_a_time_;
  Children children_;
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  int signals_handed_on_ = 0;
  Listener listener_;
  std::vector<std::streamoff> heard_ =
      std::vector<std::streamoff>(runs_.size());  // position in each log
};

}  // namespace motley
