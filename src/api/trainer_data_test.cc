// What is recognised among torch's own types, so that the compiler can say a sentence about it.
#include "motley/trainer_data.h"

#include <gtest/gtest.h>
#include <torch/data.h>

#include <memory>
#include <vector>

namespace motley::trainer_data_test {
namespace {

namespace data = torch::data;
using Plain = data::datasets::TensorDataset;
using Mapped = decltype(std::declval<Plain>().map(data::transforms::Stack<data::TensorExample>()));
using Loader = decltype(data::make_data_loader(std::declval<Mapped>(), std::size_t{4}));

struct Stream : data::datasets::StatefulDataset<Stream> {
  void reset() override {}
  torch::optional<std::vector<data::Example<>>> get_batch(std::size_t) override { return {}; }
  torch::optional<std::size_t> size() const override { return {}; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
};

TEST(TrainerData, TypesOfTorchAreRecognised) {
  EXPECT_TRUE(expect_data<Plain>());
  EXPECT_TRUE(expect_data<Mapped>());
  const auto own = samples(3, [](const auto&) { return 1; });
  EXPECT_TRUE(expect_data<std::remove_const_t<decltype(own)>>());
  EXPECT_TRUE(kIsPointerToLoader<Loader>);
  EXPECT_TRUE(DataLoader<Loader::element_type>);
  EXPECT_TRUE(DataStream<Stream>);
  EXPECT_TRUE(DataPointer<std::shared_ptr<Plain>> && DataPointer<Plain*>);
  EXPECT_FALSE(kIsPointerToLoader<std::shared_ptr<Plain>> || kIsPointerToLoader<Plain*>);
  for (const bool is_stream : {DataStream<Plain>, DataStream<Mapped>}) {
    EXPECT_FALSE(is_stream);
  }
  EXPECT_FALSE(IndexedData<std::vector<torch::Tensor>> || IndexedData<torch::Tensor>);
}

}  // namespace
}  // namespace motley::trainer_data_test
