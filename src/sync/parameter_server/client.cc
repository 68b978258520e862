#include "motley/sync/parameter_server/client.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "codec/codec.h"
#include "codec/traffic.h"
#include "motley/sync/collective.h"
#include "motley/sync/method.h"
#include "sync/codec_options.h"
#include "sync/refit.h"

namespace motley {
namespace {

constexpr std::uint64_t kCommitStream = 0x5e770000;  // plus server and rank

}  // namespace

struct ServerClient::Part {
  Rank server = 0;
  std::size_t begin = 0;
  std::size_t coded = 0;
  std::size_t plain = 0;  // 0 except for the first server
  Encoder encoder;
  bool encoded = false;   // in the commit under way
  bool answered = false;  // its answer has been taken
};

ServerClient::ServerClient(Node& node, const Job& job, std::uint64_t seed, std::size_t coded,
                           std::size_t plain)
    : node_(node), coded_(coded), held_(coded, 0) {
  const CodecOptions codec = codec_options_of(job);
  std::size_t begin = 0;
  for (int i = 0; i < servers_of(job); ++i) {
    const std::size_t size = chunk_of({nullptr, coded}, i, servers_of(job)).size;
    const auto stream = kCommitStream +
                        static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(node.size()) +
                        static_cast<std::uint64_t>(node.rank());
    parts_.push_back(
        {job.cluster.workers + i, begin, size, i == 0 ? plain : 0, Encoder(codec, seed, stream)});
    begin += size;
  }
}

ServerClient::~ServerClient() = default;

void ServerClient::begin(std::optional<Block> first) {
  if (node_.rank() != kFirstWorker) {
    return;
  }
  for (const Part& part : parts_) {
    const BeginHeader header{static_cast<std::int64_t>(part.coded),
                             static_cast<std::int64_t>(part.plain)};
    Payload payload;
    if (first) {
      const Block own = first->part(part.begin, part.coded);
      payload = own.phantom() ? Payload::phantom(own.size * sizeof(float))
                              : Payload::borrow(own.floats());
    }
    node_.send(part.server, Channel::kServer, header.header(), std::move(payload));
  }
}

Payload ServerClient::encode(Part& part, Block block) {
  const CodecOptions& codec = part.encoder.options();
  const Block numbers = block.part(part.begin, part.coded);
  const std::size_t coded_bytes = encoded_size(codec, part.coded);
  const std::size_t bytes = coded_bytes + part.plain * sizeof(float);
  Payload payload = Payload::phantom(bytes);
  if (codec.kind == CodecKind::kNone && part.plain == 0) {
    return block.phantom() ? payload : Payload::borrow(numbers.floats());
  }
  const auto write = [&] {
    if (!block.phantom()) {
      const std::shared_ptr<std::byte> room = allocate_block(bytes);
      part.encoder.encode(numbers.floats(), {room.get(), coded_bytes});
      part.encoded = true;
      std::memcpy(room.get() + coded_bytes, block.data + coded_, part.plain * sizeof(float));
      payload = Payload::adopt(room, {room.get(), bytes});
    }
  };
  node_.process(encode_traffic(codec, part.coded) + copy_traffic(part.plain), std::ref(write));
  return payload;
}

ServerClient::Reply ServerClient::commit(Block change, const CommitHeader& header, Block result) {
  const Seconds began = node_.now();
  Reply reply;
  is_committing_ = true;
  for (Part& part : parts_) {
    part.encoded = part.answered = false;
  }
  for (Part& part : parts_) {
    node_.send(part.server, Channel::kServer, header.header(), encode(part, change));
  }
  if (header.measured) {
    for (const Part& part : parts_) {
      node_.receive({Channel::kServer, part.server});
    }
    reply.push = node_.now() - began;
    for (const Part& part : parts_) {
      node_.send(part.server, Channel::kServer, header_of(ServerKind::kPull));
    }
  }
  take_answers(result, reply);
  reply.seconds = node_.now() - began;
  return reply;
}

bool ServerClient::take_back(Block result, Block base) {
  bool repeats = false;
  for (Part& part : parts_) {
    repeats = repeats || (is_committing_ && !part.answered);
    if (is_committing_ && part.answered) {
      std::ranges::copy(result.part(part.begin, part.coded).floats(),
                        base.part(part.begin, part.coded).floats().begin());
    } else if (is_committing_ && part.encoded) {
      part.encoder.take_back();
    }
  }
  is_committing_ = false;
  return repeats;
}

void ServerClient::forget_commit() {
  is_committing_ = false;
  for (Part& part : parts_) {
    part.encoder.forget();
  }
}

void ServerClient::leave(Block result) {
  for (const Part& part : parts_) {
    node_.send(part.server, Channel::kServer, header_of(ServerKind::kLeave));
  }
  Reply reply;
  take_answers(result, reply);
}

void ServerClient::take_answers(Block result, Reply& reply) {
  for (Part& part : parts_) {
    take_answer(part, result, reply);
  }
}

void ServerClient::take_answer(Part& part, Block result, Reply& reply) {
  const Message message = node_.receive({Channel::kServer, part.server});
  const ServerAnswer answer = ServerAnswer::of(message.header);
  reply.held = std::max(reply.held, answer.held);
  if (part.server == parts_.front().server) {
    reply.staleness = answer.staleness;
  }
  if (answer.has_note) {
    reply.notes.push_back(node_.receive({Channel::kServer, part.server}).payload);
  }
  if (message.payload.size() == 0) {
    return;  // a term without steps: nobody has committed anything
  }
  if (message.payload.size() != (part.coded + part.plain) * sizeof(float)) {
    throw Interrupted(part.server, "a parameter server's answer is damaged");
  }
  const auto take = [&] {
    if (!result.phantom()) {
      const auto numbers = message.payload.floats();
      std::ranges::copy(numbers.first(part.coded), result.data + part.begin);
      std::ranges::copy(numbers.subspan(part.coded), result.data + coded_);
    }
    part.answered = true;
    held_.set(part.begin, part.coded, answer.version);
  };
  // While one answer is copied, the next one arrives: only the last copy makes a commit longer.
  const bool is_last = part.server == parts_.back().server;
  node_.process(is_last ? copy_traffic(part.coded + part.plain) : 0, std::ref(take));
}

void ServerClient::state(Archive& archive) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    archive(std::to_string(i), parts_[i].encoder);
  }
}

std::vector<State> fitted_clients(const std::vector<State>& before, const Refit& refit,
                                  double scale) {
  std::vector<State> now;
  for (const auto& residual : fitted_residuals(joined_residuals(before, refit), refit.members,
                                               static_cast<float>(scale))) {
    now.push_back(cut_residual(residual, servers_of(refit.job), refit.job));
  }
  return now;
}

void ServerClient::set_ratio(double ratio) {
  for (Part& part : parts_) {
    part.encoder.set_ratio(ratio);
  }
}

}  // namespace motley
