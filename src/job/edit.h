// Changes values in the text of a job file and leaves the rest unchanged, including comments.
//
//   with_settings(text, "job.toml", "cluster", {{"latency", "2e-05"}})
//
// An existing value is replaced. A missing one gets a new line after the section's [header]; if the
// section is missing too, it is added at the end. A section that is written in another way (dotted
// keys, an inline table) cannot be edited: the error says what to write by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace motley {

struct Setting {
  std::string key;    // in the section
  std::string value;  // TOML
};

// `text` must be a valid job; file_name is used in messages. Apart from the settings, the result
// means the same as the text.
Result<std::string> with_settings(std::string_view text, const std::string& file_name,
                                  std::string_view section, const std::vector<Setting>& settings);

}  // namespace motley
