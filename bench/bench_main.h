// Common parts of the benchmarks: flags, the median, the output file.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace motley::bench {

using Rows = nlohmann::ordered_json;  // an array of objects

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Does nothing if `file` is empty.
inline void write_rows(const std::string& file, const Rows& rows) {
  if (file.empty()) {
    return;
  }
  std::ofstream out(file);
  out << rows.dump(1) << "\n";
  if (!out.flush()) {
    throw std::runtime_error("cannot write " + file);
  }
}

// main() of a program with the flags [--quick] [--json FILE].
inline int bench_main(int argc, char** argv, std::string_view name, Rows (*measure)(bool quick)) {
  bool quick = false;
  std::string json_file;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--quick") {
      quick = true;
    } else if (flag == "--json" && i + 1 < argc) {
      json_file = argv[++i];
    } else {
      fmt::print(stderr, "usage: {} [--quick] [--json FILE]\n", name);
      return 2;
    }
  }
  try {
    write_rows(json_file, measure(quick));
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return 1;
  }
}

}  // namespace motley::bench
