#include "state/state.h"

#include "base/check.h"

namespace motley {
namespace {

using Json = nlohmann::json;

// "workers.0": workers, 0
std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t dot = path.find('.');
    names.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) {
      return names;
    }
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

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

void State::put(std::string_view path, State part) {
  const std::string prefix = std::string(path) + ".";
  for (auto it = tensors.lower_bound(prefix);
       it != tensors.end() && it->first.starts_with(prefix);) {
    it = tensors.erase(it);
  }
  Json* place = &values;
  for (const std::string_view name : names_of(path)) {
    place = &(*place)[std::string(name)];
  }
  *place = std::move(part.values);
  while (!part.tensors.empty()) {
    auto node = part.tensors.extract(part.tensors.begin());
    node.key() = prefix + node.key();
    tensors.insert(std::move(node));
  }
}

void State::erase(std::string_view path) {
  if (!has(path)) {
    return;
  }
  put(path, {});
  Json* place = &values;
  std::vector<std::string_view> names = names_of(path);
  const std::string last(names.back());
  names.pop_back();
  for (const std::string_view name : names) {
    place = &(*place)[std::string(name)];
  }
  place->erase(last);
}

State State::part(std::string_view path) const {
  State part;
  if (const Json* found = find(path)) {
    part.values = *found;
  }
  const std::string prefix = std::string(path) + ".";
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix);
       ++it) {
    part.tensors.emplace(it->first.substr(prefix.size()), it->second);
  }
  return part;
}

const Json* State::find(std::string_view path) const {
  const Json* place = &values;
  for (const std::string_view name : names_of(path)) {
    const auto found = place->find(name);
    if (found == place->end()) {
      return nullptr;
    }
    place = &*found;
  }
  return place;
}

}  // namespace motley
