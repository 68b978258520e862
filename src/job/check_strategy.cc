#include "job/check_strategy.h"

#include <fmt/format.h>

#include "job/choices.h"

namespace motley {
namespace {

// Servers share the parameters and the workers' traffic: with more servers than workers some would
// have nothing to do.
Checked check_servers(const MethodSchema& method, const Job& job) {
  const int servers = job.strategy.ps.servers;
  if (!method.has_servers || servers <= job.cluster.workers) {
    return {};
  }
  return JobProblem{
      {"strategy.ps.servers", "cluster.workers"},
      fmt::format("strategy.ps.servers is {}, but cluster.workers is {}: there cannot "
                  "be more servers than workers",
                  servers, job.cluster.workers)};
}

Checked check_allocation(const MethodSchema& method, const Job& job) {
  if (!method.own_shares || job.strategy.allocation == "equal") {
    return {};
  }
  return JobProblem{
      {"strategy.allocation"},
      fmt::format("strategy.allocation = \"{}\" cannot be combined with strategy.sync = \"{}\", "
                  "which decides itself how much each worker computes",
                  job.strategy.allocation, job.strategy.sync)};
}

// Rounding whole models again and again would lose what a step changed. Only changes can be
// rounded.
Checked check_codec(const MethodSchema& method, const Job& job) {
  if (method.exchanges != ExchangeKind::kModels || job.strategy.codec == CodecKind::kNone) {
    return {};
  }
  return JobProblem{
      {"strategy.codec", "strategy.sync"},
      fmt::format("strategy.codec = \"{}\" cannot be combined with strategy.sync = \"{}\", which "
                  "averages whole models: rounding them would lose what a step changes",
                  name_of(job.strategy.codec), job.strategy.sync)};
}

Checked check_method(const MethodSchema& method, const Job& job, const Document& document) {
  const auto is_given = [&](std::string_view key) { return document.find(key) != nullptr; };
  return method.check ? method.check(job, is_given) : std::nullopt;
}

}  // namespace

Status check_strategy(const MethodSchema& method, const Job& job, const Document& document) {
  Checked problem = check_codec(method, job);
  problem = problem ? problem : check_servers(method, job);
  problem = problem ? problem : check_method(method, job, document);
  problem = problem ? problem : check_allocation(method, job);
  if (!problem) {
    return {};
  }
  return tl::unexpected(document.error_at(std::span(problem->keys), problem->message));
}

}  // namespace motley
