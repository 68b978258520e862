// The names that keys of a job accept. The choices of a method's keys are defined by the method.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "motley/job/key.h"

namespace motley {

inline constexpr Choice kModelKinds[] = {
    choice("svm", ModelKind::kSvm),
    choice("mlp", ModelKind::kMlp),
    choice("cnn", ModelKind::kCnn),
    choice("resnet20", ModelKind::kResnet20),
    choice("torchscript", ModelKind::kTorchscript),
    choice("phantom", ModelKind::kPhantom),
    choice("program", ModelKind::kProgram),
};
inline constexpr Choice kDataKinds[] = {
    choice("idx", DataKind::kIdx),         choice("cifar10", DataKind::kCifar10),
    choice("libsvm", DataKind::kLibsvm),   choice("synthetic", DataKind::kSynthetic),
    choice("program", DataKind::kProgram),
};
inline constexpr Choice kOptimizers[] = {
    choice("sgd", OptimizerKind::kSgd),
    choice("adam", OptimizerKind::kAdam),
};
inline constexpr Choice kOrders[] = {
    choice("shuffled", SampleOrder::kShuffled),
    choice("sequential", SampleOrder::kSequential),
    choice("streams", SampleOrder::kStreams),
    choice("program", SampleOrder::kOwn),
};
inline constexpr Choice kIsolations[] = {
    choice("none", Isolation::kNone),
    choice("cgroup", Isolation::kCgroup),
};
inline constexpr Choice kEventKinds[] = {
    choice("speed", EventKind::kSpeed),     choice("bandwidth", EventKind::kBandwidth),
    choice("latency", EventKind::kLatency), choice("dies", EventKind::kDies),
    choice("leaves", EventKind::kLeaves),   choice("joins", EventKind::kJoins),
    choice("freezes", EventKind::kFreezes),
};
inline constexpr Choice kSlowdownKinds[] = {{"random"}};

inline constexpr Choice kAllocations[] = {
    {"equal", "every worker computes the same number of samples"},
    {"static", "in the proportions that strategy.shares gives"},
    {"adaptive",
     "adjusted every window of steps so that all workers take equally long (Chao et al.)"},
    {"dynamic", "set every epoch in proportion to the speeds measured in the last one (Vineeth)"},
};
inline constexpr Choice kCodecs[] = {
    choice("none", CodecKind::kNone, "numbers are sent as 32-bit floats"),
    choice("fp16", CodecKind::kFp16, "16-bit floats with 11 significant bits"),
    choice("bf16", CodecKind::kBf16,
           "16-bit floats with 8 significant bits and the range of 32-bit floats"),
    choice("int8", CodecKind::kInt8,
           "8 bits and a scale for each 256 numbers, rounded at random without bias"),
    choice("topk", CodecKind::kTopk, "only the largest entries, each with its index"),
};

// The name of an enum value in a job file.
template <class Enum>
constexpr std::string_view name_in(std::span<const Choice> choices, Enum value) {
  const auto found = std::ranges::find(choices, static_cast<int>(value), &Choice::value);
  return found == choices.end() ? "?" : found->name;
}
constexpr std::string_view name_of(ModelKind kind) { return name_in(kModelKinds, kind); }
constexpr std::string_view name_of(DataKind kind) { return name_in(kDataKinds, kind); }
constexpr std::string_view name_of(OptimizerKind kind) { return name_in(kOptimizers, kind); }
constexpr std::string_view name_of(SampleOrder order) { return name_in(kOrders, order); }
constexpr std::string_view name_of(EventKind kind) { return name_in(kEventKinds, kind); }
constexpr std::string_view name_of(CodecKind kind) { return name_in(kCodecs, kind); }

}  // namespace motley
