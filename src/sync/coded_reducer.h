// CodedReducer: the sum over all workers of numbers that are sent in a codec. It is computed in
// 32-bit floats, and every worker gets the same bits.
//
// The block is cut into n chunks; worker i owns chunk i. First each worker sends every owner its
// part of that chunk, encoded; the owner adds them to its own numbers, which are not encoded. Then
// it encodes the sum once and sends it to all; every worker, including the owner, uses the decoded
// numbers. So a number is rounded twice for any n: once in its contribution and once in the sum. A
// ring would round the partial sum n-1 times, each time relative to a larger number.
//
// topk sends the largest entries of every contribution, and again of every sum (like Ok-Topk, Li
// and Hoefler, PPoPP 2022), so the traffic does not grow with the number of workers. With error
// feedback each encoder keeps what it left out, for contributions and sums, until the next time.
//
// Cost: n-1 messages of 1/n of the encoded block each way, as many bytes as a ring; but all are
// sent at once, so it takes two latencies where a ring takes 2(n-1). The block is encoded once and
// decoded twice (codec/traffic.h). With error feedback also a copy of the block. The tail
// (Replica::kTail) is sent unencoded to all workers, at the end of the first messages.
#pragma once

#include <functional>
#include <vector>

#include "codec/codec.h"
#include "sync/reducer.h"

namespace motley {

class CodedReducer final : public Reducer {
 public:
  CodedReducer(Node& node, Channel channel, const CodecOptions& options, std::uint64_t seed)
      : node_(node),
        channel_(channel),
        options_(options),
        seed_(seed),
        size_(node.size()),
        self_(node.rank()) {}

  // With error feedback every block must have the same size. Throws Interrupted if a worker is lost
  // or sends bytes that no encoder writes.
  void sum(Block block) override;

  // As in a ring (collective.cc): no sum is complete before the last worker has arrived, so the
  // time by which the first exchange took longer than the second, which moves as many bytes, was
  // waiting. Encoding and decoding are left out: the first exchange encodes more.
  Seconds waited() const override { return waited_; }
  void conclude() override {
    for (Encoder& encoder : encoders_) {
      encoder.forget();
    }
  }
  void state(Archive& archive) override;

 private:
  void prepare();
  void send_contributions(Block numbers, Block tail);
  void add_contributions(Block own);
  void send_sum(Block own);
  void take_sums(Block numbers);
  void take_decoded(const Payload& payload, Block chunk, Rank from);
  void sum_tails(std::span<float> tail);

  // The worker `distance` places further on, which owns that chunk.
  Rank after(int distance) const { return (self_ + distance + size_) % size_; }
  // Encodes the numbers of a chunk; those of `behind` follow unencoded.
  Payload encode(Rank chunk, Block numbers, Block behind);
  // Node::process(), measured.
  void process(std::size_t bytes, const std::function<void()>& body);
  Payload received(Rank from, Block numbers, std::size_t behind);
  void check(const Status& status, Rank from) const;

  Node& node_;
  const Channel channel_;
  const CodecOptions options_;
  const std::uint64_t seed_;
  const int size_;
  const Rank self_;
  // Phantoms need neither of these, and there may be thousands of them.
  // By chunk: for this worker's contribution, and at its own place for the sum.
  std::vector<Encoder> encoders_;
  std::vector<float> tails_;  // of all workers
  Seconds processed_ = 0;
  Seconds waited_ = 0;
};

}  // namespace motley
