#include "record/summary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "record/json_values.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> best_accuracy(const std::vector<Metric>& metrics) {
  std::optional<double> best;
  for (const Metric& metric : metrics) {
    if (std::isfinite(metric.accuracy) && metric.accuracy >= best.value_or(metric.accuracy)) {
      best = metric.accuracy;
    }
  }
  return best;
}

Json worker_to_json(const WorkerSummary& worker) {
  Json json = {
      {"rank", worker.rank},
      {"samples", worker.samples},
      {"steps", worker.steps},
      {"compute_seconds", number(worker.compute_seconds)},
      {"wait_seconds", number(worker.wait_seconds)},
      {"communicate_seconds", number(worker.communicate_seconds)},
      {"bytes_sent", worker.bytes_sent},
  };
  if (worker.pace_missed) {
    json["pace_missed"] = number(*worker.pace_missed);
  }
  return json;
}

Json allocation_to_json(const Summary& summary) {
  Json history = Json::array();
  for (const ShareRecord& record : summary.shares.history) {
    history.push_back(
        {{"step", record.step}, {"shares", record.shares}, {"reason", record.reason}});
  }
  Json workers = Json::array();
  for (const WorkerSummary& worker : summary.workers) {
    workers.push_back({{"rank", worker.rank},
                       {"share", worker.share},
                       {"samples_per_second", number(worker.samples_per_second)},
                       {"overhead_seconds", number(worker.overhead_seconds)}});
  }
  const std::string& look = summary.shares.last_look;
  return {{"history", std::move(history)},
          {"last_look", look.empty() ? Json(nullptr) : Json(look)},
          {"per_worker", std::move(workers)}};
}

std::int64_t bytes_sent_by(const std::vector<WorkerSummary>& workers) {
  std::int64_t bytes = 0;
  for (const WorkerSummary& worker : workers) {
    bytes += worker.bytes_sent;
  }
  return bytes;
}

Json workers_to_json(const std::vector<WorkerSummary>& workers) {
  Json json = Json::array();
  for (const WorkerSummary& worker : workers) {
    json.push_back(worker_to_json(worker));
  }
  return json;
}

Json members_to_json(const std::vector<MemberRecord>& members) {
  Json list = Json::array();
  for (const MemberRecord& member : members) {
    list.push_back(to_json(member));
  }
  return list;
}

}  // namespace

std::optional<Seconds> time_to_target(std::span<const Metric> metrics,
                                      std::optional<double> target) {
  const auto reached = std::ranges::find_if(
      metrics, [&](const Metric& metric) { return target && metric.accuracy >= *target; });
  return reached != metrics.end() ? std::optional(reached->seconds) : std::nullopt;
}

Json to_json(const Metric& metric) {
  Json json = {
      {"seconds", number(metric.seconds)},   {"step", metric.step},
      {"samples", metric.samples},           {"loss", number(metric.loss)},
      {"accuracy", number(metric.accuracy)},
  };
  if (metric.train_loss) {
    json["train_loss"] = number(*metric.train_loss);
  }
  for (const NamedNumber& each : metric.named) {
    json["metrics"][each.name] = number(each.value);
  }
  return json;
}

Json to_json(const MemberRecord& member) {
  return {{name_of(member.process.kind), member.process.id},
          {"joined", number(member.joined)},
          {"left", number(member.left)},
          {"why", member.why}};
}

Json to_json(const Summary& summary) {
  const double rate =
      summary.seconds > 0 ? static_cast<double>(summary.samples) / summary.seconds : 0;
  const double ideal = summary.ideal_samples_per_second;
  const bool paced = ideal > 0;
  const Metric* last = summary.metrics.empty() ? nullptr : &summary.metrics.back();

  Json json;
  json["version"] = 1;
  json["name"] = summary.name;
  json["mode"] = summary.mode;
  if (summary.simulator) {
    json["simulator"] = *summary.simulator;
  }
  json["seed"] = summary.seed;
  json["workers"] = summary.workers.size();
  json["strategy"] = {
      {"sync", summary.sync}, {"allocation", summary.allocation}, {"codec", summary.codec}};
  json["seconds"] = number(summary.seconds);
  json["steps"] = (summary.samples + summary.batch - 1) / summary.batch;
  json["samples"] = summary.samples;
  json["samples_per_second"] = number(rate);
  json["ideal_samples_per_second"] = paced ? number(ideal) : Json(nullptr);
  json["efficiency"] = paced ? number(rate / ideal) : Json(nullptr);
  json["final_loss"] = last ? number(last->loss) : Json(nullptr);
  json["final_accuracy"] = last ? number(last->accuracy) : Json(nullptr);
  json["best_accuracy"] = number(best_accuracy(summary.metrics));
  json["target_accuracy"] = number(summary.target_accuracy);
  json["time_to_target"] = number(time_to_target(summary.metrics, summary.target_accuracy));
  json["bytes_sent"] = bytes_sent_by(summary.workers) + bytes_sent_by(summary.former_workers);
  json["max_iteration_gap"] = summary.max_iteration_gap;
  json["terms"] = summary.terms;
  json["members"] = members_to_json(summary.members);
  json["samples_redealt"] = summary.losses.samples_redealt;
  json["samples_repeated"] = summary.losses.samples_repeated;
  json["updates_lost"] = summary.losses.updates_lost;
  json["checkpoints"] = summary.checkpoints;
  json["resumed_from"] = summary.resumed_from ? Json(*summary.resumed_from) : Json(nullptr);
  if (summary.simulated_events) {
    json["simulated_events"] = *summary.simulated_events;
  }
  if (summary.stopped) {
    json["stopped"] = *summary.stopped;
  }
  json["per_worker"] = workers_to_json(summary.workers);
  if (!summary.former_workers.empty()) {
    json["former_workers"] = workers_to_json(summary.former_workers);
  }
  for (const ServerSummary& server : summary.servers) {
    json["per_server"].push_back({{"rank", server.rank}, {"bytes_sent", server.bytes_sent}});
  }
  json["allocation"] = allocation_to_json(summary);
  if (!summary.method.empty()) {
    json[summary.sync] = figures_to_json(summary.method);
  }
  return json;
}

}  // namespace motley
