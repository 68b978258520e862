// State: what must survive of a run, or of a part of one: values in a tree, and tensors by name.
// Objects write and read it through an Archive (motley/state/archive.h); a checkpoint is a State on
// disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

enum class ElementType : std::uint8_t { kFloat32, kUint8, kInt64, kFloat64 };
std::size_t size_of(ElementType type);

struct StateTensor {
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  friend bool operator==(const StateTensor&, const StateTensor&) = default;
};

class State {
 public:
  nlohmann::json values = nlohmann::json::object();  // objects, arrays, numbers, booleans, text
  std::map<std::string, StateTensor> tensors;        // "workers.0.method.residual"

  bool empty() const { return values.empty() && tensors.empty(); }
  friend bool operator==(const State&, const State&) = default;

  // Puts a state below a path ("workers.0"), in place of what is there.
  void put(std::string_view path, State part);
  // Removes everything below a path, and the path.
  void erase(std::string_view path);
  // The state below a path; empty if there is none.
  State part(std::string_view path) const;
  bool has(std::string_view path) const { return find(path) != nullptr; }

 private:
  const nlohmann::json* find(std::string_view path) const;
};

// Shorthands: anything that has state(Archive&).
template <class T>
State state_of(T& object);
template <class T>
void restore(T& object, const State& state);

}  // namespace motley

#include "motley/state/archive.h"

namespace motley {

template <class T>
State state_of(T& object) {
  State state;
  Archive archive = Archive::saving(state);
  object.state(archive);
  return state;
}

template <class T>
void restore(T& object, const State& state) {
  Archive archive = Archive::restoring(state);
  object.state(archive);
}

}  // namespace motley
