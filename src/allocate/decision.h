// The decision of an allocation and its reason.
#pragma once

#include <string>

#include "allocate/shares.h"
#include "allocate/speed.h"

namespace motley {

struct Decision {
  Shares shares;
  std::string reason;  // one line for log, summary and report

  void state(Archive& archive) {
    archive("shares", shares);
    archive("reason", reason);
  }
};

}  // namespace motley
