#include "runtime/run/fit_state.h"

#include <fmt/format.h>

#include <numeric>
#include <set>
#include <stdexcept>

#include "motley/sync/method.h"
#include "record/summary.h"
#include "runtime/run/mean_state.h"
#include "runtime/run/run_logic.h"
#include "runtime/run/run_position.h"
#include "sync/allocator.h"
#include "sync/loop.h"

namespace motley {
namespace {

void check_members(ProcessKind kind, const MemberChange& members, int before, int now) {
  std::set<Rank> seen;
  bool is_sound = members.before == before && members.now() == now;
  for (const std::optional<Rank>& previous : members.previous) {
    is_sound =
        is_sound &&
        (!previous || (*previous >= 0 && *previous < before && seen.insert(*previous).second));
  }
  if (!is_sound) {
    throw std::invalid_argument(fmt::format("a list of {} members cannot say how {} {}s become {}",
                                            members.now(), before, name_of(kind), now));
  }
}

std::vector<int> first_ids(int workers) {
  std::vector<int> ids(static_cast<std::size_t>(workers));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

class StateFitter {
 public:
  StateFitter(const State& state, const Job& job, std::int64_t training_samples,
              const StateChange& change)
      : state_(state),
        job_(job),
        change_(change),
        members_(change.members),
        before_(saved_shape(state_)),
        now_(shape_of(job)),
        servers_(change.servers ? *change.servers
                                : MemberChange::first_stay(before_.servers, now_.servers)) {
    check_members(ProcessKind::kWorker, members_, before_.workers, now_.workers);
    check_members(ProcessKind::kServer, servers_, before_.servers, now_.servers);
    restore(position_, state_.part("run"));
    ledger_ = ledger_options(job, training_samples, position_.term);
    // Workers keep their own models, as long as no other one would be lost.
    keeps_models_ = before_.method == now_.method;
    for (const Rank rank : members_.gone()) {
      keeps_models_ = keeps_models_ && !state_.has(path_before(rank) + ".replica");
    }
  }

  bool fits() const { return has_same_shape() && fitted_shares() == parts_of_workers(kAllocator); }

  State fit() {
    const std::vector<State> allocators = fitted_shares();
    if (has_same_shape()) {
      State next = state_;
      for (Rank rank = 0; rank < now_.workers; ++rank) {
        next.put(fmt::format("{}.{}", path_before(rank), kAllocator),
                 allocators[static_cast<std::size_t>(rank)]);
      }
      return next;
    }
    const MethodState method = fitted_method();
    State next = rest();
    next.put("run", fitted_run());
    next.put("service", method.service);
    for (Rank rank = 0; rank < now_.workers; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      State worker;
      worker.put("training.result", result_of(rank));
      worker.put(kAllocator, allocators[i]);
      worker.put("training.method", method.workers[i]);
      worker.put("replica", replica_of(rank));
      next.put(path_of_process(now_.workers, rank), std::move(worker));
    }
    for (int server = 0; server < now_.servers; ++server) {
      next.put(path_of_process(now_.workers, now_.workers + server),
               method.servers[static_cast<std::size_t>(server)]);
    }
    return next;
  }

 private:
  static constexpr std::string_view kAllocator = "training.allocator";

  bool has_same_shape() const {
    return before_ == now_ && !members_.changed() && !servers_.changed() && !change_.is_cut_off;
  }

  std::vector<State> fitted_shares() const {
    return fitted_allocators(parts_of_workers(kAllocator),
                             {.job = job_,
                              .ledger = ledger_,
                              .members = members_,
                              .keeps_allocation = before_.allocation == now_.allocation,
                              .is_cut_off = change_.is_cut_off});
  }

  // What is in a checkpoint beside the parts of a run.
  State rest() const {
    const std::set<std::string> parts = {"run", "service", "workers", "servers"};
    State rest;
    for (const auto& [name, value] : state_.values.items()) {
      if (!parts.contains(name)) {
        rest.values[name] = value;
      }
    }
    for (const auto& [name, tensor] : state_.tensors) {
      if (!parts.contains(name.substr(0, name.find('.')))) {
        rest.tensors[name] = tensor;
      }
    }
    return rest;
  }

  std::string path_before(Rank rank) const { return path_of_process(before_.workers, rank); }

  // A part of what each worker has saved.
  std::vector<State> parts_of_workers(std::string_view name) const {
    std::vector<State> parts;
    for (Rank rank = 0; rank < before_.workers; ++rank) {
      parts.push_back(state_.part(fmt::format("{}.{}", path_before(rank), name)));
    }
    return parts;
  }

  MethodState fitted_method() const {
    MethodState now;
    const Method& method = method_of(job_);
    if (before_.method == now_.method && method.fit) {
      MethodState saved{.service = state_.part("service"),
                        .workers = parts_of_workers("training.method"),
                        .servers = {}};
      for (int server = 0; server < before_.servers; ++server) {
        saved.servers.push_back(state_.part(path_before(before_.workers + server)));
      }
      const bool holds_back = now_.error_feedback && job_.strategy.codec != CodecKind::kNone;
      now = method.fit(saved, {.job = job_,
                               .members = members_,
                               .servers = servers_,
                               .keeps_residuals = before_.error_feedback && holds_back,
                               .undone = change_.undone});
    }
    now.workers.resize(static_cast<std::size_t>(now_.workers));
    now.servers.resize(static_cast<std::size_t>(now_.servers));
    return now;
  }

  // A newcomer was not there before: that counts as waiting, so that its times add up to those of
  // the run.
  State result_of(Rank rank) const {
    if (const auto path = path_of(rank)) {
      return state_.part(*path + ".training.result");
    }
    WorkerResult newcomer;
    newcomer.times.seconds = position_.seconds;
    newcomer.times.wait = position_.seconds;
    return state_of(newcomer);
  }

  // Where the state of this worker is, unless it is a newcomer.
  std::optional<std::string> path_of(Rank rank) const {
    const std::optional<Rank> previous = members_.previous[static_cast<std::size_t>(rank)];
    return previous ? std::optional(path_before(*previous)) : std::nullopt;
  }

  State replica_of(Rank rank) {
    const auto path = path_of(rank);
    if (path && keeps_models_) {
      return state_.part(*path + ".replica");
    }
    State replica = mean_replica();
    if (path) {
      const State own = state_.part(*path + ".replica");
      for (const auto& [name, tensor] : own.tensors) {
        if (tensor.type == ElementType::kUint8) {  // its random generator, for example
          replica.tensors[name] = tensor;
        }
      }
    }
    return replica;
  }

  const State& mean_replica() {
    if (!mean_) {
      std::vector<State> replicas = parts_of_workers("replica");
      std::erase_if(replicas, [](const State& replica) { return replica.empty(); });
      mean_ = mean_of(replicas);
    }
    return *mean_;
  }

  State fitted_run() const {
    State run = state_.part("run");
    State logic = run.part("logic");
    RunLogic::add_former(logic, former());
    run.put("logic", std::move(logic));
    RunPosition position = position_;
    position.ids = change_.ids.empty() ? first_ids(now_.workers) : change_.ids;
    position.bytes_sent = members_.arranged(position_.bytes_sent, std::int64_t{0});
    if (std::ssize(position_.own_updates) == before_.workers) {
      position.own_updates = members_.arranged(position_.own_updates, {});
    }
    const std::vector<std::int64_t> of_servers = bytes_of_servers();
    position.bytes_sent.insert(position.bytes_sent.end(), of_servers.begin(), of_servers.end());
    RunShape shape = now_;
    run.values.update(state_of(position).values);
    run.values.update(state_of(shape).values);
    return run;
  }

  // Servers count on for those whose places they take.
  std::vector<std::int64_t> bytes_of_servers() const {
    const auto first = position_.bytes_sent.begin() + before_.workers;
    const std::vector<std::int64_t> before(first, position_.bytes_sent.end());
    const std::vector<Rank> gone = servers_.gone();
    std::size_t next = 0;
    std::vector<std::int64_t> now;
    for (const std::optional<Rank>& previous : servers_.previous) {
      if (previous) {
        now.push_back(before[static_cast<std::size_t>(*previous)]);
      } else {
        now.push_back(next < gone.size() ? before[static_cast<std::size_t>(gone[next++])] : 0);
      }
    }
    return now;
  }

  // The totals of those who are gone.
  std::vector<WorkerSummary> former() const {
    std::vector<WorkerSummary> former;
    for (const Rank rank : members_.gone()) {
      WorkerSummary& worker = former.emplace_back();
      worker.rank = position_.ids.at(static_cast<std::size_t>(rank));
      worker.bytes_sent = position_.bytes_sent[static_cast<std::size_t>(rank)];
      if (state_.has(path_before(rank))) {
        const auto result =
            saved_value<WorkerResult>(state_.part(path_before(rank) + ".training"), "result");
        worker.samples = result.samples;
        worker.steps = result.steps;
        worker.compute_seconds = result.times.compute;
        worker.wait_seconds = result.times.wait;
        worker.communicate_seconds = result.times.communicate;
      }
    }
    return former;
  }

  const State& state_;
  const Job& job_;
  const StateChange& change_;
  const MemberChange& members_;
  const RunShape before_;
  const RunShape now_;
  const MemberChange servers_;
  RunPosition position_;
  LedgerOptions ledger_;
  bool keeps_models_ = true;
  std::optional<State> mean_;  // of all replicas, once it is asked for
};

StateChange first_stay(const State& state, const Job& job) {
  return {.members = MemberChange::first_stay(saved_shape(state).workers, job.cluster.workers)};
}

}  // namespace

State fitted(const State& state, const Job& job, std::int64_t training_samples,
             const StateChange& change) {
  return StateFitter(state, job, training_samples, change).fit();
}

State fitted(const State& state, const Job& job, std::int64_t training_samples) {
  return fitted(state, job, training_samples, first_stay(state, job));
}

bool fits(const State& state, const Job& job, std::int64_t training_samples) {
  const StateChange change = first_stay(state, job);
  return StateFitter(state, job, training_samples, change).fits();
}

}  // namespace motley
