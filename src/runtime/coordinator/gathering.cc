#include "runtime/coordinator/gathering.h"

#include <utility>

#include "motley/version.h"
#include "runtime/rendezvous/token.h"

namespace motley {

Gathering completed(Gathering gathering) {
  if (gathering.host.token.empty() && !gathering.worker_command.empty()) {
    gathering.host.token = random_token();
  }
  if (gathering.host.version.empty()) {
    gathering.host.version = kVersion;
  }
  return gathering;
}

}  // namespace motley
