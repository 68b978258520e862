#include "runtime/rendezvous/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

namespace motley {
namespace {

// A key of a job with its value, or a tensor with its shape.
struct JobEntry {
  std::string name;
  std::string value;
  bool operator==(const JobEntry&) const = default;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) {
      lines.push_back(line);
    }
  }
  return lines;
}

JobEntry split(const std::string& line, const std::string& separator) {
  const auto at = line.find(separator);
  return at == line.npos ? JobEntry{line, ""}
                         : JobEntry{line.substr(0, at), line.substr(at + separator.size())};
}

// Keys with their tables: "train.batch", or "cluster.event[1].time" in a list of tables.
std::vector<JobEntry> entries_of_job(const std::string& text) {
  std::vector<JobEntry> entries;
  std::map<std::string, int> tables;
  std::string section;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("[[") && line.ends_with("]]")) {
      const std::string list = line.substr(2, line.size() - 4);
      section = fmt::format("{}[{}].", list, tables[list]++);
    } else if (line.starts_with("[") && line.ends_with("]")) {
      section = line.substr(1, line.size() - 2) + ".";
    } else if (!line.starts_with("#")) {
      JobEntry entry = split(line, " = ");
      entry.name = section + entry.name;
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

std::vector<JobEntry> entries_of_parameters(const std::string& text) {
  std::vector<JobEntry> entries;
  for (const std::string& line : lines_of(text)) {
    entries.push_back(split(line, " "));
  }
  return entries;
}

// The index of the first entries that differ; the shorter list may end there.
std::size_t first_difference(const std::vector<JobEntry>& one, const std::vector<JobEntry>& other) {
  const auto [place, unused] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return static_cast<std::size_t>(place - one.begin());
}

bool has(const std::vector<JobEntry>& entries, const std::string& name) {
  return std::ranges::count(entries, name, &JobEntry::name) > 0;
}

std::string process_of(const Peer& peer) {
  return fmt::format("(pid {} on {})", peer.pid, for_people(peer.host));
}

}  // namespace

std::string for_people(const std::string& text, std::size_t longest) {
  std::string clean = text.size() > longest ? text.substr(0, longest) + "..." : text;
  for (char& byte : clean) {
    const auto value = static_cast<unsigned char>(byte);
    byte = value < 0x20 || value == 0x7f ? '?' : byte;
  }
  return clean;
}

std::string name_of_peer(const Peer& peer) {
  return peer.rank ? fmt::format("rank {} {}", *peer.rank, process_of(peer))
                   : "a worker " + process_of(peer);
}

std::string name_of_host(const Peer& host) {
  return host.rank ? name_of_peer(host) : "the coordinator " + process_of(host);
}

std::optional<std::string> version_difference(const Peer& peer, const Peer& host) {
  if (peer.version == host.version) {
    return std::nullopt;
  }
  return fmt::format("{} has motley {}, {} has {}", name_of_peer(peer), for_people(peer.version),
                     name_of_host(host), host.version);
}

std::optional<std::string> job_difference(const Peer& peer, const Peer& host) {
  if (peer.job.empty() || host.job.empty()) {
    return std::nullopt;
  }
  const auto theirs = entries_of_job(peer.job);
  const auto ours = entries_of_job(host.job);
  const std::size_t place = first_difference(theirs, ours);
  const bool is_theirs = place < theirs.size();
  const bool is_ours = place < ours.size();
  if (!is_theirs && !is_ours) {
    return std::nullopt;
  }
  const std::string peer_name = name_of_peer(peer);
  const std::string host_name = name_of_host(host);
  if (is_theirs && is_ours && theirs[place].name == ours[place].name) {
    return fmt::format("{} is {} for {}, {} for {}", for_people(ours[place].name),
                       for_people(theirs[place].value), peer_name, for_people(ours[place].value),
                       host_name);
  }
  // One of them has a key that the other lacks.
  if (is_theirs && (!is_ours || !has(ours, theirs[place].name))) {
    return fmt::format("{} is {} for {}, not set for {}", for_people(theirs[place].name),
                       for_people(theirs[place].value), peer_name, host_name);
  }
  return fmt::format("{} is not set for {}, {} for {}", for_people(ours[place].name), peer_name,
                     for_people(ours[place].value), host_name);
}

std::optional<std::string> parameter_difference(const Peer& peer, const Peer& host) {
  if (peer.parameters.empty() || host.parameters.empty()) {
    return std::nullopt;
  }
  const auto theirs = entries_of_parameters(peer.parameters);
  const auto ours = entries_of_parameters(host.parameters);
  const std::size_t place = first_difference(theirs, ours);
  const std::string peer_name = name_of_peer(peer);
  const std::string host_name = name_of_host(host);
  if (place == theirs.size() && place == ours.size()) {
    return std::nullopt;
  }
  const auto whole = [](const JobEntry& entry) {
    return for_people(entry.name + " " + entry.value);
  };
  if (place == ours.size()) {
    return fmt::format("{} has {}, {} does not", peer_name, whole(theirs[place]), host_name);
  }
  if (place == theirs.size()) {
    return fmt::format("{} has {}, {} does not", host_name, whole(ours[place]), peer_name);
  }
  if (theirs[place].name == ours[place].name) {
    return fmt::format("{} is {} for {}, {} for {}", for_people(ours[place].name),
                       for_people(theirs[place].value), peer_name, for_people(ours[place].value),
                       host_name);
  }
  return fmt::format("{} has {} where {} has {}", peer_name, whole(theirs[place]), host_name,
                     whole(ours[place]));
}

}  // namespace motley
