#include "sync/parameter_server/server_values.h"

#include <algorithm>
#include <string>
#include <utility>

#include "motley/sync/collective.h"
#include "motley/sync/method.h"
#include "motley/sync/parameter_server/held_versions.h"

namespace motley {
namespace {

// What a server held, or a part of it.
struct ServedValues {
  std::vector<float> numbers;
  std::int64_t version = 0;  // of the newest of them
};

// A worker's copy.
struct HeldCopy {
  std::vector<float> numbers;
  HeldVersions versions;
};

std::vector<float> tensor_of(const State& state, std::string_view name) {
  std::vector<float> numbers;
  Archive archive = Archive::restoring(state);
  archive.tensor(name, numbers);
  return numbers;
}

std::optional<ServedValues> values_of(const State& server) {
  if (!server.tensors.contains(std::string(kServerValues))) {
    return std::nullopt;
  }
  return ServedValues{tensor_of(server, kServerValues),
                      saved_value<std::int64_t>(server, kServerVersion)};
}

void put_values(State& server, ServedValues values) {
  Archive archive = Archive::saving(server);
  archive.tensor(kServerValues, values.numbers);
  archive(kServerVersion, values.version);
}

// Of all workers that have one. Phantoms have none.
std::vector<HeldCopy> copies_of(const std::vector<State>& workers) {
  std::vector<HeldCopy> copies;
  for (const State& worker : workers) {
    const auto versions = worker.has(kHeldVersions)
                              ? saved_value<std::optional<HeldVersions>>(worker, kHeldVersions)
                              : std::nullopt;
    if (!versions) {
      continue;
    }
    HeldCopy copy{tensor_of(worker, kHeldCopy), *versions};
    const bool is_sound = copy.numbers.size() == versions->size() &&
                          (copies.empty() || copies[0].numbers.size() == copy.numbers.size());
    if (!copy.numbers.empty() && !is_sound) {
      throw StateError("a worker's copy of the servers' numbers is damaged");
    }
    if (is_sound) {
      copies.push_back(std::move(copy));
    }
  }
  return copies;
}

// Where a part begins and ends.
std::pair<std::size_t, std::size_t> bounds_of(std::size_t size, int part, int parts) {
  std::size_t begin = 0;
  for (int i = 0; i < part; ++i) {
    begin += chunk_of({nullptr, size}, i, parts).size;
  }
  return {begin, begin + chunk_of({nullptr, size}, part, parts).size};
}

// The numbers of one part, each from the newest copy; the first of several that are as new.
ServedValues newest_of(const std::vector<HeldCopy>& copies, int part, int parts) {
  const auto [begin, end] = bounds_of(copies.front().numbers.size(), part, parts);
  ServedValues newest{std::vector<float>(end - begin), HeldVersions::kNone};
  std::vector<std::int64_t> versions(end - begin, HeldVersions::kNone - 1);
  for (const HeldCopy& copy : copies) {
    std::size_t at = 0;
    for (const HeldVersions::Piece& piece : copy.versions.pieces()) {
      for (at = std::max(at, begin); at < std::min(piece.end, end); ++at) {
        if (piece.version > versions[at - begin]) {
          versions[at - begin] = piece.version;
          newest.numbers[at - begin] = copy.numbers[at];
        }
      }
    }
  }
  for (const std::int64_t version : versions) {
    newest.version = std::max(newest.version, version);
  }
  newest.version = std::max<std::int64_t>(newest.version, 0);
  return newest;
}

// Cut anew. A version of its parts must be newer than every one that a worker holds of them.
std::vector<ServedValues> cut(const std::vector<ServedValues>& values, std::size_t parts) {
  ServedValues whole;
  for (const ServedValues& part : values) {
    whole.numbers.insert(whole.numbers.end(), part.numbers.begin(), part.numbers.end());
    whole.version = std::max(whole.version, part.version);
  }
  const Block all{whole.numbers.data(), whole.numbers.size()};
  std::vector<ServedValues> now;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto part = chunk_of(all, static_cast<int>(i), static_cast<int>(parts)).floats();
    now.push_back({{part.begin(), part.end()}, whole.version});
  }
  return now;
}

}  // namespace

void fit_server_values(const MethodState& before, const Refit& refit, std::vector<State>& now) {
  now.resize(static_cast<std::size_t>(servers_of(refit.job)));
  const std::vector<HeldCopy> copies = copies_of(before.workers);
  std::vector<ServedValues> values;
  for (std::size_t i = 0; i < before.servers.size(); ++i) {
    std::optional<ServedValues> its = values_of(before.servers[i]);
    if (!its && copies.empty()) {
      return;  // they begin with the first worker's model
    }
    values.push_back(
        its ? std::move(*its)
            : newest_of(copies, static_cast<int>(i), static_cast<int>(before.servers.size())));
  }
  if (values.size() != now.size()) {
    values = cut(values, now.size());
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    put_values(now[i], std::move(values[i]));
  }
}

}  // namespace motley
