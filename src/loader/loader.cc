#include "loader/loader.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace motley {

Loader::Loader(BatchSource source, int threads, std::function<std::size_t(std::size_t)> parts)
    : source_(std::move(source)),
      plan_({.by = source_.whole ? FetchBy::kBatch : FetchBy::kSample,
             .threads = threads,
             .parts = std::move(parts)}) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Loader::expect(const std::vector<std::vector<SampleIndex>>& steps) {
  {
    const std::lock_guard lock(mutex_);
    plan_.expect(steps);
  }
  has_work_.notify_all();
}

void Loader::begin(std::span<const SampleIndex> share) {
  {
    const std::lock_guard lock(mutex_);
    plan_.begin(share);
  }
  has_work_.notify_all();
}

Loaded Loader::take() {
  std::unique_lock lock(mutex_);
  has_result_.wait(lock, [this] { return plan_.is_ready(); });
  return plan_.take();
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<ReadAhead::Errand> errand;
    has_work_.wait(lock, [&] { return ends_ || (errand = plan_.next()).has_value(); });
    if (ends_) {
      return;
    }
    lock.unlock();
    std::vector<Loaded> values;
    std::exception_ptr error;
    try {
      values = run(*errand);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    plan_.done(*errand, std::move(values), error);
    has_result_.notify_one();
    has_work_.notify_all();  // a batch may be complete, so that it can be collated
  }
}

std::vector<Loaded> Loader::run(ReadAhead::Errand& errand) const {
  if (errand.batch) {
    return {source_.collate(std::move(errand.parts))};
  }
  if (source_.whole) {
    return {source_.whole(errand.samples)};
  }
  std::vector<Loaded> values = source_.fetch(errand.samples);
  if (values.size() != errand.samples.size()) {
    throw std::runtime_error(fmt::format("the data set returned {} samples instead of {}",
                                         values.size(), errand.samples.size()));
  }
  return values;
}

}  // namespace motley
