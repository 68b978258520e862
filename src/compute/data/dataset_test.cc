#include "compute/data/dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "compute/data/input_file.h"
#include "tests/data_files.h"

namespace motley {
namespace {

struct Gathered {
  std::vector<float> features;
  std::vector<std::int64_t> labels;
};

Gathered gather(const SampleTable& samples, const std::vector<SampleIndex>& rows) {
  Gathered all{std::vector<float>(rows.size() * samples.width()),
               std::vector<std::int64_t>(rows.size())};
  samples.gather(rows, all.features, all.labels);
  return all;
}

Gathered gather_all(const SampleTable& samples) {
  std::vector<SampleIndex> rows(samples.size());
  std::iota(rows.begin(), rows.end(), SampleIndex{0});
  return gather(samples, rows);
}

DataSpec spec_of(DataKind kind, const std::string& path) {
  DataSpec spec;
  spec.kind = kind;
  spec.path = path;
  return spec;
}

// The message of the Error; empty if there is none.
std::string error_of(const DataSpec& spec, Parts parts = Parts::kBoth) {
  const auto data = read_dataset(spec, 1, parts);
  return data ? "" : data.error().message;
}

void expect_one_line(const std::string& message, const std::string& file, const std::string& what) {
  EXPECT_NE(message.find(file), std::string::npos) << message << "\n does not name " << file;
  EXPECT_NE(message.find(what), std::string::npos) << message << "\n does not say " << what;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Idx, ReadsPlainAndGzipFilesAndStandardises) {
  ScratchDir folder;
  test::write_idx(folder);
  const auto data = read_dataset(spec_of(DataKind::kIdx, folder.path()), 1, Parts::kBoth);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->shape, (std::vector<std::int64_t>{1, 4, 4}));
  EXPECT_EQ(data->classes, 10);
  EXPECT_EQ(data->training.size(), 20U);
  EXPECT_EQ(data->test.size(), 10U);

  const auto [features, labels] = gather_all(data->training);
  double sum = 0;
  double squares = 0;
  for (const float value : features) {
    sum += value;
    squares += double{value} * value;
  }
  const auto count = static_cast<double>(features.size());
  EXPECT_NEAR(sum / count, 0, 1e-5);
  EXPECT_NEAR(squares / count, 1, 1e-5);
  EXPECT_EQ(labels[13], 3);
  // The test images are standardised with the statistics of the training images.
  EXPECT_EQ(gather(data->test, {3}).features, gather(data->training, {3}).features);
}

TEST(Idx, PartsDecideWhatIsKeptAndRead) {
  ScratchDir folder;
  test::write_idx(folder);
  const auto test_only = read_dataset(spec_of(DataKind::kIdx, folder.path()), 1, Parts::kTest);
  ASSERT_TRUE(test_only);
  EXPECT_EQ(test_only->training_samples, 20);
  EXPECT_EQ(test_only->training.size(), 0U);
  EXPECT_EQ(test_only->test.size(), 10U);

  std::filesystem::remove(folder.file("t10k-labels-idx1-ubyte"));
  const auto training_only =
      read_dataset(spec_of(DataKind::kIdx, folder.path()), 1, Parts::kTraining);
  ASSERT_TRUE(training_only) << training_only.error().message;
  EXPECT_EQ(training_only->training.size(), 20U);
}

struct BadFile {
  std::string name;   // of the file to write
  std::string bytes;  // into it
  std::string says;   // what the message must contain
};

TEST(Idx, EveryBadFileIsNamed) {
  const std::string images = test::idx_images(20, 4);
  const std::string zipped = test::gzip(test::idx_images(10, 4));
  std::string flipped = zipped;
  flipped[zipped.size() / 2] = static_cast<char>(~flipped[zipped.size() / 2]);
  std::string bad_crc = zipped;
  bad_crc[bad_crc.size() - 6] = static_cast<char>(~bad_crc[bad_crc.size() - 6]);
  std::string bad_label = test::idx_labels(10);
  bad_label.back() = 10;
  const std::string huge = test::big_endian(0x803) + test::big_endian(0xffffffff) +
                           test::big_endian(4096) + test::big_endian(4096);
  const std::vector<BadFile> cases{
      {"train-images-idx3-ubyte", test::idx_labels(20), "magic number 0x00000801"},
      {"train-images-idx3-ubyte", "", "ends after 0 bytes"},
      {"train-images-idx3-ubyte", images.substr(0, images.size() - 1), "ends after 335 bytes"},
      {"train-images-idx3-ubyte", images + "x", "longer than"},
      {"train-images-idx3-ubyte", huge, "ends after 16 bytes"},
      {"train-images-idx3-ubyte", test::idx_images(0, 4), "0 images"},
      {"train-images-idx3-ubyte", test::idx_images(19, 4), "19 images"},
      {"t10k-images-idx3-ubyte.gz", zipped.substr(0, zipped.size() / 2), "truncated"},
      {"t10k-images-idx3-ubyte.gz", zipped.substr(0, zipped.size() - 4), "truncated"},
      {"t10k-images-idx3-ubyte.gz", flipped, "corrupt"},
      {"t10k-images-idx3-ubyte.gz", bad_crc, "corrupt"},
      {"t10k-images-idx3-ubyte.gz", test::idx_images(10, 4), "not a gzip file"},
      {"t10k-images-idx3-ubyte.gz", test::gzip(huge), "ends after 16 bytes"},
      {"t10k-images-idx3-ubyte.gz", test::gzip(test::idx_images(10, 5)), "5 x 5"},
      {"t10k-labels-idx1-ubyte", bad_label, "label 10 of sample 9"},
      {"t10k-labels-idx1-ubyte", test::idx_labels(11), "11 labels"},
  };
  for (const BadFile& bad : cases) {
    ScratchDir folder;
    test::write_idx(folder);
    folder.write(bad.name, bad.bytes);
    // A wrong count is reported for the labels, and the message also names the images.
    expect_one_line(error_of(spec_of(DataKind::kIdx, folder.path())), folder.file(bad.name),
                    bad.says);
  }
}

TEST(Idx, MissingFileOrFolderIsNamed) {
  ScratchDir folder;
  test::write_idx(folder);
  std::filesystem::remove(folder.file("t10k-labels-idx1-ubyte"));
  expect_one_line(error_of(spec_of(DataKind::kIdx, folder.path())),
                  folder.file("t10k-labels-idx1-ubyte"), "no such file");
  expect_one_line(error_of(spec_of(DataKind::kIdx, "/nowhere")), "/nowhere", "no such folder");
}

TEST(Cifar10, ReadsAFolderOrTheOneInside) {
  for (const std::string below : {"", "cifar-10-batches-bin/"}) {
    ScratchDir folder;
    test::write_cifar(folder, below);
    const auto data = read_dataset(spec_of(DataKind::kCifar10, folder.path()), 1, Parts::kBoth);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->shape, (std::vector<std::int64_t>{3, 32, 32}));
    EXPECT_EQ(data->training.size(), 15U);
    EXPECT_EQ(data->test.size(), 2U);
    const auto [features, labels] = gather(data->training, {2, 1});
    EXPECT_EQ(labels, (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(features[2048], 0) << "a channel that never changes becomes 0";
    EXPECT_NEAR(features[0], features[1024], 1e-5) << "each pixel by its own mean";
  }
}

TEST(Cifar10, EveryBadFileIsNamed) {
  std::string bad_label = test::cifar_records(3);
  bad_label[3073] = 10;
  const std::vector<BadFile> cases{
      {"data_batch_3.bin", test::cifar_records(2).substr(1), "records of 3073 bytes"},
      {"data_batch_3.bin", "", "records of 3073 bytes"},
      {"test_batch.bin", bad_label, "label 10 of record 1"},
  };
  for (const BadFile& bad : cases) {
    ScratchDir folder;
    test::write_cifar(folder);
    folder.write(bad.name, bad.bytes);
    expect_one_line(error_of(spec_of(DataKind::kCifar10, folder.path())), folder.file(bad.name),
                    bad.says);
  }
  ScratchDir empty;
  expect_one_line(error_of(spec_of(DataKind::kCifar10, empty.path())),
                  empty.file("data_batch_1.bin"), "no such file");
}

TEST(Libsvm, ReadsSparseRowsAndEveryLabelScheme) {
  struct Scheme {
    std::string labels[3];
    std::int64_t classes;
    std::vector<std::int64_t> expected;
  };
  const std::vector<Scheme> schemes{
      {{"-1", "+1", "-1"}, 2, {0, 1, 0}},
      {{"0", "1", "2"}, 3, {0, 1, 2}},
      {{"1", "3", "2"}, 3, {0, 2, 1}},
      {{"0", "1.0", "0"}, 2, {0, 1, 0}},
  };
  for (const Scheme& scheme : schemes) {
    ScratchDir folder;
    DataSpec spec = spec_of(DataKind::kLibsvm, "");
    spec.path = folder.write("train", scheme.labels[0] + " 1:0.5 3:-2 # comment\n\n" +
                                          scheme.labels[1] + "\n" + scheme.labels[2] + " 2:1e1\r");
    spec.test_path = folder.write("test", scheme.labels[1] + " 2:4 9:1\n");
    const auto data = read_dataset(spec, 1, Parts::kBoth);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->classes, scheme.classes);
    EXPECT_EQ(data->shape, (std::vector<std::int64_t>{3}));
    const auto [features, labels] = gather_all(data->training);
    EXPECT_EQ(features, (std::vector<float>{0.5, 0, -2, 0, 0, 0, 0, 10, 0}));
    EXPECT_EQ(labels, scheme.expected);
    EXPECT_EQ(gather_all(data->test).features, (std::vector<float>{0, 4, 0}))
        << "feature 9 is dropped";
  }
}

TEST(Libsvm, HoldoutIsChosenByTheSeedAndDisjoint) {
  ScratchDir folder;
  std::string text;
  for (int i = 1; i <= 50; ++i) {
    text += fmt::format("{} 1:{}\n", i % 2, i);
  }
  DataSpec spec = spec_of(DataKind::kLibsvm, folder.write("all", text));
  spec.holdout = 0.2;
  const auto one = read_dataset(spec, 1, Parts::kBoth);
  const auto again = read_dataset(spec, 1, Parts::kTest);
  const auto other = read_dataset(spec, 2, Parts::kBoth);
  ASSERT_TRUE(one && again && other);
  EXPECT_EQ(one->training.size(), 40U);
  EXPECT_EQ(again->training_samples, 40);
  EXPECT_EQ(gather_all(one->test).features, gather_all(again->test).features);
  EXPECT_NE(gather_all(one->test).features, gather_all(other->test).features);
  std::set<float> seen;
  for (const SampleTable* part : {&one->training, &one->test}) {
    const auto features = gather_all(*part).features;
    seen.insert(features.begin(), features.end());
  }
  EXPECT_EQ(seen.size(), 50U);
}

TEST(Libsvm, EveryBadLineIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1 1:1\nx 1:1\n", ":2: \"x\" is not a label"},
      {"1 1:1\n0.5 1:1\n", ":2: \"0.5\" is not a label"},
      {"1 1:1\nnan 1:1\n", ":2: \"nan\" is not a label"},
      {"1 1\n", ":1: \"1\" is not index:value"},
      {"1 1:\n", ":1: \"1:\" is not index:value"},
      {"1 1:inf\n", ":1: \"1:inf\" is not index:value"},
      {"1 1:2x\n", ":1: \"1:2x\" is not index:value"},
      {"1 qid:3 1:2\n", ":1: \"qid:3\" is not index:value"},
      {"1 -1:2\n", ":1: \"-1:2\" is not index:value"},
      {"1 0:1\n", ":1: index 0 is out of range"},
      {"1 4194305:1\n", ":1: index 4194305 is out of range"},
      {"1 2:1 2:1\n", ":1: index 2 after 2"},
      {"-1 1:1\n2 1:1\n", ":2: label 2 is out of range; expected -1 or +1"},
      {"-2 1:1\n2 1:1\n", "labels from -2 to 2"},
      {"0 1:1\n5000 1:1\n", "labels from 0 to 5000"},
      {"1 1:1\n1 1:2\n", "every label is 1"},
      {"0\n1\n", "no sample has a feature"},
      {"# nothing\n", "holds no samples"},
      {"", "holds no samples"},
      {"0 1:1\n1 1:1\n", "leaves no test samples"},
  };
  for (const auto& [text, says] : cases) {
    ScratchDir folder;
    const std::string path = folder.write("data.txt", text);
    expect_one_line(error_of(spec_of(DataKind::kLibsvm, path)), path, says);
  }
  ScratchDir folder;
  DataSpec spec = spec_of(DataKind::kLibsvm, folder.write("train", "0 1:1\n1 1:1\n"));
  spec.test_path = folder.write("test", "0 1:1\n2 1:1\n");
  expect_one_line(error_of(spec), spec.test_path, ":2: label 2 is out of range; expected 0 to 1");
  spec.test_path = folder.path();
  expect_one_line(error_of(spec), spec.test_path, "not a regular file");
}

TEST(Synthetic, IsDecidedByTheSeedAndKnowsBothParts) {
  DataSpec spec;
  spec.samples = 200;
  spec.test_samples = 50;
  spec.features = 12;
  spec.classes = 3;
  const auto one = read_dataset(spec, 1, Parts::kBoth);
  const auto training = read_dataset(spec, 1, Parts::kTraining);
  const auto other = read_dataset(spec, 2, Parts::kBoth);
  ASSERT_TRUE(one && training && other);
  EXPECT_EQ(one->training.size(), 200U);
  EXPECT_EQ(one->test.size(), 50U);
  EXPECT_EQ(training->test.size(), 0U);
  EXPECT_EQ(gather_all(one->training).features, gather_all(training->training).features);
  EXPECT_NE(gather_all(one->training).features, gather_all(other->training).features);
  const auto labels = gather_all(one->training).labels;
  EXPECT_EQ(std::set<std::int64_t>(labels.begin(), labels.end()).size(), 3U);
  // The same numbers on every machine: a change here changes every synthetic run.
  EXPECT_FLOAT_EQ(gather(one->training, {0}).features[0], -2.8032484F);
}

TEST(Synthetic, RefusesDataThatDoesNotFitInMemory) {
  DataSpec spec;
  spec.samples = std::int64_t{1} << 40;
  EXPECT_NE(error_of(spec).find("memory"), std::string::npos);
  spec.samples = 0;
  EXPECT_NE(error_of(spec).find("samples"), std::string::npos);
}

// Damaged files: reading gives data or an Error, and never uses more memory than the file
// justifies. Anything worse (a crash, a huge allocation) ends the test program.
void fuzz(DataKind kind, const std::string& name, int rounds,
          const std::function<void(ScratchDir&, Random&)>& write) {
  ScratchDir folder;
  Random random(7);
  int good = 0;
  for (int i = 0; i < rounds; ++i) {
    write(folder, random);
    const auto data = read_dataset(spec_of(kind, folder.file(name)), 1, Parts::kBoth);
    if (data) {
      ++good;
      gather_all(data->training);
      gather_all(data->test);
    } else {
      ASSERT_NE(data.error().message.find(folder.path()), std::string::npos)
          << data.error().message;
    }
  }
  EXPECT_LT(good, rounds) << "no file was damaged";
}

TEST(Fuzz, IdxPlainAndGzip) {
  const std::string images = test::idx_images(20, 4);
  const std::string labels = test::idx_labels(20);
  fuzz(DataKind::kIdx, "idx", 3000, [&](ScratchDir& folder, Random& random) {
    const bool zip_after = random.below(2) == 0;
    const auto damaged = [&](const std::string& bytes) {
      return zip_after ? test::gzip(test::mutate(bytes, random))
                       : test::mutate(test::gzip(bytes), random);
    };
    const std::uint64_t which = random.below(4);
    folder.write("idx/train-images-idx3-ubyte.gz",
                 which == 0 ? damaged(images) : test::gzip(images));
    folder.write("idx/train-labels-idx1-ubyte.gz",
                 which == 1 ? damaged(labels) : test::gzip(labels));
    folder.write("idx/t10k-images-idx3-ubyte", which == 2 ? test::mutate(images, random) : images);
    folder.write("idx/t10k-labels-idx1-ubyte", which == 3 ? test::mutate(labels, random) : labels);
  });
}

TEST(Fuzz, Cifar10) {
  const std::string records = test::cifar_records(1);
  fuzz(DataKind::kCifar10, "cifar10", 1000, [&](ScratchDir& folder, Random& random) {
    const std::uint64_t which = random.below(6);
    for (std::uint64_t i = 1; i <= 6; ++i) {
      const std::string name = i == 6 ? "test_batch.bin" : fmt::format("data_batch_{}.bin", i);
      folder.write("cifar10/" + name, i == which + 1 ? test::mutate(records, random) : records);
    }
  });
}

TEST(Fuzz, Libsvm) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += fmt::format("{} 1:{} {}:-1.5e2\n", i % 2 == 0 ? "-1" : "+1", i, i + 2);
  }
  fuzz(DataKind::kLibsvm, "libsvm", 5000, [&](ScratchDir& folder, Random& random) {
    folder.write("libsvm", test::mutate(text, random));
  });
}

}  // namespace
}  // namespace motley
