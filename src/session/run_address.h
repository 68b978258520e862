// Where a run that goes on can be asked (`motley status`, `motley drain`): a small file in its run
// directory with the address and the token of its rendezvous.
//
//   const AddressFile file(recorded.dir(), address_of(coordinator));   // removed at the end
//   const auto run = find_run("latest");
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "record/run_dir.h"
#include "runtime/coordinator/coordinator.h"
#include "runtime/rendezvous/rendezvous.h"

namespace motley {

inline constexpr std::string_view kAddressFile = "rendezvous.json";

struct RunAddress {
  Endpoint rendezvous;
  std::string token = {};
  // The process of the coordinator.
  std::string host = {};
  std::int64_t pid = 0;
};

// As seen from this machine.
RunAddress address_of(const Coordinator& coordinator);

// The file, while this object lives. Only this user can read it: it holds the token.
class AddressFile {
 public:
  // Without a directory there is no file. Trouble with it is worth a warning, not the run.
  AddressFile(const RunDir* dir, const RunAddress& address);
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

 private:
  std::filesystem::path path_;
};

struct FoundRun {
  std::filesystem::path directory;
  RunAddress address;
};

struct NoRun {
  std::string why;  // one line
  // True: `where` is no run directory or cannot be read. False: no run goes on there.
  bool is_bad_input = false;
};

// `where` is a run directory or "latest": the run in `parent` that began last among those whose
// process is there, as far as can be seen from this machine.
tl::expected<FoundRun, NoRun> find_run(const std::string& where,
                                       const std::filesystem::path& parent = "runs");

}  // namespace motley
