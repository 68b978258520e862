#include "session/run_address.h"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "runtime/rendezvous/addresses.h"
#include "session/warning.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

template <class Value>
std::optional<Value> value_at(const nlohmann::json& json, const char* key,
                              bool (nlohmann::json::*is)() const noexcept) {
  const auto found = json.find(key);
  return found != json.end() && ((*found).*is)() ? std::optional(found->get<Value>())
                                                 : std::nullopt;
}

std::string text_of(const RunAddress& address) {
  const nlohmann::ordered_json json = {{"address", show(address.rendezvous)},
                                       {"token", address.token},
                                       {"host", address.host},
                                       {"pid", address.pid}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// nullopt if the text is not of such a file.
std::optional<RunAddress> address_in(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return std::nullopt;
  }
  using Value = nlohmann::json;
  const auto where = value_at<std::string>(json, "address", &Value::is_string);
  const auto token = value_at<std::string>(json, "token", &Value::is_string);
  const auto endpoint = where ? parse_endpoint(*where) : fail("no address");
  if (!endpoint || !token) {
    return std::nullopt;
  }
  return RunAddress{*endpoint, *token,
                    value_at<std::string>(json, "host", &Value::is_string).value_or(""),
                    value_at<std::int64_t>(json, "pid", &Value::is_number_integer).value_or(0)};
}

tl::expected<RunAddress, NoRun> read_address(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    return tl::unexpected(NoRun{path.string() + ": cannot be read", true});
  }
  const auto address = address_in(text);
  return address ? tl::expected<RunAddress, NoRun>(*address)
                 : tl::unexpected(NoRun{path.string() + ": is not the address of a run", true});
}

tl::expected<FoundRun, NoRun> run_in(const fs::path& directory) {
  std::error_code none;
  if (!fs::is_directory(directory, none)) {
    return tl::unexpected(NoRun{directory.string() + ": no such directory", true});
  }
  const fs::path path = directory / kAddressFile;
  if (!fs::exists(path, none)) {
    const bool is_run = fs::exists(directory / "job.toml", none);
    return tl::unexpected(
        NoRun{directory.string() + (is_run ? ": no run is under way there"
                                           : ": contains no job.toml; is it a run directory?"),
              !is_run});
  }
  return read_address(path).map([&](const RunAddress& address) {
    return FoundRun{directory, address};
  });
}

// A run that was killed leaves its file behind.
bool is_gone(const RunAddress& address) {
  const bool is_here = address.host == peer_of_this_process().host && address.pid > 0;
  return is_here && ::kill(static_cast<pid_t>(address.pid), 0) != 0 && errno == ESRCH;
}

tl::expected<FoundRun, NoRun> latest_run(const fs::path& parent) {
  std::optional<FoundRun> latest;
  fs::file_time_type newest;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, none)) {
    const auto began = fs::last_write_time(entry.path() / kAddressFile, none);
    if (none || (latest && began <= newest)) {
      continue;
    }
    if (auto run = run_in(entry.path()); run && !is_gone(run->address)) {
      latest = std::move(*run);
      newest = began;
    }
  }
  return latest ? tl::expected<FoundRun, NoRun>(std::move(*latest))
                : tl::unexpected(
                      NoRun{fmt::format("no run in {} is under way", parent.string()), false});
}

}  // namespace

RunAddress address_of(const Coordinator& coordinator) {
  const Endpoint there = coordinator.rendezvous();
  const Peer me = peer_of_this_process();
  return {{there.host == kAnyAddress ? "127.0.0.1" : there.host, there.port},
          coordinator.token(),
          me.host,
          me.pid};
}

AddressFile::AddressFile(const RunDir* dir, const RunAddress& address)
    : path_(dir ? dir->path() / kAddressFile : fs::path()) {
  if (dir) {
    warn_unless(replace_private_file(path_, text_of(address)));
  }
}

AddressFile::~AddressFile() {
  std::error_code none;
  if (!path_.empty()) {
    fs::remove(path_, none);
  }
}

tl::expected<FoundRun, NoRun> find_run(const std::string& where, const fs::path& parent) {
  return where == "latest" ? latest_run(parent) : run_in(where);
}

}  // namespace motley
