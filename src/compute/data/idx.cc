#include "compute/data/idx.h"

#include <filesystem>

#include "compute/data/input_file.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

// Two zero bytes, the type (8 = unsigned byte), the number of dimensions.
constexpr std::uint32_t kLabelsMagic = 0x00000801;
constexpr std::uint32_t kImagesMagic = 0x00000803;
constexpr std::uint32_t kMaxSide = 4096;  // of an image; a larger value means a damaged header

struct Images {
  std::string name;  // of the file, for messages
  std::uint32_t count = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  Bytes pixels;
};

struct LabelledImages {
  Images images;
  std::vector<std::int32_t> labels;
};

std::uint32_t big_endian(const Bytes& bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
}

Result<InputFile> open_plain_or_gzip(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  const fs::path plain = folder / name;
  const fs::path gzip = folder / (name + ".gz");
  if (!fs::exists(plain, ignored) && !fs::exists(gzip, ignored)) {
    return fail("{}: no such file, nor {}.gz", plain.string(), name);
  }
  return InputFile::open(fs::exists(plain, ignored) ? plain : gzip);
}

// Reads the dimensions in the header, after its magic number.
Result<std::vector<std::uint32_t>> read_header(InputFile& file, std::uint32_t magic) {
  const std::size_t dimensions = magic & 0xff;
  auto header = file.read(4 + 4 * dimensions);
  if (!header) {
    return tl::unexpected(header.error());
  }
  if (const std::uint32_t found = big_endian(*header, 0); found != magic) {
    return fail("{}: not an IDX file of {}: magic number 0x{:08x}, expected 0x{:08x}", file.name(),
                magic == kImagesMagic ? "images" : "labels", found, magic);
  }
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 1; i <= dimensions; ++i) {
    sizes.push_back(big_endian(*header, 4 * i));
  }
  return sizes;
}

Result<Bytes> read_body(InputFile& file, std::uint64_t size) {
  auto body = file.read(size);
  if (body) {
    if (auto end = file.expect_end(); !end) {
      return tl::unexpected(end.error());
    }
  }
  return body;
}

Result<Images> read_images(const fs::path& folder, const std::string& name) {
  auto file = open_plain_or_gzip(folder, name);
  if (!file) {
    return tl::unexpected(file.error());
  }
  const auto sizes = read_header(*file, kImagesMagic);
  if (!sizes) {
    return tl::unexpected(sizes.error());
  }
  Images images{file->name(), (*sizes)[0], (*sizes)[1], (*sizes)[2], {}};
  if (images.count == 0 || images.rows == 0 || images.columns == 0 || images.rows > kMaxSide ||
      images.columns > kMaxSide) {
    return fail("{}: the header says {} images of {} x {}; expected at least 1, of 1 to {} a side",
                images.name, images.count, images.rows, images.columns, kMaxSide);
  }
  auto pixels = read_body(*file, std::uint64_t{images.count} * images.rows * images.columns);
  if (!pixels) {
    return tl::unexpected(pixels.error());
  }
  images.pixels = std::move(*pixels);
  return images;
}

Result<std::vector<std::int32_t>> read_labels(const fs::path& folder, const std::string& name,
                                              const Images& images, std::int64_t classes) {
  auto file = open_plain_or_gzip(folder, name);
  if (!file) {
    return tl::unexpected(file.error());
  }
  const auto sizes = read_header(*file, kLabelsMagic);
  if (!sizes) {
    return tl::unexpected(sizes.error());
  }
  if ((*sizes)[0] != images.count) {
    return fail("{}: {} labels, but {} has {} images", file->name(), (*sizes)[0], images.name,
                images.count);
  }
  const auto labels = read_body(*file, images.count);
  if (!labels) {
    return tl::unexpected(labels.error());
  }
  for (std::size_t i = 0; i < labels->size(); ++i) {
    if ((*labels)[i] >= classes) {
      return fail("{}: label {} of sample {} is out of range; expected 0 to {}", file->name(),
                  (*labels)[i], i, classes - 1);
    }
  }
  return std::vector<std::int32_t>(labels->begin(), labels->end());
}

Result<LabelledImages> read_part(const fs::path& folder, const std::string& prefix,
                                 std::int64_t classes) {
  auto images = read_images(folder, prefix + "-images-idx3-ubyte");
  if (!images) {
    return tl::unexpected(images.error());
  }
  auto labels = read_labels(folder, prefix + "-labels-idx1-ubyte", *images, classes);
  if (!labels) {
    return tl::unexpected(labels.error());
  }
  return LabelledImages{std::move(*images), std::move(*labels)};
}

}  // namespace

Result<Dataset> read_idx(const std::string& folder, std::int64_t classes, Parts parts) {
  if (auto ok = expect_folder(folder); !ok) {
    return tl::unexpected(ok.error());
  }
  auto training = read_part(folder, "train", classes);
  if (!training) {
    return tl::unexpected(training.error());
  }
  const Images& images = training->images;
  const std::uint32_t rows = images.rows;
  const std::uint32_t columns = images.columns;
  const std::size_t width = std::size_t{rows} * columns;
  const Standardisation standardisation = standardise(images.pixels, width, 1);

  Dataset data{{1, rows, columns}, classes, images.count, {}, {}};
  if (keeps_test(parts)) {
    auto test = read_part(folder, "t10k", classes);
    if (!test) {
      return tl::unexpected(test.error());
    }
    if (test->images.rows != rows || test->images.columns != columns) {
      return fail("{}: images of {} x {}, but those of {} are {} x {}", test->images.name,
                  test->images.rows, test->images.columns, images.name, rows, columns);
    }
    data.test = SampleTable(width, Pixels{std::move(test->images.pixels), standardisation},
                            std::move(test->labels));
  }
  if (keeps_training(parts)) {
    data.training = SampleTable(width, Pixels{std::move(training->images.pixels), standardisation},
                                std::move(training->labels));
  }
  return data;
}

}  // namespace motley
