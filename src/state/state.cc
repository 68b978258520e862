#include "state/state.h"

#include "base/check.h"

namespace motley {

std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return 1;
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kFloat64:
      break;
  }
  return 8;
}

void State::put(std::string_view name, State part) {
  const std::string prefix = std::string(name) + ".";
  std::erase_if(tensors, [&](const auto& each) { return each.first.starts_with(prefix); });
  values[std::string(name)] = std::move(part.values);
  while (!part.tensors.empty()) {
    auto node = part.tensors.extract(part.tensors.begin());
    node.key() = prefix + node.key();
    tensors.insert(std::move(node));
  }
}

State State::part(std::string_view name) const {
  State part;
  if (const auto found = values.find(name); found != values.end()) {
    part.values = *found;
  }
  const std::string prefix = std::string(name) + ".";
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix);
       ++it) {
    part.tensors.emplace(it->first.substr(prefix.size()), it->second);
  }
  return part;
}

}  // namespace motley
