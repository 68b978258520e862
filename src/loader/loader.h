// Loader: threads that fetch the batches of a worker while it computes (loader/read_ahead.h says
// which).
//
// Thread rule: expect() may be called on any thread; begin() and take() on one. The source is used
// on the loader's threads only, by all of them at once.
// Failure: take() rethrows what the source threw for its batch. What it threw for a batch that is
// never taken is dropped.
// The destructor waits for the calls of the source that are under way.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "loader/read_ahead.h"

namespace motley {

class Loader {
 public:
  // `parts`: as in ReadAheadOptions.
  Loader(BatchSource source, int threads, std::function<std::size_t(std::size_t)> parts = {});
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The samples of the steps after the current one, as far as is known.
  void expect(const std::vector<std::vector<SampleIndex>>& steps);
  // The share of the step that begins.
  void begin(std::span<const SampleIndex> share);
  // Its next batch, or part of it. Waits until it is there.
  Loaded take();

 private:
  void work();
  std::vector<Loaded> run(ReadAhead::Errand& errand) const;

  const BatchSource source_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_result_;
  ReadAhead plan_;     // guarded by mutex_
  bool ends_ = false;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace motley
