#include <fmt/format.h>

#include <span>

#include "cli/commands.h"
#include "job/choices.h"
#include "sync/registry.h"

namespace motley {
namespace {

void list(std::string_view question, std::span<const Choice> choices) {
  for (const Choice& choice : choices) {
    fmt::print("{:<11} {:<15} {}\n", question, choice.name, choice.summary);
  }
}

}  // namespace

int strategies_command() {
  list("sync", job_schema().methods());
  list("allocation", kAllocations);
  list("codec", kCodecs);
  return kDone;
}

}  // namespace motley
