// BatchSource: how the threads of a loader (loader/loader.h) get batches. Types are erased: a
// sample or a batch is whatever the data set of the program makes of it.
//
// Several threads call these functions at the same time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

using Loaded = std::shared_ptr<void>;

// Either `whole` is set, or `fetch` and `collate`.
struct BatchSource {
  // Fetches the batch of these samples.
  std::function<Loaded(std::span<const SampleIndex>)> whole = {};
  // Fetches samples one by one, so that those that turn out to belong to another batch are not
  // fetched again.
  std::function<std::vector<Loaded>(std::span<const SampleIndex>)> fetch = {};
  // Makes the batch of these samples. It may change or take what they hold.
  std::function<Loaded(std::vector<Loaded>)> collate = {};
};

}  // namespace motley
