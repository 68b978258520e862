#include "api/saved_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "compute/torch_error.h"
#include "compute/torchscript.h"
#include "motley/sync/replica.h"
#include "session/warning.h"
#include "state/checkpoint_store.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

torch::ScalarType scalar_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return torch::kFloat;
    case ElementType::kFloat64:
      return torch::kDouble;
    case ElementType::kInt64:
      return torch::kLong;
    case ElementType::kUint8:
      break;
  }
  return torch::kByte;
}

torch::Tensor torch_tensor(const StateTensor& saved) {
  torch::Tensor tensor = torch::empty(saved.shape, scalar_type(saved.type));
  if (!saved.bytes.empty()) {
    std::memcpy(tensor.data_ptr(), saved.bytes.data(), saved.bytes.size());
  }
  return tensor;
}

// Sums of doubles: the mean of equal floats is that float.
torch::Tensor mean_of(const std::vector<const StateTensor*>& saved) {
  const torch::Tensor first = torch_tensor(*saved.front());
  if (!first.is_floating_point() || saved.size() == 1) {
    return first;
  }
  torch::Tensor sum = first.to(torch::kDouble);
  for (std::size_t i = 1; i < saved.size(); ++i) {
    sum += torch_tensor(*saved[i]);
  }
  return (sum / static_cast<double>(saved.size())).to(first.scalar_type());
}

struct PlaceInState {
  int worker;
  std::string_view name;  // of the model's tensor
};

// Of "workers.2.replica.model.fc1.weight"; none if it is not a tensor of a worker's model.
std::optional<PlaceInState> place_of(std::string_view key) {
  constexpr std::string_view kWorkers = "workers.";
  if (!key.starts_with(kWorkers)) {
    return std::nullopt;
  }
  key.remove_prefix(kWorkers.size());
  PlaceInState place{};
  const auto [end, error] = std::from_chars(key.begin(), key.end(), place.worker);
  const std::string rest = fmt::format(".replica.{}", Replica::kModelPart);
  key.remove_prefix(static_cast<std::size_t>(end - key.begin()));
  if (error != std::errc() || !key.starts_with(rest)) {
    return std::nullopt;
  }
  place.name = key.substr(rest.size());
  return place;
}

Result<SavedModel> with_name_of(const fs::path& path, Result<SavedModel> model) {
  return model ? std::move(model) : fail("{}: {}", path.string(), model.error().message);
}

Result<SavedModel> read_checkpoint_model(const fs::path& directory,
                                         const ParameterNames& parameters) {
  const auto checkpoint = read_checkpoint(real_files(), directory);
  if (!checkpoint) {
    return tl::unexpected(checkpoint.error());
  }
  return with_name_of(directory, model_in(checkpoint->state.tensors, parameters));
}

Result<SavedModel> read_newest(const fs::path& checkpoints, const ParameterNames& parameters) {
  const auto newest = CheckpointStore(real_files(), checkpoints).newest();
  if (!newest) {
    return tl::unexpected(newest.error());
  }
  for (const std::string& each : newest->passed_over) {
    print_notice("warning: " + each);
  }
  return with_name_of(newest->path, model_in(newest->checkpoint.state.tensors, parameters));
}

Result<SavedModel> model_in_script(const std::string& bytes) {
  SavedModel model;
  try {
    for (const auto& [name, tensor] : tensors_of_script(bytes)) {
      model.emplace(name, tensor.detach());
    }
  } catch (const std::exception& error) {
    return fail("{}", short_reason(error));
  }
  return model;
}

Result<SavedModel> read_model_file(const fs::path& path, const ParameterNames& parameters) {
  const auto bytes = real_files().read(path);
  if (!bytes) {
    return fail("{}: {}", path.string(), bytes.error().message());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (text.starts_with("PK")) {  // a zip archive
    return with_name_of(path, model_in_script(std::string(text)));
  }
  const auto tensors = read_safetensors(*bytes);
  if (!tensors) {
    return fail("{}: neither a model file of torch nor a safetensors file: {}", path.string(),
                tensors.error().message);
  }
  return with_name_of(path, model_in(*tensors, parameters));
}

// The step at which the run ended in order; -1 if it has not.
std::int64_t last_step(const fs::path& run) {
  std::ifstream file(run / "summary.json");
  const auto summary = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  const auto found = summary.is_object() ? summary.find("steps") : summary.end();
  return summary.is_object() && found != summary.end() && found->is_number_integer()
             ? found->get<std::int64_t>()
             : -1;
}

std::int64_t newest_step(const fs::path& checkpoints) {
  const auto listed = CheckpointStore(real_files(), checkpoints).list();
  return listed && !listed->empty() ? listed->front().step : -1;
}

// The model.pt of a run that has failed is that of its last evaluation; that of a run that was
// stopped and has gone on since is older than its checkpoints.
Result<SavedModel> read_run(const fs::path& run, const ParameterNames& parameters) {
  std::error_code ignored;
  const fs::path file = run / "model.pt";
  const fs::path checkpoints = run / "checkpoints";
  const bool has_file = fs::exists(file, ignored);
  const bool has_checkpoints = fs::exists(checkpoints, ignored);
  if (!has_file && !has_checkpoints) {
    return fail(
        "{}: no model here: expected a run directory with model.pt or checkpoints, or a "
        "checkpoint",
        run.string());
  }
  const std::int64_t last = last_step(run);
  const bool is_final = has_file && last >= 0 && last >= newest_step(checkpoints);
  return is_final || !has_checkpoints ? read_model_file(file, parameters)
                                      : read_newest(checkpoints, parameters);
}

// By name: the tensor of every worker.
using OfWorkers = std::map<std::string, std::vector<const StateTensor*>>;

bool have_same(const OfWorkers& tensors, const ParameterNames& names) {
  return std::ranges::all_of(tensors, [&](const auto& each) {
    const auto& [name, of_workers] = each;
    return !names.contains(name) || std::ranges::all_of(of_workers, [&](const StateTensor* tensor) {
      return tensor->bytes == of_workers.front()->bytes;
    });
  });
}

// Fails if a tensor is not there, or not like the others, on one of the workers.
Status check_alike(const OfWorkers& tensors, std::size_t workers) {
  for (const auto& [name, of_workers] : tensors) {
    const auto is_like_first = [&](const StateTensor* each) {
      return each->type == of_workers.front()->type && each->shape == of_workers.front()->shape;
    };
    if (of_workers.size() != workers || !std::ranges::all_of(of_workers, is_like_first)) {
      return fail("{} is not the same tensor on all workers", name);
    }
  }
  return {};
}

}  // namespace

Result<SavedModel> model_in(const TensorMap& tensors, const ParameterNames& parameters) {
  OfWorkers by_name;
  std::set<int> workers;
  SavedModel model;
  for (const auto& [key, tensor] : tensors) {  // worker 0 comes first
    if (const auto place = place_of(key)) {
      by_name[std::string(place->name)].push_back(&tensor);
      workers.insert(place->worker);
    }
  }
  if (workers.empty()) {
    for (const auto& [name, tensor] : tensors) {
      model.emplace(name, torch_tensor(tensor));
    }
    return model;
  }
  if (const Status status = check_alike(by_name, workers.size()); !status) {
    return tl::unexpected(status.error());
  }
  const bool is_one_model = have_same(by_name, parameters);
  for (const auto& [name, of_workers] : by_name) {
    model.emplace(name, is_one_model ? torch_tensor(*of_workers.front()) : mean_of(of_workers));
  }
  return model;
}

Result<SavedModel> read_saved_model(const fs::path& path, const ParameterNames& parameters) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return read_model_file(path, parameters);
  }
  if (fs::exists(path / "state.json", error)) {
    return read_checkpoint_model(path, parameters);
  }
  const fs::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
  return last == "checkpoints" ? read_newest(path, parameters) : read_run(path, parameters);
}

}  // namespace motley
