// Changes values in the text of a job file and leaves the rest of it as it is, comments too.
//
//   with_settings(text, "job.toml", "cluster", {{"latency", "2e-05"}})
//
// A value that is there is replaced; one that is not gets a line behind the section's [header], or
// a section of its own at the end. A section that is written in another way (dotted keys, an
// inline table) is not edited: it fails with what should be written by hand.
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

// `text` has been read as a job before; file_name is for messages. The result means what the text
// meant, but for the settings.
Result<std::string> with_settings(std::string_view text, const std::string& file_name,
                                  std::string_view section, const std::vector<Setting>& settings);

}  // namespace motley
