#include "sync/refit.h"

#include <algorithm>
#include <string>

#include "motley/sync/collective.h"
#include "sync/codec_options.h"

namespace motley {
namespace {

constexpr const char* kResidual = "residual";  // as Encoder::state() names them
constexpr const char* kBefore = "before";

void add_scaled(std::vector<float>& sum, const std::vector<float>& more, float factor) {
  sum.resize(std::max(sum.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) {
    sum[i] += factor * more[i];
  }
}

}  // namespace

MemberChange MemberChange::first_stay(int before, int now) {
  MemberChange members{.before = before, .previous = {}};
  for (Rank rank = 0; rank < now; ++rank) {
    members.previous.push_back(rank < before ? std::optional(rank) : std::nullopt);
  }
  return members;
}

bool MemberChange::changed() const {
  bool is_same = before == now();
  for (Rank rank = 0; rank < now(); ++rank) {
    is_same = is_same && previous[static_cast<std::size_t>(rank)] == rank;
  }
  return !is_same;
}

std::vector<Rank> MemberChange::gone() const {
  std::vector<bool> stays(static_cast<std::size_t>(before), false);
  for (const std::optional<Rank>& rank : previous) {
    if (rank) {
      stays[static_cast<std::size_t>(*rank)] = true;
    }
  }
  std::vector<Rank> gone;
  for (Rank rank = 0; rank < before; ++rank) {
    if (!stays[static_cast<std::size_t>(rank)]) {
      gone.push_back(rank);
    }
  }
  return gone;
}

Rank MemberChange::heir() const {
  const auto first =
      std::ranges::find_if(previous, [](const auto& rank) { return rank.has_value(); });
  return first == previous.end() ? 0 : static_cast<Rank>(first - previous.begin());
}

std::vector<State> arranged_states(const std::vector<State>& workers, const MemberChange& members) {
  return members.arranged(workers, State{});
}

Residuals fitted_residuals(const Residuals& before, const MemberChange& members, float scale) {
  Residuals now = members.arranged(before, {});
  const auto stays =
      std::ranges::count_if(members.previous, [](const auto& r) { return r.has_value(); });
  const float part = 1.0F / static_cast<float>(stays > 0 ? stays : members.now());
  for (const Rank rank : members.gone()) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (members.previous[i] || stays == 0) {
        add_scaled(now[i], before[static_cast<std::size_t>(rank)], part);
      }
    }
  }
  for (std::vector<float>& residual : now) {
    for (float& value : residual) {
      value *= scale;
    }
  }
  return now;
}

Residuals joined_residuals(const std::vector<State>& workers, const Refit& refit) {
  Residuals residuals(workers.size());
  for (std::size_t rank = 0; refit.keeps_residuals && rank < workers.size(); ++rank) {
    residuals[rank] = joined_residual(workers[rank], refit.is_undone(static_cast<Rank>(rank)));
  }
  return residuals;
}

std::vector<float> joined_residual(const State& encoders, bool is_undone) {
  std::vector<float> whole;
  for (int i = 0; encoders.has(std::to_string(i)); ++i) {
    const State encoder = encoders.part(std::to_string(i));
    const bool takes_before = is_undone && encoder.tensors.contains(kBefore);
    const char* name = takes_before ? kBefore : kResidual;
    if (encoder.tensors.contains(name)) {
      std::vector<float> part;
      Archive archive = Archive::restoring(encoder);
      archive.tensor(name, part);
      if (is_undone && part.empty()) {
        return {};  // cut off in its first step: it had held back nothing before
      }
      whole.insert(whole.end(), part.begin(), part.end());
    }
  }
  return whole;
}

State cut_residual(const std::vector<float>& whole, int parts, const Job& job) {
  std::vector<float> rest = whole;
  const Block all{rest.data(), rest.size()};
  State encoders;
  for (int i = 0; i < parts; ++i) {
    State encoder;
    Archive archive = Archive::saving(encoder);
    if (codec_options_of(job).error_feedback) {
      archive.tensor(kResidual, chunk_of(all, i, parts).floats());
    }
    encoders.put(std::to_string(i), std::move(encoder));
  }
  return encoders;
}

}  // namespace motley
