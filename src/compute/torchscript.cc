#include "compute/torchscript.h"

#include <torch/script.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "compute/data/input_file.h"
#include "compute/torch_error.h"

namespace motley {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 30;

NamedTensors tensors_of(const torch::jit::Module& module) {
  NamedTensors all;
  for (const auto& [name, tensor] : module.named_parameters()) {
    all.push_back({name, tensor});
  }
  for (const auto& [name, tensor] : module.named_buffers()) {
    all.push_back({name, tensor});
  }
  return all;
}

class ScriptModel final : public TorchModel {
 public:
  explicit ScriptModel(torch::jit::Module module) : module_(std::move(module)) {}

  torch::Tensor forward(const torch::Tensor& batch) override {
    return module_.forward({batch}).toTensor();
  }
  void set_training(bool on) override { module_.train(on); }
  NamedTensors parameters() override {
    NamedTensors trained;
    for (const auto& [name, parameter] : module_.named_parameters()) {
      if (parameter.requires_grad() && !holds(trained, parameter)) {
        trained.push_back({name, parameter});
      }
    }
    return trained;
  }
  NamedTensors buffers() override {
    NamedTensors floats;
    for (const auto& [name, buffer] : module_.named_buffers()) {
      if (buffer.is_floating_point() && !holds(floats, buffer)) {
        floats.push_back({name, buffer});
      }
    }
    return floats;
  }
  NamedTensors others() override {
    NamedTensors known = parameters();
    const NamedTensors floats = buffers();
    known.insert(known.end(), floats.begin(), floats.end());
    return without(tensors_of(module_), known);
  }
  void save(std::ostream& out) override { module_.save(out); }

  const torch::jit::Module& module() const { return module_; }

 private:
  torch::jit::Module module_;
};

// Whether the record is there that ends a zip archive; only a comment may follow it. Torch 1.13
// must not read an archive without one: its zip reader then reads outside of it, and the
// exception for that passes through C code, which loses memory.
bool is_whole_archive(std::string_view bytes) {
  constexpr std::string_view kEndRecord = "PK\5\6";
  constexpr std::size_t kFarthestFromEnd = 65'535 + 22;
  const std::size_t begin = bytes.size() - std::min(bytes.size(), kFarthestFromEnd);
  return bytes.substr(begin).find(kEndRecord) != std::string_view::npos;
}

torch::jit::Module parse_module(const std::string& bytes) {
  if (!is_whole_archive(bytes)) {
    throw std::runtime_error("it is not a zip archive, or its end is missing");
  }
  std::istringstream in(bytes);
  return torch::jit::load(in, torch::kCPU);
}

std::unique_ptr<ScriptModel> parse(const std::string& bytes) {
  return std::make_unique<ScriptModel>(parse_module(bytes));
}

Status check_tensors(const std::string& path, ScriptModel& network) {
  const auto expect_floats = [&](const auto& named_tensors, const char* what) -> Status {
    for (const auto& [name, tensor] : named_tensors) {
      if (tensor.is_floating_point() && tensor.scalar_type() != torch::kFloat32) {
        return fail("{}: {} {} is {}; expected float32", path, what, name,
                    c10::toString(tensor.scalar_type()));
      }
    }
    return {};
  };
  if (network.parameters().empty()) {
    return fail("{}: the module has no parameters to train", path);
  }
  if (auto ok = expect_floats(network.module().named_parameters(), "parameter"); !ok) {
    return ok;
  }
  return expect_floats(network.module().named_buffers(), "buffer");
}

// The name of a float buffer that is no longer the same tensor as in `before`; empty if none.
std::string replaced_buffer(ScriptModel& network, const NamedTensors& before) {
  for (const auto& [name, tensor] : network.module().named_buffers()) {
    if (tensor.is_floating_point() && !holds(before, tensor)) {
      return name;
    }
  }
  return {};
}

// Runs the module on two samples of zeros.
Status try_forward(const std::string& path, ScriptModel& network,
                   const std::vector<std::int64_t>& shape, std::int64_t classes, bool training) {
  std::vector<std::int64_t> batch_shape{2};
  batch_shape.insert(batch_shape.end(), shape.begin(), shape.end());
  const auto before = network.buffers();
  network.set_training(training);
  torch::Tensor logits;
  try {
    logits = network.forward(torch::zeros(batch_shape));
  } catch (const std::exception& error) {
    return fail("{}: forward fails on a batch of shape [{}]: {}", path,
                fmt::join(batch_shape, ", "), short_reason(error));
  }
  if (logits.dim() != 2 || logits.size(0) != 2 || logits.size(1) != classes ||
      logits.scalar_type() != torch::kFloat32) {
    return fail("{}: forward gives {} [{}] for a batch of 2; expected logits, Float [2, {}]", path,
                c10::toString(logits.scalar_type()), fmt::join(logits.sizes().vec(), ", "),
                classes);
  }
  if (training && !logits.requires_grad()) {
    return fail("{}: what forward gives does not depend on the parameters", path);
  }
  if (const std::string name = replaced_buffer(network, before); !name.empty()) {
    return fail("{}: forward replaces buffer {}; expected it to be written in place", path, name);
  }
  return {};
}

}  // namespace

NamedTensors tensors_of_script(const std::string& bytes) {
  return with_short_errors("not a TorchScript module as torch.jit.save or torch::save writes it",
                           [&] { return tensors_of(parse_module(bytes)); });
}

Result<TorchModelMaker> load_torchscript(const std::string& path,
                                         const std::vector<std::int64_t>& shape,
                                         std::int64_t classes) {
  const auto file = read_file(path, kMaxBytes);
  if (!file) {
    return tl::unexpected(file.error());
  }
  const auto bytes = std::make_shared<const std::string>(file->begin(), file->end());
  std::unique_ptr<ScriptModel> network;
  try {
    network = parse(*bytes);
  } catch (const std::exception& error) {
    return fail("{}: not a TorchScript module as torch.jit.save writes it: {}", path,
                short_reason(error));
  }
  if (auto ok = check_tensors(path, *network); !ok) {
    return tl::unexpected(ok.error());
  }
  for (const bool training : {true, false}) {
    if (auto ok = try_forward(path, *network, shape, classes, training); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return [bytes] { return parse(*bytes); };
}

}  // namespace motley
