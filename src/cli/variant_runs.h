// The runs of a comparison: each a process of this program, so that none can harm another, several
// at a time. What a run prints goes to log.txt in its directory.
//
//   VariantRuns runs(variants, at_a_time);
//   while (auto result = runs.next()) { ... }
//
// SIGINT and SIGTERM are handed on to the runs under way, which stop in order and save; no other
// one is started.
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
  std::string trouble;                 // empty when it is done
  bool bad_input = false;              // it refused to begin
};

class VariantRuns {
 public:
  VariantRuns(std::vector<VariantRun> runs, int at_a_time)
      : runs_(std::move(runs)), at_a_time_(static_cast<std::size_t>(at_a_time)) {}

  // From now on, what the runs print goes there too, line by line, while next() waits.
  using Listener = std::function<void(const std::string& name, const std::string& line)>;
  void follow(Listener listener) { listener_ = std::move(listener); }

  // Waits for a run to end; nullopt when all that were started have. Throws std::system_error when
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
  std::vector<std::streamoff> heard_ = std::vector<std::streamoff>(runs_.size());  // of their logs
};

}  // namespace motley
