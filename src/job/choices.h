// The names a job can choose from. A method that arrives adds its line here and its keys to
// keys.cc.
#pragma once

#include <span>
#include <string_view>

namespace motley {

struct Choice {
  std::string_view name;
  std::string_view summary = {};  // one line for `motley strategies`
};

inline constexpr Choice kModelKinds[] = {
    {"svm"}, {"mlp"}, {"cnn"}, {"resnet20"}, {"torchscript"}, {"phantom"}, {"program"},
};
inline constexpr Choice kDataKinds[] = {
    {"idx"}, {"cifar10"}, {"libsvm"}, {"synthetic"}, {"program"},
};
inline constexpr Choice kOptimizers[] = {{"sgd"}, {"adam"}};
inline constexpr Choice kIsolations[] = {{"none"}, {"cgroup"}};
inline constexpr Choice kSlowdownKinds[] = {{"random"}};

inline constexpr Choice kSyncMethods[] = {
    {"all_reduce", "every step sums over all workers and goes at the pace of the slowest"},
    {"partial_reduce",
     "small groups of whoever is ready average their models, not all at the pace of the slowest "
     "(Miao et al.)"},
    {"hop",
     "workers average with their neighbours on a graph, and queues bound how far they drift apart "
     "(Luo et al.)"},
    {"ad_psgd", "while a worker computes, it averages with a random other one (Lian et al.)"},
    {"ps_bsp", "every step sums over all workers by way of parameter servers"},
    {"ps_asp", "workers commit to parameter servers after each iteration and wait for nobody"},
    {"ps_ssp",
     "as ps_asp, but nobody gets more than strategy.ps.staleness commits ahead of the slowest"},
    {"adsp", "workers commit on a timer, all equally often whatever their speed (Hu et al.)"},
    {"ashl",
     "measures compute and links, then trains in a coarse and a fine stage with compressed pushes "
     "(Shen et al.)"},
    {"local_sgd", "some steps each on its own model, then a weighted average of all"},
};
// These, and what a program has registered (motley/sync/registry.h). The texts of a choice that is
// added live as long as the program; add before a job is read.
std::span<const Choice> sync_methods();
void add_sync_method(const Choice& choice);

inline constexpr Choice kAllocations[] = {
    {"equal", "every worker computes as many samples as the others"},
    {"static", "in the proportion that strategy.shares gives"},
    {"adaptive", "every window of steps, so that all workers take equally long (Chao et al.)"},
    {"dynamic", "every epoch, in proportion to the speeds of the last one (Vineeth)"},
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
    {"none", "numbers travel as 32-bit floats"},
    {"fp16", "16 bits, 11 of them digits"},
    {"bf16", "16 bits, 8 of them digits, the range of 32-bit floats"},
    {"int8", "8 bits and a scale for each 256 numbers, rounded at random without bias"},
    {"topk", "only the largest entries, each with its place"},
};

}  // namespace motley
