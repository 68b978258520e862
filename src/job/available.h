// The names a job can choose from, and which of them this version has. A method that arrives turns
// its `false` here, adds its keys to keys.cc and leaves kReservedKeys.
#pragma once

#include <string_view>

namespace motley {

struct Choice {
  std::string_view name;
  bool available = true;
  std::string_view summary = {};  // one line for `motley strategies`
};

inline constexpr Choice kModelKinds[] = {
    {"svm"}, {"mlp"}, {"cnn"}, {"resnet20"}, {"torchscript"}, {"phantom"},
};
inline constexpr Choice kDataKinds[] = {{"idx"}, {"cifar10"}, {"libsvm"}, {"synthetic"}};
inline constexpr Choice kOptimizers[] = {{"sgd"}, {"adam"}};
inline constexpr Choice kIsolations[] = {{"none"}, {"cgroup"}};
inline constexpr Choice kSlowdownKinds[] = {{"random"}};

inline constexpr Choice kSyncMethods[] = {
    {"all_reduce", true, "every step sums over all workers and goes at the pace of the slowest"},
    {"partial_reduce", true,
     "small groups of whoever is ready average their models, not all at the pace of the slowest "
     "(Miao et al.)"},
    {"hop", true,
     "workers average with their neighbours on a graph, and queues bound how far they drift apart "
     "(Luo et al.)"},
    {"ad_psgd", true, "while a worker computes, it averages with a random other one (Lian et al.)"},
    {"ps_bsp", false},
    {"ps_asp", false},
    {"ps_ssp", false},
    {"adsp", false},
    {"ashl", false},
    {"local_sgd", false},
};
inline constexpr Choice kAllocations[] = {
    {"equal", true, "every worker computes as many samples as the others"},
    {"static", true, "in the proportion that strategy.shares gives"},
    {"adaptive", true,
     "every window of steps, so that all workers take equally long (Chao et al.)"},
    {"dynamic", true, "every epoch, in proportion to the speeds of the last one (Vineeth)"},
};
inline constexpr Choice kGroupWeights[] = {{"constant"}, {"dynamic"}};
inline constexpr Choice kDynamicRules[] = {{"decay"}, {"ema"}};
inline constexpr Choice kGraphs[] = {
    {"ring"}, {"ring_based"}, {"double_ring"}, {"complete"}, {"edges"},
};
inline constexpr Choice kGossipGraphs[] = {{"ring"}, {"complete"}};
inline constexpr Choice kHopModes[] = {
    {"standard"},
    {"backup"},
    {"staleness"},
    {"notify_ack"},
};
inline constexpr Choice kCodecs[] = {
    {"none", true, "numbers travel as 32-bit floats"},
    {"fp16", false},
    {"bf16", false},
    {"int8", false},
    {"topk", false},
};

// Keys and tables of the methods that are not available: refused by name, not as misspelt.
inline constexpr std::string_view kReservedKeys[] = {
    "strategy.ps", "strategy.adsp", "strategy.ashl", "strategy.local_sgd", "strategy.topk",
};

}  // namespace motley
