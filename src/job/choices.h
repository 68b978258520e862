// The names that keys of a job can choose from. Those of methods are with the methods.
#pragma once

#include "motley/job/key.h"

namespace motley {

inline constexpr Choice kModelKinds[] = {
    {"svm"}, {"mlp"}, {"cnn"}, {"resnet20"}, {"torchscript"}, {"phantom"}, {"program"},
};
inline constexpr Choice kDataKinds[] = {
    {"idx"}, {"cifar10"}, {"libsvm"}, {"synthetic"}, {"program"},
};
inline constexpr Choice kOptimizers[] = {{"sgd"}, {"adam"}};
inline constexpr Choice kIsolations[] = {{"none"}, {"cgroup"}};
inline constexpr Choice kSlowdownKinds[] = {{"random"}};

inline constexpr Choice kAllocations[] = {
    {"equal", "every worker computes as many samples as the others"},
    {"static", "in the proportion that strategy.shares gives"},
    {"adaptive", "every window of steps, so that all workers take equally long (Chao et al.)"},
    {"dynamic", "every epoch, in proportion to the speeds of the last one (Vineeth)"},
};
inline constexpr Choice kCodecs[] = {
    {"none", "numbers travel as 32-bit floats"},
    {"fp16", "16 bits, 11 of them digits"},
    {"bf16", "16 bits, 8 of them digits, the range of 32-bit floats"},
    {"int8", "8 bits and a scale for each 256 numbers, rounded at random without bias"},
    {"topk", "only the largest entries, each with its place"},
};

}  // namespace motley
