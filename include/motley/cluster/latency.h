// Latency: the seconds that a message is on its way from one machine to another.
//
//   Latency latency = 50e-6;                      // of every message
//   latency = Latency::per_worker({1e-3, 50e-6}); // the larger of the sender's and the receiver's
//   latency = Latency::matrix(2, {0, 1e-3, 2e-3, 0});  // row by row: a row for every sender
//   latency.between(0, 1);
#pragma once

#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// Servers and the coordinator have no latency of their own: a message between one of them and a
// worker takes the worker's, which in a matrix is the largest of its row when it sends and of its
// column when it receives. The diagonal of a matrix is not used.
class Latency {
 public:
  enum class Form { kNumber, kPerWorker, kMatrix };

  Latency(Seconds of_every_message) : values_{of_every_message} {}  // so that a number is a Latency
  static Latency per_worker(std::vector<Seconds> values);
  static Latency matrix(int workers, std::vector<Seconds> values);

  // Ranks that are not those of workers are servers or the coordinator.
  Seconds between(Rank from, Rank to) const;

  // A later change of a worker's link, in a cluster of so many workers. A number becomes one for
  // each worker; in a matrix the worker's row and column change.
  void change(Rank worker, int workers, Seconds latency);
  // Entries of a matrix between workers of one machine are not used, also not as the largest ones.
  // `hosts` has the machine of every worker.
  void leave_out_machines(std::span<const int> hosts);

  Form form() const { return form_; }
  int workers() const { return static_cast<int>(workers_); }  // 0: a number
  // One, or one for each worker, or the rows of the matrix one after the other.
  std::span<const Seconds> values() const { return values_; }

  bool operator==(const Latency&) const = default;

 private:
  Latency(Form form, std::size_t workers, std::vector<Seconds> values);
  void find_largest();

  Form form_ = Form::kNumber;
  std::size_t workers_ = 0;  // 0: a number
  std::vector<Seconds> values_;
  std::vector<Seconds> sending_;    // matrix: the largest of every row
  std::vector<Seconds> receiving_;  // matrix: the largest of every column
};

}  // namespace motley
