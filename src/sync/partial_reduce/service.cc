#include <fmt/format.h>

#include <stdexcept>

#include "motley/sync/dealer.h"
#include "sync/partial_reduce/controller.h"
#include "sync/partial_reduce/messages.h"
#include "sync/partial_reduce/partial_reduce.h"
#include "sync/partial_reduce/window_policy.h"
#include "sync/refit.h"

namespace motley {
namespace {

GroupRules rules_of(const Job& job) {
  const PartialReduceOptions& options = job.strategy.of<PartialReduceOptions>();
  GroupRules rules;
  rules.workers = job.cluster.workers;
  rules.group = options.group;
  rules.window = options.window_among(rules.workers);
  rules.filter = options.filter;
  rules.alpha = options.alpha;
  if (options.weights == GroupWeights::kDynamic) {
    rules.weighting =
        options.dynamic_rule == DynamicRule::kEma ? Weighting::kEma : Weighting::kDecay;
  }
  return rules;
}

std::unique_ptr<GroupPolicy> policy_of(const Job& job) {
  const PartialReduceOptions& options = job.strategy.of<PartialReduceOptions>();
  const auto group = static_cast<std::size_t>(options.group);
  if (options.policy == GroupTiming::kWindow) {
    return std::make_unique<WindowPolicy>(static_cast<std::size_t>(job.cluster.workers), group);
  }
  return std::make_unique<CountPolicy>(group);
}

// Receives and sends the messages of the Controller and the Dealer.
class Service {
 public:
  explicit Service(const ServiceContext& context)
      : context_(context),
        controller_(rules_of(context.job), policy_of(context.job)),
        dealer_(context) {}

  void state(Archive& archive) {
    archive("controller", controller_);
    archive("dealer", dealer_);
    archive("seconds", seconds_);
  }

  ServiceResult run() {
    while (!over_) {
      const auto message =
          context_.node.receive_until({kGroupChannel}, controller_.patience_until());
      const Seconds began = context_.node.now();
      if (message) {
        on_ready(message->from, ReadySignal::of(message->header), began);
      }
      while (const auto group = controller_.next_group(began)) {
        release(*group);
      }
      seconds_ += context_.node.now() - began;
    }
    return result();
  }

 private:
  // A worker is dealt its next samples when it becomes ready, not when its group leaves. So every
  // member of a group has samples left to compute.
  void on_ready(Rank worker, const ReadySignal& signal, Seconds now) {
    const bool is_sound = worker >= 0 && worker < context_.node.size() &&
                          !controller_.is_waiting(worker) && signal.samples >= 0 &&
                          signal.want >= kNoMore;
    if (!is_sound) {
      throw std::runtime_error(fmt::format("worker {} sent an invalid ready signal", worker));
    }
    if (context_.dealings) {
      context_.dealings->computed_all(worker);
      context_.dealings->set_unshared(worker, 1);  // its group has not averaged yet
    }
    if (dealer_.deal(worker, signal.samples, signal.want) > 0) {
      controller_.ready(worker, signal.iteration, now);
    } else {
      controller_.finished(worker, signal.iteration, now);
    }
  }

  void release(const Group& group) {
    over_ = group.last;
    record(group);
    GroupNews news;
    if (!group.last) {
      news.members = group.members;
    }
    const std::vector<float> weights = float_weights(group.weights);
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      news.weight = weights[i];
      news.iteration = group.iterations[i];
      news.grant = dealer_.grant(group.members[i]);
      context_.node.send(group.members[i], kGroupChannel, {}, news.payload());
    }
  }

  void record(const Group& group) {
    context_.journal.add(
        {context_.node.now(), "group",
         group.last ? "all workers" : fmt::format("workers {}", fmt::join(group.members, " ")),
         std::string(group.reason)});
    context_.journal.set_behind("iterations behind the newest member, when a group averaged",
                                controller_.statistics().staleness_counts,
                                controller_.statistics().largest_staleness);
  }

  ServiceResult result() const {
    const GroupStatistics& groups = controller_.statistics();
    const auto per = [](std::int64_t sum, std::int64_t count) {
      return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0.0;
    };
    ServiceResult result;
    result.max_iteration_gap = groups.largest_gap;
    result.figures = {
        {"groups", groups.groups},
        {"mean_group_size", per(groups.members, groups.groups)},
        {"mean_staleness", per(groups.staleness, groups.members)},
        {"largest_staleness", groups.largest_staleness},
        {"bridging_groups", groups.bridges},
        {"longest_window", figure_of(groups.longest_window)},
        {"controller_seconds", seconds_},
    };
    return result;
  }

  const ServiceContext context_;
  Controller controller_;
  Dealer dealer_;
  Seconds seconds_ = 0;  // spent on handling signals, without waiting for them
  bool over_ = false;
};

}  // namespace

// A newcomer begins with the newest iteration: it has the mean of all models.
MethodState fit_partial_reduce(const MethodState& before, const Refit& refit) {
  MethodState now{.service = before.service,
                  .workers = arranged_states(before.workers, refit.members),
                  .servers = {}};
  if (before.service.empty()) {
    return {.service = {}, .workers = std::vector<State>(now.workers.size()), .servers = {}};
  }
  State controller = before.service.part("controller");
  const std::int64_t newest = Controller::fit(controller, refit.members);
  now.service.put("controller", std::move(controller));
  for (State& worker : now.workers) {
    if (worker.empty()) {
      save_value(worker, "iteration", newest + 1);  // the next one to do
    }
  }
  return now;
}

ServiceResult serve_partial_reduce(const ServiceContext& context) {
  Service service(context);
  KeptState::restore(context.kept, service);
  ServiceResult result;
  KeptState::save_after(context.kept, service, [&] { result = service.run(); });
  return result;
}

}  // namespace motley
