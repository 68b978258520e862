// The settings of every group of an optimizer, by the type of its options.
#include <fmt/format.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <functional>

#include "compute/optimizer_state.h"

namespace motley {
namespace {

namespace optim = torch::optim;

struct OptimizerSetting {
  std::string name;
  std::function<double()> get;
  std::function<void(double)> set;
};
using Settings = std::vector<OptimizerSetting>;

template <class T>
OptimizerSetting setting(const char* name, T& value) {
  return {name, [&value] { return static_cast<double>(value); },
          [&value](double number) { value = static_cast<T>(number); }};
}

template <class AdamOptions>
Settings settings_of_adam(AdamOptions& options) {
  return {setting("lr", options.lr()),
          setting("beta1", std::get<0>(options.betas())),
          setting("beta2", std::get<1>(options.betas())),
          setting("eps", options.eps()),
          setting("weight_decay", options.weight_decay()),
          setting("amsgrad", options.amsgrad())};
}
Settings settings_of(optim::AdamOptions& options) { return settings_of_adam(options); }
Settings settings_of(optim::AdamWOptions& options) { return settings_of_adam(options); }

Settings settings_of(optim::SGDOptions& options) {
  return {setting("lr", options.lr()), setting("momentum", options.momentum()),
          setting("dampening", options.dampening()),
          setting("weight_decay", options.weight_decay()), setting("nesterov", options.nesterov())};
}

Settings settings_of(optim::RMSpropOptions& options) {
  return {setting("lr", options.lr()),
          setting("alpha", options.alpha()),
          setting("eps", options.eps()),
          setting("weight_decay", options.weight_decay()),
          setting("momentum", options.momentum()),
          setting("centered", options.centered())};
}

Settings settings_of(optim::AdagradOptions& options) {
  return {setting("lr", options.lr()), setting("lr_decay", options.lr_decay()),
          setting("weight_decay", options.weight_decay()), setting("eps", options.eps())};
}

Settings settings_of(optim::LBFGSOptions& options) {
  return {setting("lr", options.lr()), setting("max_iter", options.max_iter()),
          setting("tolerance_grad", options.tolerance_grad()),
          setting("tolerance_change", options.tolerance_change()),
          setting("history_size", options.history_size())};
}

// All that torch knows of options that a program has defined.
Settings learning_rate_of(optim::OptimizerOptions& options) {
  try {
    options.get_lr();
  } catch (const c10::Error&) {
    return {};  // it has none
  }
  return {{"lr", [&options] { return options.get_lr(); },
           [&options](double lr) { options.set_lr(lr); }}};
}

template <class First, class... Others>
Settings settings_of_any(optim::OptimizerOptions& options) {
  if (auto* known = dynamic_cast<First*>(&options)) {
    return settings_of(*known);
  }
  if constexpr (sizeof...(Others) > 0) {
    return settings_of_any<Others...>(options);
  } else {
    return learning_rate_of(options);
  }
}

Settings settings_of(optim::OptimizerParamGroup& group) {
  if (!group.has_options()) {
    return {};
  }
  return settings_of_any<optim::SGDOptions, optim::AdamOptions, optim::AdamWOptions,
                         optim::RMSpropOptions, optim::AdagradOptions, optim::LBFGSOptions>(
      group.options());
}

std::vector<double> values_of(const Settings& settings) {
  std::vector<double> values;
  for (const OptimizerSetting& each : settings) {
    values.push_back(each.get());
  }
  return values;
}

// One group.
class GroupSettings {
 public:
  GroupSettings(Settings settings, const std::vector<double>& at_start)
      : settings_(std::move(settings)), at_start_(at_start) {}

  void state(Archive& archive) {
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      const OptimizerSetting& setting = settings_[i];
      double now = setting.get();
      double began_with = at_start_[i];
      archive(setting.name, now);
      archive(setting.name + "_at_start", began_with);
      if (!archive.is_saving() && began_with == at_start_[i]) {
        setting.set(now);
      }
    }
  }

 private:
  Settings settings_;
  const std::vector<double>& at_start_;
};

}  // namespace

OptimizerSettings::OptimizerSettings(optim::Optimizer& optimizer) : optimizer_(optimizer) {
  begin_with_these();
}

void OptimizerSettings::begin_with_these() {
  at_start_.clear();
  for (optim::OptimizerParamGroup& group : optimizer_.param_groups()) {
    at_start_.push_back(values_of(settings_of(group)));
  }
}

std::string OptimizerSettings::text() {
  std::string text;
  int number = 0;
  for (optim::OptimizerParamGroup& group : optimizer_.param_groups()) {
    for (const OptimizerSetting& each : settings_of(group)) {
      text += fmt::format("optimizer.group{}.{} {}\n", number, each.name, each.get());
    }
    ++number;
  }
  return text;
}

void OptimizerSettings::state(Archive& archive) {
  for (std::size_t i = 0; i < at_start_.size(); ++i) {
    GroupSettings group(settings_of(optimizer_.param_groups()[i]), at_start_[i]);
    archive(std::to_string(i), group);
  }
}

}  // namespace motley
