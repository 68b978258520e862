#include "record/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "record/json_values.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kComplete:
      return "done";
    case RunState::kStopped:
      return "stopped";
    case RunState::kFailed:
      return "failed";
  }
  return "";
}

constexpr std::size_t kMostMembers = 10'000;

std::string who(RecordPlace place) {
  if (place == kCoordinator) {
    return "coordinator";
  }
  return is_server_place(place) ? fmt::format("server {}", place - kFirstServer)
                                : fmt::format("worker {}", place);
}

Json straggler_of(const RunRecord& record) {
  const bool is_over = record.state() != RunState::kRunning;
  const auto straggler = find_straggler(is_over ? record.paces() : record.recent());
  if (!straggler) {
    return nullptr;
  }
  return {{"rank", straggler->rank},
          {"reason", fmt::format("worker {} {}", straggler->rank, straggler->reason)}};
}

// The elapsed part of a bin in seconds; the last bin is usually incomplete.
Seconds length_of_bin(const RunRecord& record, std::size_t bin) {
  const Seconds passed = record.seconds() - static_cast<Seconds>(bin) * record.bin_width();
  return std::clamp(passed, record.bin_width() * 1e-3, record.bin_width());
}

Json throughput_of(const RunRecord& record) {
  std::vector<double> samples(record.bins(), 0);
  for (const RunRecord::Worker& worker : record.workers()) {
    const auto row = record.row(worker.id, RunRecord::kSamples);
    for (std::size_t bin = 0; bin < samples.size(); ++bin) {
      samples[bin] += row[bin];
    }
  }
  Json rates = Json::array();
  for (std::size_t bin = 0; bin < samples.size(); ++bin) {
    rates.push_back(brief_number(samples[bin] / length_of_bin(record, bin)));
  }
  return rates;
}

Json row_of(const RunRecord& record, int worker, RunRecord::Row which) {
  Json row = Json::array();
  for (const double amount : record.row(worker, which)) {
    row.push_back(brief_number(amount));
  }
  return row;
}

Json shares_of(const RunRecord& record, int worker) {
  const auto steps = record.row(worker, RunRecord::kShareSteps);
  const auto samples = record.row(worker, RunRecord::kShareSamples);
  Json shares = Json::array();
  for (std::size_t bin = 0; bin < steps.size(); ++bin) {
    shares.push_back(steps[bin] > 0 ? brief_number(samples[bin] / steps[bin]) : Json(nullptr));
  }
  return shares;
}

std::string_view doing_of(const RunRecord& record, int worker, const Moment& moment) {
  if (!record.is_there(worker)) {
    return "absent";
  }
  const bool is_over = record.state() != RunState::kRunning || !moment.activity_of;
  return is_over ? "done" : name_of(moment.activity_of(worker).doing);
}

Json worker_of(const RunRecord& record, const RunRecord::Worker& worker, const Moment& moment) {
  const WorkerFigures& latest = worker.latest;
  const auto speed = latest.compute > 0
                         ? number(static_cast<double>(latest.samples) / latest.compute)
                         : Json(nullptr);
  return {{"rank", worker.id},
          {"samples", latest.samples},
          {"steps", latest.steps},
          {"share", latest.share},
          {"doing", doing_of(record, worker.id, moment)},
          {"samples_per_second", speed},
          {"compute_seconds", number(latest.compute)},
          {"communicate_seconds", number(latest.communicate)},
          {"wait_seconds", number(latest.wait)},
          {"bytes_sent", latest.bytes_sent},
          {"compute", row_of(record, worker.id, RunRecord::kCompute)},
          {"communicate", row_of(record, worker.id, RunRecord::kCommunicate)},
          {"wait", row_of(record, worker.id, RunRecord::kWait)},
          {"shares", shares_of(record, worker.id)}};
}

// In order of time: reports of workers arrive in any order.
Json decisions_of(const RunRecord& record) {
  std::vector<const RunRecord::Decided*> order;
  record.decisions().for_each([&](const RunRecord::Decided& each) { order.push_back(&each); });
  std::ranges::stable_sort(order, {}, [](const auto* each) { return each->decision.at; });
  Json decisions = Json::array();
  for (const RunRecord::Decided* each : order) {
    decisions.push_back({{"seconds", brief_number(each->decision.at)},
                         {"who", who(each->who)},
                         {"kind", each->decision.kind},
                         {"what", each->decision.what},
                         {"reason", each->decision.reason}});
  }
  return decisions;
}

// With very many stays, the first and the last ones.
void add_members(Json& document, const RunRecord& record) {
  Kept<MemberRecord> members(kMostMembers);
  for (const MemberRecord& member : record.members()) {
    members.add(member);
  }
  document["members"] = Json::array();
  members.for_each(
      [&](const MemberRecord& member) { document["members"].push_back(to_json(member)); });
  document["members_left_out"] = members.left_out();
}

Json terms_of(const RunRecord& record) {
  Json terms = Json::array();
  record.terms().for_each([&](const TermRecord& term) {
    terms.push_back({{"number", term.number},
                     {"seconds", number(term.begin)},
                     {"cause", name_of(term.cause)},
                     {"reason", term.reason}});
  });
  return terms;
}

Json what_was_run(const RunRecord& record) {
  const RunFacts& facts = record.facts();
  const Json libtorch = facts.libtorch.empty() ? Json(nullptr) : Json(facts.libtorch);
  const Json simulator = facts.simulator ? Json(*facts.simulator) : Json(nullptr);
  return {
      {"version", 1},
      {"made_by", {{"motley", facts.version}, {"libtorch", libtorch}, {"simulator", simulator}}},
      {"name", facts.name},
      {"mode", facts.mode},
      {"seed", facts.seed},
      {"strategy",
       {{"sync", facts.sync}, {"allocation", facts.allocation}, {"codec", facts.codec}}},
      {"job", facts.job},
      {"state", name_of(record.state())},
      {"why", record.why()},
      {"workers", facts.workers},
      {"servers", facts.servers},
      {"batch", facts.batch}};
}

}  // namespace

Json document_of(const RunRecord& record, const Moment& moment) {
  const RunFacts& facts = record.facts();
  Json document = what_was_run(record);
  document["seconds"] = number(record.seconds());
  document["samples"] = record.samples();
  document["limit"] = facts.limit;
  document["eta_seconds"] = number(moment.eta);
  document["samples_per_second"] = number(record.samples_per_second());
  const double ideal = facts.ideal_samples_per_second;
  document["ideal_samples_per_second"] = ideal > 0 ? number(ideal) : Json(nullptr);
  document["train_loss"] = number(record.train_loss());
  document["target_accuracy"] = number(facts.target_accuracy);
  document["time_to_target"] = number(time_to_target(record.metrics(), facts.target_accuracy));
  document["bytes_sent"] = record.bytes_sent();
  document["straggler"] = straggler_of(record);
  document["metrics"] = Json::array();
  for (const Metric& metric : record.metrics()) {
    document["metrics"].push_back(to_json(metric));
  }
  document["bins"] = {{"width", record.bin_width()}, {"count", record.bins()}};
  document["throughput"] = throughput_of(record);
  document["per_worker"] = Json::array();
  for (const RunRecord::Worker& worker : record.workers()) {
    document["per_worker"].push_back(worker_of(record, worker, moment));
  }
  add_members(document, record);
  document["terms"] = terms_of(record);
  document["terms_left_out"] = record.terms().left_out();
  const auto& behind = record.behind();
  document["behind"] =
      behind
          ? Json{{"what", behind->what}, {"counts", behind->counts}, {"farthest", behind->farthest}}
          : Json(nullptr);
  document["decisions"] = decisions_of(record);
  document["decisions_left_out"] = record.decisions().left_out();
  document["method"] = record.method().empty() ? Json(nullptr) : figures_to_json(record.method());
  return document;
}

std::string one_line(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace motley
