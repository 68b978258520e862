// Sum over all workers of numbers that travel in a codec; it is made in 32-bit floats, and every
// worker ends with the same bits.
//
// The block is cut into n chunks, and worker i owns chunk i. First each worker sends every owner
// its own numbers of that chunk, encoded; the owner adds them to its own, which it takes as they
// are. Then it encodes the sum once and sends it to all; everybody takes what that decodes to, the
// owner too. So a number is rounded twice, whatever n is: once on its way in and once in the sum. A
// ring would round the sum so far at every hop, n-1 times, and each time against a larger number.
//
// topk sends the largest entries of every contribution, and again of every sum (as Ok-Topk does,
// Li and Hoefler, PPoPP 2022), so what travels does not grow with the number of workers. With error
// feedback each encoder keeps what it left out, of contributions and of sums, for the next time.
//
// Cost: n-1 messages of 1/n of the encoded block each way, as many bytes as a ring; but all are
// sent at once, so it takes two latencies where a ring takes 2(n-1). With error feedback a copy of
// the block. The tail (Replica::kTail) goes to everyone, as it is, at the end of the first
// messages.
#pragma once

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

  // With error feedback every block has the same size. Throws Interrupted when a worker is lost, or
  // sends what no encoder has written.
  void sum(Block block) override;

  // As in a ring (collective.cc): no sum is complete before the last worker has come, so what the
  // first exchange took longer than the second, which moves as many bytes, was waiting.
  Seconds waited() const override { return waited_; }

 private:
  void prepare();
  void send_contributions(Block numbers, std::span<const float> tail);
  void add_contributions(Block own);
  void send_sum(Block own);
  void take_sums(Block numbers);
  void sum_tails(std::span<float> tail);

  // The worker so many places further on; that chunk's owner.
  Rank after(int distance) const { return (self_ + distance + size_) % size_; }
  // The numbers of that chunk, with room for so many bytes behind them.
  std::shared_ptr<std::byte> encode(Rank chunk, std::span<const float> values, std::size_t behind);
  Payload received(Rank from, Block numbers, std::size_t behind);
  void check(const Status& status, Rank from) const;

  Node& node_;
  const Channel channel_;
  const CodecOptions options_;
  const std::uint64_t seed_;
  const int size_;
  const Rank self_;
  // Phantoms need neither, and there may be thousands of them.
  // By chunk: of this worker's contribution, and at its own place of the sum.
  std::vector<Encoder> encoders_;
  std::vector<float> tails_;  // of all workers
  Seconds waited_ = 0;
};

}  // namespace motley
