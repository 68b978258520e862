// For tests: small checkpoints that all differ.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "state/checkpoint.h"

namespace motley {

inline std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <class T>
StateTensor tensor_of(ElementType type, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {type, {static_cast<std::int64_t>(values.size())}, {bytes.begin(), bytes.end()}};
}

inline Checkpoint sample_checkpoint(std::int64_t step, int attempt = 0) {
  Checkpoint checkpoint{step, static_cast<double>((step + step / 100) * 7 % 10) / 10, {}, {}};
  checkpoint.state.values = {{"step", step}, {"attempt", attempt}, {"text", "a \"b\"\n"}};
  const auto number = static_cast<float>(step + attempt);
  checkpoint.state.tensors["model.weight"] =
      tensor_of<float>(ElementType::kFloat32, {number, -0.5F, 2, 3, 4, 5});
  checkpoint.state.tensors["model.weight"].shape = {2, 3};
  checkpoint.state.tensors["count"] = tensor_of<std::int64_t>(ElementType::kInt64, {step});
  checkpoint.state.tensors["raw"] = tensor_of<std::uint8_t>(ElementType::kUint8, {1, 2, 3});
  checkpoint.files["own.bin"] = bytes_of_text(fmt::format("own {} {}", step, attempt));
  return checkpoint;
}

}  // namespace motley
