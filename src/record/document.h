// The document of a run, record.json: what the report and the live page draw. docs/record.md
// says what is in it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "record/run_record.h"

namespace motley {

// What is known only at the moment when it is asked.
struct Moment {
  std::optional<Seconds> eta;  // until the run is over, in the time of who waits for it
  std::function<Activity(Rank)> activity_of;  // of a worker; none: the run is over
};

nlohmann::ordered_json document_of(const RunRecord& record, const Moment& moment = {});

// One line; text that is no UTF-8 is made so.
std::string one_line(const nlohmann::ordered_json& document);

}  // namespace motley
