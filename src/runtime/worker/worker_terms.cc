// What a worker does between two terms, as the coordinator asks.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/reach.h"
#include "runtime/run/member_job.h"
#include "runtime/worker/broadcast_state.h"
#include "runtime/worker/worker.h"
#include "sync/broadcast.h"

namespace motley {
namespace {

constexpr const char* kTrainingPart = "training";
constexpr const char* kReplicaPart = "replica";

std::vector<Rank> processes_of(const TermProcesses& members) {
  std::vector<Rank> processes;
  for (const auto* list : {&members.workers, &members.servers}) {
    std::ranges::transform(*list, std::back_inserter(processes), &MemberInfo::process);
  }
  return processes;
}

std::vector<int> ids_of(const std::vector<MemberInfo>& members) {
  std::vector<int> ids;
  std::ranges::transform(members, std::back_inserter(ids), &MemberInfo::id);
  return ids;
}

// A model takes what only the replica itself understands, such as a random generator, from `own`.
void keep_random(State& model, const State& own) {
  for (const auto& [name, tensor] : own.tensors) {
    if (tensor.type == ElementType::kUint8) {
      model.tensors[name] = tensor;
    }
  }
}

}  // namespace

// Obeys the coordinator until a term begins. Returns false if the run is over for this process.
bool Worker::await_term() {
  bool has_begun = false;
  while (!has_begun && !is_over_) {
    try {
      has_begun = obey(node_.receive({Channel::kControl, kCoordinator}));
    } catch (const Interrupted&) {
      rethrow_unless_cut_off();  // the coordinator will say what follows
    }
  }
  return has_begun;
}

// Returns whether a term has begun.
bool Worker::obey(const Message& message) {
  const auto sound = [](auto info) {
    return info ? std::move(*info)
                : throw std::runtime_error("a message of the coordinator is damaged");
  };
  switch (kind_of(message)) {
    case Control::kNextTerm:
      return take(sound(decode<NextTermInfo>(message.payload)));
    case Control::kState:
      take_state(message);
      return false;
    case Control::kBegin:
      return begin(sound(message.payload.record<BeginInfo>()));
    case Control::kCutOff:
      settle(sound(decode<CutOffInfo>(message.payload)));
      return false;
    case Control::kCollect:
      answer(sound(message.payload.record<CollectInfo>()));
      return false;
    case Control::kReach:
      try_to_reach(sound(decode<ReachInfo>(message.payload)));
      return false;
    case Control::kLeave:
      is_over_ = true;
      return false;
    default:
      throw std::runtime_error(
          fmt::format("unexpected message {} from the coordinator", message.header.tag));
  }
}

bool Worker::take(NextTermInfo next) {
  const bool keeps = next.begins_at_once || next.save != 0;
  if (keeps && training_) {
    kept_ = state_of(*training_);
  }
  if (next.save != 0) {
    State state = is_server_ ? server_.state() : State();
    if (!is_server_) {
      state.put(kTrainingPart, kept_);
      state.put(kReplicaPart, state_of(*replica_));
    }
    send_state(next.save, std::move(state));
  }
  if (next.is_over) {
    run_is_over_ = true;
    term_ = next.term;
    {
      std::lock_guard lock(telling_);
      term_number_ = term_.number;
    }
    end_run();
    return false;
  }
  training_.reset();  // what it holds belongs to the term that is over
  if (!next.begins_at_once) {
    prepare(std::move(next));
    return false;
  }
  term_ = next.term;
  begin_node_term();
  begin_training();
  return true;
}

void Worker::prepare(NextTermInfo next) {
  run_is_over_ = false;  // if it seemed to be, somebody was lost before all had agreed
  term_ = next.term;
  meet(next);
  next_ = std::move(next);
  begin_node_term();
  if (next_->has_state) {
    incoming_.emplace();
  } else {
    tell_prepared();
  }
}

Endpoint Worker::endpoint_of(const MemberInfo& member) const {
  Endpoint endpoint = member.endpoint;
  if (endpoint.host == kAnyAddress) {
    endpoint.host = coordinator_host_;
  }
  return endpoint;
}

void Worker::try_to_reach(const ReachInfo& request) {
  std::vector<Endpoint> endpoints;
  for (const MemberInfo& other : request.others) {
    endpoints.push_back(endpoint_of(other));
  }
  const std::vector<bool> reached = reachable(endpoints, request.patience);
  ReachedInfo info{.number = request.number, .unreached = {}};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]) {
      info.unreached.push_back(request.others[i].process);
    }
  }
  tell(Control::kReached, encode(info));
}

void Worker::meet(const NextTermInfo& next) {
  for (const Rank process : next.gone) {
    fabric_.drop_peer(process);
  }
  for (const auto* list : {&next.members.workers, &next.members.servers}) {
    for (const MemberInfo& member : *list) {
      fabric_.set_peer(member.process, endpoint_of(member));
    }
  }
  for (const Rank process : next.reconnect) {
    fabric_.reconnect(process, static_cast<std::uint16_t>(next.term.number));
  }
  job_ = std::make_unique<const Job>(
      job_of_members(*run_job_, ids_of(next.members.workers), ids_of(next.members.servers)));
  std::lock_guard lock(telling_);
  evaluated_.clear();  // newcomers have not heard of them
  for (const Rank process : next.reconnect) {
    lost_peers_.erase(process);
  }
  members_ = processes_of(next.members);
}

// If the connection to a member was lost before, the term cannot go on either.
void Worker::begin_node_term() {
  last_.samples = term_.begin;
  std::lock_guard lock(telling_);
  term_number_ = term_.number;
  node_.begin_term(static_cast<std::uint16_t>(term_.number),
                   {.processes = members_, .workers = job_->cluster.workers});
  for (const auto& [process, why] : lost_peers_) {
    if (std::ranges::count(members_, process) > 0) {
      tell_lost(process, why);
      node_.end_term(why);
    }
  }
}

void Worker::take_state(const Message& chunk) {
  tell(Control::kStateReceived);
  if (!incoming_ || chunk.header.a != term_.number) {
    return;  // of a term that was cut off
  }
  if (!incoming_->add(chunk.payload.bytes())) {
    throw std::runtime_error("the state that the coordinator sent is damaged");
  }
  if (incoming_->complete()) {
    State state = incoming_->take();
    incoming_.reset();
    install(std::move(state));
    tell_prepared();
  }
}

void Worker::install(State state) {
  if (is_server_) {
    server_.state() = std::move(state);
    return;
  }
  kept_ = state.part(kTrainingPart);
  if (state.has(kReplicaPart)) {
    State model = state.part(kReplicaPart);
    if (next_->keeps_random) {
      keep_random(model, state_of(*replica_));
    }
    restore(*replica_, model);
  }
}

void Worker::tell_prepared() {
  if (next_->is_first && !is_server_ && beginning_ == Beginning::kOfRankZero) {
    take_from_rank_zero();
  }
  tell(Control::kPrepared, Payload::of_record(TermNumber{term_.number}));
}

void Worker::take_from_rank_zero() {
  broadcast_model(node_, *replica_);
  broadcast_state(node_, *replica_);
}

// Returns whether the term begins.
bool Worker::begin(const BeginInfo& info) {
  if (!next_ || info.term != term_.number) {
    return false;
  }
  next_.reset();
  if (!std::exchange(has_clock_, true)) {
    node_.restart_clock(
        Driver::Clock::time_point(std::chrono::nanoseconds(info.began_ns - clock_offset_)));
  }
  begin_training();
  return true;
}

void Worker::begin_training() {
  training_now_ = true;
  if (is_server_) {
    return;
  }
  const Part part{*job_,
                  training_samples_,
                  *replica_,
                  *this,
                  [this] { return stop_requested_ || cut_term_ == term_.number; },
                  nullptr,
                  &journal_,
                  term_,
                  kept_.empty() ? nullptr : &kept_};
  training_ = std::make_unique<Training>(node_, part);
  so_far_ = training_->so_far();
  in_term_ = true;
}

// The term is over for this process, in order.
void Worker::tell_end_of_term() {
  tell_progress();  // first what led to this end
  tell(Control::kTermEnd,
       Payload::of_record(TermEndInfo{term_.number, last_.samples, fabric_.bytes_sent()}));
}

// The term was cut off, wherever this process was in it.
void Worker::settle(const CutOffInfo& cut) {
  if (cut.term != term_.number) {
    return;  // it was over here
  }
  node_.run([](Node&) {});  // waits for activities that the method spawned
  SettledInfo info{.term = term_.number, .survivor = {}, .bytes_sent = 0, .goes_on = true};
  info.survivor.settled.used = term_.begin;
  if (training_) {
    const auto survivor = training_->settle();
    info.goes_on = survivor.has_value();
    info.survivor = survivor.value_or(Survivor{});
    kept_ = state_of(*training_);
    note_end(training_->so_far());
    training_.reset();
  }
  incoming_.reset();
  next_.reset();
  if (training_now_) {
    tell_progress();
  }
  info.bytes_sent = fabric_.bytes_sent();
  tell(Control::kSettled, encode(info));
}

void Worker::answer(const CollectInfo& request) {
  if (training_) {  // the term has ended in order
    kept_ = state_of(*training_);
    training_.reset();
  }
  State state = is_server_ ? server_.state() : State();
  if (!is_server_ && request.model != 0) {
    state.put(kReplicaPart, state_of(*replica_));
  } else if (!is_server_) {
    state.put(kTrainingPart, kept_);
  }
  send_state(request.number, std::move(state));
}

void Worker::send_state(std::int64_t number, State state) {
  state_sender_.send(kCoordinator, number, std::make_shared<const State>(std::move(state)));
}

// The run is over: the workers agree on the final model.
void Worker::end_run() {
  DoneInfo done;
  if (is_server_) {
    done.figures = figures_;
  } else {
    training_->end_run();
    node_.run([](Node&) {});
    done.result = training_->result();
    note_end(done.result);
    tell_progress();
    if (beginning_ == Beginning::kOfRankZero) {
      take_from_rank_zero();
    }
    done.cluster_samples = last_.samples;
    done.paced_steps = node_.pace().steps;
    done.missed_steps = node_.pace().missed;
    if (node_.rank() == 0) {
      send_snapshot({done.result.times.seconds, last_.samples, true, {}, {}});
    } else {
      done.result.allocation.history.clear();  // rank 0's is enough
    }
  }
  done.bytes_sent = fabric_.bytes_sent();
  tell(Control::kDone, encode(done));
}

}  // namespace motley
