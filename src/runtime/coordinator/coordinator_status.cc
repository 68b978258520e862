#include <fmt/format.h>

#include <algorithm>

#include "runtime/coordinator/coordinator_impl.h"

namespace motley {
namespace {

constexpr Seconds kStatusInterval = 0.5;
constexpr const char* kNotElastic = "the run is not elastic (cluster.elastic = false)";
constexpr const char* kHosts = "the run's coordinator is in its process";

}  // namespace

// What people ask at the rendezvous (`motley status`, `motley drain`).
void Coordinator::Impl::answer_requests() {
  if (began_ns_ == 0 || node_.now() - answered_ < kStatusInterval) {
    return;
  }
  answered_ = node_.now();
  members_.rendezvous().set_status(status());
  for (const int worker : members_.rendezvous().take_drain_requests()) {
    if (const auto process = roster_.member_of(worker)) {
      decide(fmt::format("{} is asked to leave", members_.describe(*process)), "motley drain");
      roster_[*process].wants_to_leave = true;
    }
  }
}

RunStatus Coordinator::Impl::status() const {
  RunStatus status{.name = run_job_.name,
                   .method = run_job_.strategy.sync,
                   .seconds = node_.now(),
                   .samples = logic_.samples(),
                   .limit = logic_.limit(),
                   .term = static_cast<int>(position_.term.number)};
  for (const MemberRecord& record : history()) {
    const bool is_worker = record.process.kind == ProcessKind::kWorker;
    (is_worker ? status.members : status.servers).push_back(status_of(record));
  }
  return status;
}

MemberStatus Coordinator::Impl::status_of(const MemberRecord& record) const {
  MemberStatus member{.id = record.process.id};
  if (record.left) {
    member.left = record.left;
    member.why = record.why;
    return member;
  }
  const auto process = roster_.taking_part(record.process);
  if (!process) {
    return member;
  }
  const ProcessState& state = roster_[*process];
  member.host = members_.host_of(*process);
  member.pid = members_.pid_of(*process);
  member.doing = state.wants_to_leave ? "is about to leave" : doing(state.activity);
  const bool is_host = *process == gathering_.host.rank;
  member.cannot_leave = !run_job_.cluster.elastic ? kNotElastic : is_host ? kHosts : "";
  return member;
}

std::string Coordinator::Impl::doing(const Activity& activity) const {
  switch (activity.doing) {
    case Doing::kCompute:
      return "computes";
    case Doing::kCommunicate:
      return "exchanges";
    default:
      break;
  }
  const auto& workers = term_members_.workers;
  const bool is_known = activity.waits_for >= 0 && activity.waits_for < std::ssize(workers);
  return is_known
             ? fmt::format("waits for {}", workers[static_cast<std::size_t>(activity.waits_for)])
             : "waits";
}

std::optional<Rank> Coordinator::Impl::rank_of(Rank process) const {
  const auto& members = roster_.members();
  const auto found = std::ranges::find(members, process);
  return found == members.end() ? std::nullopt
                                : std::optional(static_cast<Rank>(found - members.begin()));
}

void Coordinator::Impl::begin_stall_watch() {
  stall_.emplace(job_.cluster.workers, servers_of(job_));
  stall_->begin_term(node_.now());
}

void Coordinator::Impl::note_waits(Rank process, const WaitInfo& info) {
  if (const auto rank = rank_of(process); rank && stall_) {
    stall_->on_waits(*rank, info, node_.now());
  }
}

void Coordinator::Impl::note_progress(const ProcessState& before, Rank process,
                                      const WorkerFigures& figures) {
  const auto rank = rank_of(process);
  if (rank && stall_) {
    stall_->on_heard(*rank, node_.now());
    if (figures.steps != before.figures.steps) {
      stall_->on_progress(*rank, node_.now());
    }
  }
}

// Says who waits for whom if nothing has moved for long, or two workers wait for each other.
void Coordinator::Impl::look_at_stall() {
  if (!service_ || !stall_ || failures_.expects_exits()) {
    return;
  }
  Seconds step = 0;
  for (const Rank process : workers_of_term()) {
    if (roster_.contains(process)) {
      const WorkerFigures& figures = roster_[process].figures;
      const Seconds spent = figures.compute + figures.communicate + figures.wait;
      step = std::max(step, figures.steps > 0 ? spent / static_cast<double>(figures.steps) : 0);
    }
  }
  const auto name = [this](Rank rank) {
    return roster_.name(roster_.members()[static_cast<std::size_t>(rank)]);
  };
  if (const auto stall = stall_->news({run_job_.cluster.heartbeat, step}, name, node_.now())) {
    service_journal_.add({node_.now(), "members", stall->text, ""});
    monitor_.on_warning(stall->text);
  }
}

}  // namespace motley
