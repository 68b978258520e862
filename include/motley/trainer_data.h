// What motley::Trainer can take as data, and what a program may pass instead, with a sentence for
// each. No torch: types are known by their members.
#pragma once

#include "motley/base/cxx20.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace motley {

// A data set defined by functions.
//
//   motley::samples(count, get)            `get` turns indices into the batch that the loop
//   receives motley::samples(count, get, collate)   `get` loads one sample by its index; `collate`
//   turns a
//                                          std::vector of them into a batch
//   motley::stream(get)                    as samples(count, get), but without an end: samples are
//                                          numbered from 0 and never come up again. There are no
//                                          epochs; the run ends after options.steps, or with stop()
//
// With options.loader, threads call these functions, several at once if there are several threads.
// A share that changes costs only the samples that differ if they are fetched one by one: with
// `collate`, and in torch data sets that have get(index), with mappings.
template <class Get, class Collate = void>
struct Samples {
  std::int64_t count;
  Get get;
  Collate collate;
};
template <class Get>
struct Samples<Get, void> {
  std::int64_t count;
  Get get;
};
template <class Get>
Samples<Get> samples(std::int64_t count, Get get) {
  return {count, std::move(get)};
}
template <class Get, class Collate>
Samples<Get, Collate> samples(std::int64_t count, Get get, Collate collate) {
  return {count, std::move(get), std::move(collate)};
}
// More samples than any run uses.
inline constexpr std::int64_t kEndless = std::int64_t{1} << 53;
template <class Get>
Samples<Get> stream(Get get) {
  return samples(kEndless, std::move(get));
}
template <class Data>
inline constexpr bool kIsSamples = false;
template <class Get, class Collate>
inline constexpr bool kIsSamples<Samples<Get, Collate>> = true;

// A data set of torch::data, or anything with the same two functions.
template <class Data>
concept IndexedData = requires(Data& data, std::vector<std::size_t> indices) {
  data.size().has_value();
  data.get_batch(indices);
};
template <class Data>
concept DataPointer = requires(Data& data) {
  data.operator->();
}
|| std::is_pointer_v<Data>;
template <class Data>
concept DataLoader = requires(Data& data) {
  data.begin();
  data.join();
  data.options();
};
// It chooses its samples itself: a StatefulDataset, a ChunkDataset.
template <class Data>
concept DataStream = !IndexedData<Data> && requires(Data & data) {
  data.reset();
  data.get_batch(std::size_t{1});
};

template <class Data>
inline constexpr bool kIsPointerToLoader = false;
template <DataPointer Data>
inline constexpr bool kIsPointerToLoader<Data> =
    DataLoader<std::remove_reference_t<decltype(*std::declval<Data&>())>>;

template <class Data>
constexpr bool expect_data() {
  static_assert(!kIsPointerToLoader<Data> && !DataLoader<Data>,
                "motley::Trainer takes the data set itself, not a DataLoader: motley decides which "
                "rank computes which sample. Pass what you gave to make_data_loader()");
  static_assert(kIsPointerToLoader<Data> || !DataPointer<Data>,
                "motley::Trainer takes the data set itself, not a pointer to it: it copies it");
  static_assert(!DataStream<Data>,
                "motley::Trainer needs samples that have an index, and this data set chooses its "
                "samples itself (StatefulDataset, ChunkDataset). Use motley::samples(count, get)");
  static_assert(kIsSamples<Data> || IndexedData<Data> || DataPointer<Data> || DataLoader<Data> ||
                    DataStream<Data>,
                "motley::Trainer takes a torch::data data set, which has size() and "
                "get_batch(indices), or motley::samples(count, get)");
  return true;
}

}  // namespace motley
