// How a trainer gets batches from its data set (motley/trainer_data.h), and how the threads of a
// loader do. Not meant for direct use.
#pragma once

#include "motley/base/cxx20.h"

#include <torch/data/datasets/map.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "motley/base/failure.h"
#include "motley/base/ids.h"
#include "motley/loader/batch_source.h"
#include "motley/trainer_data.h"

namespace motley {

// How batches come from a data set that has batches only.
template <class Data>
struct BatchesOf {
  static constexpr bool kByOne = false;

  static std::int64_t size(const Data& data) {
    if (const auto size = data.size()) {
      return static_cast<std::int64_t>(*size);
    }
    throw Refused("the data set's size() is empty; motley needs the number of samples");
  }
  static auto batch(Data& data, std::span<const SampleIndex> samples) {
    return data.get_batch(std::vector<std::size_t>(samples.begin(), samples.end()));
  }
};

template <class Get>
struct BatchesOf<Samples<Get>> {
  static constexpr bool kByOne = false;

  static std::int64_t size(const Samples<Get>& data) { return data.count; }
  static auto batch(Samples<Get>& data, std::span<const SampleIndex> samples) {
    return data.get(samples);
  }
};

// From here on: data sets whose samples are fetched one by one (fetch()) and then collated.
template <class Get, class Collate>
struct BatchesOf<Samples<Get, Collate>> {
  using Data = Samples<Get, Collate>;
  using Sample = std::remove_cvref_t<std::invoke_result_t<Get&, SampleIndex>>;
  static constexpr bool kByOne = true;

  static std::int64_t size(const Data& data) { return data.count; }
  static std::vector<Sample> fetch(Data& data, std::span<const SampleIndex> samples) {
    std::vector<Sample> all;
    for (const SampleIndex sample : samples) {
      all.push_back(data.get(sample));
    }
    return all;
  }
  static auto collate(Data& data, std::vector<Sample> samples) {
    return data.collate(std::move(samples));
  }
};

// A torch data set with get(index).
template <class Data>
concept DataByOne = requires(Data& data) {
  typename Data::ExampleType;
  { data.get(std::size_t{}) } -> std::same_as<typename Data::ExampleType>;
  requires std::same_as<typename Data::BatchType, std::vector<typename Data::ExampleType>>;
};
template <DataByOne Data>
struct BatchesOf<Data> {
  using Sample = typename Data::ExampleType;
  static constexpr bool kByOne = true;

  static std::int64_t size(const Data& data) {
    if (const auto size = data.size()) {
      return static_cast<std::int64_t>(*size);
    }
    throw Refused("the data set's size() is empty; motley needs the number of samples");
  }
  static std::vector<Sample> fetch(Data& data, std::span<const SampleIndex> samples) {
    return data.get_batch(std::vector<std::size_t>(samples.begin(), samples.end()));
  }
  static std::vector<Sample> collate(Data&, std::vector<Sample> samples) { return samples; }
};

// A mapping of single samples is part of fetching; one of whole batches collates.
template <class Source, class Transform>
requires BatchesOf<Source>::kByOne struct BatchesOf<
    torch::data::datasets::MapDataset<Source, Transform>> {
  using Data = torch::data::datasets::MapDataset<Source, Transform>;
  using Inner = BatchesOf<Source>;
  static constexpr bool kByOne = true;
  static constexpr bool kMapsOne = requires { typename Transform::OutputType; };

  static std::int64_t size(const Data& data) {
    return Inner::size(const_cast<Data&>(data).dataset());
  }
  static auto fetch(Data& data, std::span<const SampleIndex> samples) {
    if constexpr (kMapsOne) {
      return transform(data).apply_batch(Inner::fetch(source(data), samples));
    } else {
      return Inner::fetch(source(data), samples);
    }
  }
  template <class Sample>
  static auto collate(Data& data, std::vector<Sample> samples) {
    if constexpr (kMapsOne) {
      return samples;
    } else {
      return transform(data).apply_batch(std::move(samples));
    }
  }

 private:
  // A MapDataset shows its parts as const, but their functions are not.
  static Source& source(Data& data) { return const_cast<Source&>(data.dataset()); }
  static Transform& transform(Data& data) { return const_cast<Transform&>(data.transform()); }
};

// The batch of these samples, as the loop receives it.
template <class Data>
auto batch_of(Data& data, std::span<const SampleIndex> samples) {
  using Batches = BatchesOf<Data>;
  if constexpr (Batches::kByOne) {
    return Batches::collate(data, Batches::fetch(data, samples));
  } else {
    return Batches::batch(data, samples);
  }
}

// The same for a loader. `data` must outlive it.
template <class Data>
BatchSource batch_source(Data& data) {
  using Batches = BatchesOf<Data>;
  using Batch = decltype(batch_of(data, {}));
  const auto whole = [&data](std::span<const SampleIndex> samples) {
    return std::make_shared<Batch>(batch_of(data, samples));
  };
  if constexpr (Batches::kByOne) {
    using Sample = typename decltype(Batches::fetch(data, {}))::value_type;
    const auto fetch = [&data](std::span<const SampleIndex> samples) {
      std::vector<Loaded> all;
      for (auto&& sample : Batches::fetch(data, samples)) {
        all.push_back(std::make_shared<Sample>(std::move(sample)));
      }
      return all;
    };
    const auto collate = [&data](const std::vector<Loaded>& loaded) {
      std::vector<Sample> samples;
      for (const Loaded& each : loaded) {
        samples.push_back(std::move(*static_cast<Sample*>(each.get())));
      }
      return std::make_shared<Batch>(Batches::collate(data, std::move(samples)));
    };
    return {.fetch = fetch, .collate = collate};
  } else {
    return {.whole = whole};
  }
}

}  // namespace motley
