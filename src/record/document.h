// The document of a run, record.json, which the report and the live page draw. docs/record.md
// describes it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "record/run_record.h"

namespace motley {

// What is known only while the run is going on.
struct Moment {
  std::optional<Seconds> eta;  // estimated wall-clock seconds until the run ends
  // What a worker is doing, and for whose place it waits; unset when the run is over.
  std::function<Activity(int)> activity_of;
  // Nothing new has come for so many wall-clock seconds, which is too long: rates are no news.
  std::optional<Seconds> stale_for = {};
};

nlohmann::ordered_json document_of(const RunRecord& record, const Moment& moment = {});

// The document as one line. Text that is not UTF-8 is converted.
std::string one_line(const nlohmann::ordered_json& document);

}  // namespace motley
