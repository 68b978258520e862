#include "record/summary.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity: what is not a number is null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json number(std::optional<double> value) { return value ? number(*value) : Json(nullptr); }

std::optional<double> best_accuracy(const std::vector<Metric>& metrics) {
  std::optional<double> best;
  for (const Metric& metric : metrics) {
    if (std::isfinite(metric.accuracy) && metric.accuracy >= best.value_or(metric.accuracy)) {
      best = metric.accuracy;
    }
  }
  return best;
}

std::optional<Seconds> time_to_target(const Summary& summary) {
  if (!summary.target_accuracy) {
    return std::nullopt;
  }
  const auto reached = std::ranges::find_if(summary.metrics, [&](const Metric& metric) {
    return metric.accuracy >= *summary.target_accuracy;
  });
  if (reached == summary.metrics.end()) {
    return std::nullopt;
  }
  return reached->seconds;
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

Json figures_to_json(const Figures& figures) {
  Json json = Json::object();
  for (const Figure& figure : figures) {
    json[figure.name] = std::visit(
        []<class Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, std::monostate>) {
            return Json(nullptr);
          } else if constexpr (std::is_same_v<Value, double>) {
            return number(value);
          } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
            Json row = Json::array();
            std::ranges::transform(value, std::back_inserter(row),
                                   [](double each) { return number(each); });
            return row;
          } else {
            return Json(value);
          }
        },
        figure.value);
  }
  return json;
}

}  // namespace

Json to_json(const Metric& metric) {
  Json json = {
      {"seconds", number(metric.seconds)},   {"step", metric.step},
      {"samples", metric.samples},           {"loss", number(metric.loss)},
      {"accuracy", number(metric.accuracy)},
  };
  if (metric.train_loss) {
    json["train_loss"] = number(*metric.train_loss);
  }
  return json;
}

Json to_json(const Summary& summary) {
  const double rate =
      summary.seconds > 0 ? static_cast<double>(summary.samples) / summary.seconds : 0;
  const double ideal = summary.ideal_samples_per_second;
  const bool paced = ideal > 0;
  const Metric* last = summary.metrics.empty() ? nullptr : &summary.metrics.back();

  Json workers = Json::array();
  std::int64_t bytes_sent = 0;
  for (const WorkerSummary& worker : summary.workers) {
    workers.push_back(worker_to_json(worker));
    bytes_sent += worker.bytes_sent;
  }

  Json json;
  json["version"] = 1;
  json["name"] = summary.name;
  json["mode"] = summary.mode;
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
  json["time_to_target"] = number(time_to_target(summary));
  json["bytes_sent"] = bytes_sent;
  json["max_iteration_gap"] = summary.max_iteration_gap;
  if (summary.simulated_events) {
    json["simulated_events"] = *summary.simulated_events;
  }
  if (summary.stopped) {
    json["stopped"] = *summary.stopped;
  }
  json["per_worker"] = std::move(workers);
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
