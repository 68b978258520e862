#include "job/choices.h"

#include <iterator>
#include <vector>

namespace motley {
namespace {

std::vector<Choice>& known_methods() {
  static std::vector<Choice> methods(std::begin(kSyncMethods), std::end(kSyncMethods));
  return methods;
}

}  // namespace

std::span<const Choice> sync_methods() { return known_methods(); }

void add_sync_method(const Choice& choice) { known_methods().push_back(choice); }

}  // namespace motley
