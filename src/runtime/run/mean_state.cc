#include "runtime/run/mean_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

namespace motley {
namespace {

using Json = nlohmann::json;

double sum_of_integers(const Json& value) {
  if (value.is_number_integer()) {
    return value.get<double>();
  }
  double sum = 0;
  if (value.is_structured()) {
    for (const Json& part : value) {
      sum += sum_of_integers(part);
    }
  }
  return sum;
}

template <class Predicate>
bool all_are(const std::vector<const Json*>& values, Predicate is) {
  return std::ranges::all_of(values, [&](const Json* value) { return is(*value); });
}

Json mean_value(const std::vector<const Json*>& values);

Json mean_object(const std::vector<const Json*>& objects) {
  std::set<std::string> names;
  for (const Json* object : objects) {
    for (const auto& [name, value] : object->items()) {
      names.insert(name);
    }
  }
  Json mean = Json::object();
  for (const std::string& name : names) {
    std::vector<const Json*> values;
    for (const Json* object : objects) {
      if (object->contains(name)) {
        values.push_back(&object->at(name));
      }
    }
    mean[name] = mean_value(values);
  }
  return mean;
}

Json mean_value(const std::vector<const Json*>& values) {
  if (all_are(values, [](const Json& each) { return each.is_object(); })) {
    return mean_object(values);
  }
  if (all_are(values,
              [](const Json& each) { return each.is_boolean() || each.is_number_integer(); })) {
    return **std::ranges::max_element(values, {}, [](const Json* each) { return *each; });
  }
  return *values.front();
}

template <class Number>
Number number_at(const StateTensor& tensor, std::size_t i) {
  Number number;
  std::memcpy(&number, tensor.bytes.data() + i * sizeof number, sizeof number);
  return number;
}

// `combine` makes one number of the i-th ones of all tensors.
template <class Number, class Combine>
void combine_all(StateTensor& result, Combine combine) {
  for (std::size_t i = 0; i < result.bytes.size() / sizeof(Number); ++i) {
    const Number number = combine(i);
    std::memcpy(result.bytes.data() + i * sizeof number, &number, sizeof number);
  }
}

// That of the replica that is furthest, which has counted most.
bool is_less_far(const State& one, const State& other) {
  return sum_of_integers(one.values) < sum_of_integers(other.values);
}

// Adds in 64 bits: the sum of equal 32-bit numbers is then exact.
template <class Number>
void mean_numbers(StateTensor& result, const std::vector<const StateTensor*>& tensors) {
  combine_all<Number>(result, [&](std::size_t i) {
    double sum = 0;
    for (const StateTensor* tensor : tensors) {
      sum += static_cast<double>(number_at<Number>(*tensor, i));
    }
    return static_cast<Number>(sum / static_cast<double>(tensors.size()));
  });
}

StateTensor mean_tensor(const std::string& name, const std::vector<const StateTensor*>& tensors) {
  StateTensor result = *tensors.front();
  if (result.type == ElementType::kUint8 || tensors.size() == 1) {
    return result;
  }
  for (const StateTensor* tensor : tensors) {
    if (tensor->type != result.type || tensor->bytes.size() != result.bytes.size()) {
      throw StateError(fmt::format("the tensor {} differs in size between workers", name));
    }
  }
  if (result.type == ElementType::kFloat32) {
    mean_numbers<float>(result, tensors);
  } else if (result.type == ElementType::kFloat64) {
    mean_numbers<double>(result, tensors);
  } else {
    combine_all<std::int64_t>(result, [&](std::size_t i) {
      std::int64_t most = number_at<std::int64_t>(*tensors.front(), i);
      for (const StateTensor* tensor : tensors) {
        most = std::max(most, number_at<std::int64_t>(*tensor, i));
      }
      return most;
    });
  }
  return result;
}

}  // namespace

State mean_of(const std::vector<State>& states) {
  State mean;
  std::vector<const Json*> values;
  std::map<std::string, std::vector<const StateTensor*>> tensors;
  for (const State& state : states) {
    values.push_back(&state.values);
    for (const auto& [name, tensor] : state.tensors) {
      tensors[name].push_back(&tensor);
    }
  }
  if (!values.empty()) {
    const auto furthest = std::ranges::max_element(states, is_less_far) - states.begin();
    std::swap(values.front(), values[static_cast<std::size_t>(furthest)]);
    mean.values = mean_value(values);
  }
  for (const auto& [name, all_of_name] : tensors) {
    mean.tensors[name] = mean_tensor(name, all_of_name);
  }
  return mean;
}

}  // namespace motley
