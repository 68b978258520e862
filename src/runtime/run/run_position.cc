#include "runtime/run/run_position.h"

#include <fmt/format.h>

#include "job/choices.h"
#include "motley/sync/method.h"
#include "runtime/run/membership.h"
#include "sync/codec_options.h"

namespace motley {
namespace {

// Saves the job's shape; when restoring, it must be the same.
void expect_shape(Archive& archive, const Job& job) {
  RunShape shape = shape_of(job);
  shape.state(archive);
  if (shape != shape_of(job)) {
    throw StateError(fmt::format(
        "the state is of a run of {} with {} workers, {} servers, codec {} and allocation {}",
        shape.method, shape.workers, shape.servers, shape.codec, shape.allocation));
  }
}

// Also bounds the number of workers that a damaged state can claim.
void expect_bytes_of(const RunShape& shape, const RunPosition& position) {
  const std::size_t processes = position.bytes_sent.size();
  const auto at_most = static_cast<std::int64_t>(processes);
  if (shape.workers < 1 || shape.servers < 0 || shape.workers > at_most ||
      static_cast<std::size_t>(shape.workers) + static_cast<std::size_t>(shape.servers) !=
          processes) {
    throw StateError(fmt::format("bytes_sent is of {} processes, not of {} workers and {} servers",
                                 processes, shape.workers, shape.servers));
  }
}

struct RunPart {
  const Job& job;
  RunPosition& position;
  RunLogic& logic;

  void state(Archive& archive) {
    expect_shape(archive, job);
    position.state(archive);
    archive("logic", logic);
  }
};

}  // namespace

void RunShape::state(Archive& archive) {
  archive("method", method);
  archive("workers", workers);
  archive("servers", servers);
  archive("codec", codec);
  archive("error_feedback", error_feedback);
  archive("allocation", allocation);
}

RunPosition first_position(const Job& job) {
  const Membership members(job.cluster.workers);
  const Membership servers(servers_of(job), ProcessKind::kServer);
  RunPosition position;
  position.term.end = end_of_term(job, 0);
  position.ids = members.ids();
  position.members = members.history();
  position.members.insert(position.members.end(), servers.history().begin(),
                          servers.history().end());
  position.bytes_sent.resize(static_cast<std::size_t>(job.cluster.workers + servers_of(job)));
  return position;
}

void RunPosition::end_term(const Job& job, std::int64_t training_samples, std::int64_t used) {
  term = {.number = term.number + 1,
          .begin = used,
          .end = end_of_term(job, used),
          .owed = owed_after(ledger_options(job, training_samples, term), used)};
  own_updates.clear();
  only_served = 0;
}

void RunPosition::state(Archive& archive) {
  std::vector<std::int64_t> owed;
  for (const SampleRange& range : term.owed) {
    owed.insert(owed.end(), {range.begin, range.count});
  }
  archive("term", term.number);
  archive("samples", term.begin);
  archive("owed", owed);
  archive("ids", ids);
  archive("seconds", seconds);
  archive("bytes_sent", bytes_sent);
  archive("events", events);
  archive("members", members);
  archive("losses", losses);
  archive("own_updates", own_updates);
  archive("only_served", only_served);
  term.owed.clear();
  for (std::size_t i = 0; i + 1 < owed.size(); i += 2) {
    term.owed.push_back({owed[i], owed[i + 1]});
  }
}

RunShape shape_of(const Job& job) {
  return {.method = job.strategy.sync,
          .workers = job.cluster.workers,
          .servers = servers_of(job),
          .codec = std::string(name_of(job.strategy.codec)),
          .error_feedback = codec_options_of(job).error_feedback,
          .allocation = job.strategy.allocation};
}

std::string path_of_process(int workers, Rank rank) {
  return rank < workers ? fmt::format("workers.{}", rank)
                        : fmt::format("servers.{}", rank - workers);
}

RunShape saved_shape(const State& run) {
  const State part = run.part("run");
  RunShape shape;
  RunPosition position;
  restore(shape, part);
  restore(position, part);
  expect_bytes_of(shape, position);
  return shape;
}

std::int64_t end_of_term(const Job& job, std::int64_t begin) {
  if (job.train.checkpoint_every <= 0) {
    return Term{}.end;
  }
  const std::int64_t every = job.train.checkpoint_every * job.train.batch;
  return (begin / every + 1) * every;
}

State state_of_process(const State& run, const Job& job, Rank rank) {
  return run.part(path_of_process(job.cluster.workers, rank));
}

void put_state_of_process(State& run, const Job& job, Rank rank, State state) {
  run.put(path_of_process(job.cluster.workers, rank), std::move(state));
}

State save_position(const Job& job, RunPosition position, RunLogic& logic) {
  RunPart part{job, position, logic};
  return state_of(part);
}

void throw_if_complete(const RunPosition& position, const RunLogic& logic) {
  if (logic.is_over_after(position.term.begin)) {
    throw StateError(
        fmt::format("the run is complete after {} samples: raise train.epochs or "
                    "train.steps to go on",
                    position.term.begin));
  }
}

void restore_position(const State& run, const Job& job, RunPosition& position, RunLogic& logic) {
  RunPart part{job, position, logic};
  restore(part, run.part("run"));
  expect_bytes_of(shape_of(job), position);
  position.term.end = end_of_term(job, position.term.begin);
}

}  // namespace motley
