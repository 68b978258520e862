#include "sync/ashl/ashl.h"

#include "motley/sync/parameter_server/server.h"
#include "motley/sync/parameter_server/staleness_bound.h"

namespace motley {
namespace {

constexpr Range kAbove0{.min = 0, .above_min = true};

std::vector<Key<Job>> ashl_keys() {
  return {
      {"strategy.ashl.h_preset_ahl", option<&AshlOptions::h_preset_ahl>, Range{1, 1e6},
       "iterations of the slowest worker between two commits, in the coarse stage"},
      {"strategy.ashl.h_preset_shl", option<&AshlOptions::h_preset_shl>, Range{1, 1e6},
       "iterations of the slowest worker between two commits, in the fine stage"},
      {"strategy.ashl.r_preset", option<&AshlOptions::r_preset>, Range{0, 1, true},
       "fraction of the entries that the busiest worker pushes (codec `topk`)"},
      {"strategy.ashl.loss_preset", option<&AshlOptions::loss_preset>, kAbove0,
       "training loss at which the fine stage begins; a quarter of the first loss if not given"},
      {"strategy.ashl.staleness", option<&AshlOptions::staleness>, Range{0, 1000},
       "commits that a worker may be ahead of the slowest in the fine stage"},
      {"strategy.ashl.eta", option<&AshlOptions::eta>, Range{0, 1000, true},
       "factor on the weight of every commit"},
      {"strategy.ashl.error_feedback", option<&AshlOptions::error_feedback>, YesOrNo{},
       "what was not pushed is added to the next push"},
      {"strategy.ashl.drift", option<&AshlOptions::drift>, Range{0, 1000, true},
       "relative deviation from the planned time of a round that causes a new plan"},
      {"strategy.ashl.joint", option<&AshlOptions::joint>, YesOrNo{},
       "plan rounds with compressed pushes; the paper plans with uncompressed ones"},
  };
}

// Initial settings; the plan sets each worker's ratio later.
CodecSettings codec_of_ashl(const Job& job) {
  return {.ratio = job.strategy.topk.ratio,
          .error_feedback = job.strategy.of<AshlOptions>().error_feedback};
}

Figures run_server_of_ashl(const ServerContext& context) {
  const std::int64_t bound = context.job.strategy.of<AshlOptions>().staleness;
  return run_parameter_server(context, {.gate = staleness_bound(context.job, bound)});
}

}  // namespace

const Method kAshl = {
    .schema = {.name = "ashl",
               .summary = "measures compute and links, then trains in a coarse and a fine stage "
                          "with compressed pushes (Shen et al.)",
               .keys = ashl_keys(),
               .exchanges = ExchangeKind::kChanges,
               .has_servers = true,
               .own_shares = true,
               .default_codec = CodecKind::kTopk,
               .codec_settings = codec_of_ashl},
    .advance = Advance::kAtOwnPace,
    .make = make_ashl,
    .serve = serve_ashl,
    .run_server = run_server_of_ashl,
    .fit = fit_ashl,
};

}  // namespace motley
