// MethodOptions: the settings of all methods, one plain struct for each method.
//
//   options.strategy.of<motley::HopOptions>().max_gap = 5;
//
// A method defines its struct in its own public header (in motley/sync/), so neither Job nor
// Options has to know which methods exist. Copying copies all settings.
#pragma once

#include <any>
#include <map>
#include <typeindex>

namespace motley {

class MethodOptions {
 public:
  // The settings of type T. They have their default values until they are changed.
  template <class T>
  T& of() {
    std::any& value = values_[std::type_index(typeid(T))];
    if (!value.has_value()) {
      value.emplace<T>();
    }
    return *std::any_cast<T>(&value);
  }
  template <class T>
  const T& of() const {
    static const T kDefaults{};
    const auto found = values_.find(std::type_index(typeid(T)));
    return found == values_.end() ? kDefaults : *std::any_cast<T>(&found->second);
  }

 private:
  std::map<std::type_index, std::any> values_;
};

}  // namespace motley
