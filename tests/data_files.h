// Small data files for tests, in a ScratchDir.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "tests/scratch_dir.h"

namespace motley::test {

inline std::string gzip(const std::string& bytes) {
  std::string out(bytes.size() + 1000, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  constexpr int kGzip = 15 + 16;
  deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
  MOTLEY_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return bytes;
}

// `count` images of side x side: pixel i of the file has the value i % 251.
inline std::string idx_images(std::uint32_t count, std::uint32_t side) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(side) + big_endian(side);
  for (std::uint32_t i = 0; i < count * side * side; ++i) {
    bytes.push_back(static_cast<char>(i % 251));
  }
  return bytes;
}

// Labels 0, 1, .. classes - 1, 0, 1, ...
inline std::string idx_labels(std::uint32_t count, std::uint32_t classes = 10) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(i % classes));
  }
  return bytes;
}

// The four files of a data set: 20 training and 10 test images.
inline void write_idx(const ScratchDir& folder, std::uint32_t side = 4) {
  folder.write("train-images-idx3-ubyte", idx_images(20, side));
  folder.write("train-labels-idx1-ubyte.gz", gzip(idx_labels(20)));
  folder.write("t10k-images-idx3-ubyte.gz", gzip(idx_images(10, side)));
  folder.write("t10k-labels-idx1-ubyte", idx_labels(10));
}

inline std::string cifar_records(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(i % 10));
    bytes.append(1024, static_cast<char>(10 * i));
    bytes.append(1024, static_cast<char>(10 * i + 1));
    bytes.append(1024, static_cast<char>(7));
  }
  return bytes;
}

inline void write_cifar(const ScratchDir& folder, const std::string& below = "") {
  for (int i = 1; i <= 5; ++i) {
    folder.write(below + "data_batch_" + std::to_string(i) + ".bin", cifar_records(i));
  }
  folder.write(below + "test_batch.bin", cifar_records(2));
}

// Damages `bytes` at a random place: flips, cuts, repeats or inserts.
inline std::string mutate(std::string bytes, Random& random) {
  const std::uint64_t changes = 1 + random.below(4);
  for (std::uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
    const std::size_t at = random.below(bytes.size());
    // Headers are small and matter most, so half of the changes go there.
    const std::size_t near = random.below(2) == 0 ? at : at % 20 % bytes.size();
    switch (random.below(5)) {
      case 0:
        bytes[near] = static_cast<char>(random.below(256));
        break;
      case 1:
        bytes[near] = static_cast<char>(bytes[near] ^ (1 << random.below(8)));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.insert(near, 1 + random.below(8), static_cast<char>(random.below(256)));
        break;
      default:
        bytes += bytes.substr(at, 16);
        break;
    }
  }
  return bytes;
}

}  // namespace motley::test
