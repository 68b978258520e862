// The methods that exist, by name: adding one is one line in registry.cc, and one in
// job/choices.h, which says what a job may name. A program adds its own with register_strategy().
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "motley/sync/service.h"
#include "motley/sync/strategy.h"

namespace motley {

struct StrategyEntry {
  std::string_view name;  // strategy.sync in a job
  Advance advance;        // how its workers go on from step to step
  std::unique_ptr<Strategy> (*make)(const StrategyContext& context);  // a worker's side
  Serve serve = nullptr;           // the coordinator's side, if it has one
  RunServer run_server = nullptr;  // a server's side, if it has servers
};

// Adds a method that is not part of motley, so that jobs can name it; `summary` is its line in
// `motley strategies`. The name is a new one and lives as long as the program; a method of servers
// is not possible. Call it in every process of a run, before a job is read: at the top of main().
// Aborts when the name is taken.
void register_strategy(const StrategyEntry& entry, std::string_view summary);

// In the order of `motley strategies`.
std::span<const StrategyEntry> strategies();
// nullptr when there is none of that name.
const StrategyEntry* find_strategy(std::string_view name);

}  // namespace motley
