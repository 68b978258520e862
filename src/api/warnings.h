// Warnings: what a program probably does not mean, said once on stderr.
#pragma once

#include <set>
#include <string>

#include "session/warning.h"

namespace motley {

class Warnings {
 public:
  void once(const std::string& topic, const std::string& text) {
    if (said_.insert(topic).second) {
      print_notice("warning: " + text);
    }
  }

 private:
  std::set<std::string> said_;
};

}  // namespace motley
