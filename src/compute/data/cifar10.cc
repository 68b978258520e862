#include "compute/data/cifar10.h"

#include <filesystem>

#include "compute/data/input_file.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kClasses = 10;
constexpr std::size_t kPlane = std::size_t{32} * 32;
constexpr std::size_t kImage = 3 * kPlane;
constexpr std::size_t kRecord = 1 + kImage;
constexpr std::uint64_t kMaxBytes = 1 << 30;  // the real files have 30 MB

struct CifarPart {
  Bytes pixels;
  std::vector<std::int32_t> labels;
};

Status append_file(const fs::path& path, CifarPart& part) {
  const auto bytes = read_file(path, kMaxBytes);
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  if (bytes->empty() || bytes->size() % kRecord != 0) {
    return fail("{}: {} bytes; expected a multiple of CIFAR-10 records of {} bytes", path.string(),
                bytes->size(), kRecord);
  }
  part.pixels.reserve(part.pixels.size() + bytes->size() / kRecord * kImage);
  for (std::size_t at = 0; at < bytes->size(); at += kRecord) {
    const std::uint8_t label = (*bytes)[at];
    if (label >= kClasses) {
      return fail("{}: label {} of record {} is out of range; expected 0 to 9", path.string(),
                  label, at / kRecord);
    }
    const auto image = std::span(*bytes).subspan(at + 1, kImage);
    part.pixels.insert(part.pixels.end(), image.begin(), image.end());
    part.labels.push_back(label);
  }
  return {};
}

}  // namespace

Result<Dataset> read_cifar10(const std::string& folder, Parts parts) {
  if (auto ok = expect_folder(folder); !ok) {
    return tl::unexpected(ok.error());
  }
  std::error_code ignored;
  const fs::path inner = fs::path(folder) / "cifar-10-batches-bin";
  const fs::path base = fs::is_directory(inner, ignored) ? inner : fs::path(folder);

  CifarPart training;
  for (int i = 1; i <= 5; ++i) {
    if (auto ok = append_file(base / fmt::format("data_batch_{}.bin", i), training); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  const Standardisation standardisation = standardise(training.pixels, kImage, 3);
  const auto count = static_cast<std::int64_t>(training.labels.size());

  Dataset data{{3, 32, 32}, kClasses, count, {}, {}};
  if (keeps_test(parts)) {
    CifarPart test;
    if (auto ok = append_file(base / "test_batch.bin", test); !ok) {
      return tl::unexpected(ok.error());
    }
    data.test = SampleTable(kImage, Pixels{std::move(test.pixels), standardisation},
                            std::move(test.labels));
  }
  if (keeps_training(parts)) {
    data.training = SampleTable(kImage, Pixels{std::move(training.pixels), standardisation},
                                std::move(training.labels));
  }
  return data;
}

}  // namespace motley
