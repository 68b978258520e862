#include "job/suggest.h"

#include <gtest/gtest.h>

#include "job/keys.h"
#include "sync/registry.h"

namespace motley {
namespace {

constexpr std::string_view kNames[] = {"svm", "mlp", "cnn", "resnet20", "torchscript", "phantom"};

TEST(Suggest, NearestForgivesOneSlipPerThreeLetters) {
  EXPECT_EQ(nearest("mpl", kNames), "mlp");          // two swapped
  EXPECT_EQ(nearest("resnet", kNames), "resnet20");  // two too few
  EXPECT_EQ(nearest("torch_scirpt", kNames), "torchscript");
  EXPECT_EQ(nearest("cnnn", kNames), "cnn");
  EXPECT_EQ(nearest("transformer", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kNames), "");
}

TEST(Suggest, DidYouMeanIsEmptyWithoutAName) {
  EXPECT_EQ(did_you_mean("mlp"), "; did you mean \"mlp\"?");
  EXPECT_EQ(did_you_mean(""), "");
}

TEST(Suggest, NearestKeyLooksInTheSectionFirst) {
  EXPECT_EQ(job_schema().nearest("train.bach"), "train.batch");
  EXPECT_EQ(job_schema().nearest("trian"), "train");
  EXPECT_EQ(job_schema().nearest("nmae"), "name");
  EXPECT_EQ(job_schema().nearest("data.pth"), "data.path");
}

TEST(Suggest, NearestKeyFindsTheWordInAnotherSection) {
  EXPECT_EQ(job_schema().nearest("batch"), "train.batch");
  EXPECT_EQ(job_schema().nearest("train.workers"), "cluster.workers");
}

TEST(Suggest, NearestKeyFindsAMisspeltSection) {
  EXPECT_EQ(job_schema().nearest("clustr.workrs"), "cluster.workers");
  EXPECT_EQ(job_schema().nearest("train.dropout"), "");
}

}  // namespace
}  // namespace motley
