// Session::sum(): a run of one step whose gradient is what is to be summed.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "motley/run.h"
#include "session/session_impl.h"
#include "sync/two_floats.h"

namespace motley {
namespace {

class Summands final : public Replica {
 public:
  explicit Summands(std::span<const double> numbers)
      : sums_(2 * numbers.size()), gradient_(sums_.size() + kTail) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto [coarse, fine] = two_floats(numbers[i]);
      gradient_[2 * i] = coarse;
      gradient_[2 * i + 1] = fine;
    }
  }

  Block parameters() override { return {sums_.data(), sums_.size()}; }
  Block gradient() override { return {gradient_.data(), gradient_.size()}; }
  Block buffers() override { return {}; }
  double compute(std::span<const SampleIndex>) override { return 0; }
  void apply(double) override {
    std::ranges::copy(std::span(gradient_).first(sums_.size()), sums_.begin());
  }
  double sum(std::size_t place) const { return sum_of(sums_[2 * place], sums_[2 * place + 1]); }

 private:
  std::vector<float> sums_;
  std::vector<float> gradient_;
};

// The flags of the session are about training, and only runs that train are counted. Both come back
// at the end.
class WithoutFlags {
 public:
  explicit WithoutFlags(Session::Impl& session) : session_(session) { exchange(); }
  ~WithoutFlags() { exchange(); }
  WithoutFlags(const WithoutFlags&) = delete;
  WithoutFlags& operator=(const WithoutFlags&) = delete;

 private:
  void exchange() {
    std::swap(session_.job_path, job_path_);
    std::swap(session_.overrides, overrides_);
    std::swap(session_.out, out_);
    std::swap(session_.resume, resume_);
    std::swap(session_.progress, progress_);
    std::swap(session_.runs, runs_);
  }

  Session::Impl& session_;
  std::string job_path_;
  std::vector<std::string> overrides_;
  std::optional<std::string> out_;
  std::optional<std::string> resume_;
  bool progress_ = false;
  int runs_ = 0;
};

}  // namespace

void Session::sum(std::span<double> numbers) {
  if (impl_->has_run) {
    throw std::logic_error("Session::sum() called while a run goes on");
  }
  if (numbers.empty() || size() == 1) {
    return;
  }
  Summands summands(numbers);
  Options options{.name = fmt::format("sum after {} runs", impl_->runs),
                  .batch = size(),
                  .steps = 1,
                  .checkpoint_every = 0};
  options.cluster.elastic = false;
  {
    const WithoutFlags without(*impl_);
    Run run(*this, options, summands, size());
    run.fit([](const Work&) { return 0.0; });
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = summands.sum(i);
  }
}

}  // namespace motley
