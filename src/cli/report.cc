// report: writes an HTML report of one or more runs.
#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "page/page.h"
#include "record/whole_file.h"

namespace motley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Result<Json> read_json(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    return fail("{}: cannot be read", path.string());
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return fail("{}: is not JSON", path.string());
  }
  return json;
}

bool has(const Json& object, const char* name, Json::value_t type) {
  return object.is_object() && object.contains(name) && object[name].type() == type;
}

// Checks the keys that the page needs.
bool is_record(const Json& record) {
  using Type = Json::value_t;
  const auto has_all = [&](std::initializer_list<const char*> names, Type type) {
    return std::ranges::all_of(names, [&](const char* name) { return has(record, name, type); });
  };
  return record.is_object() && record.value("version", Json()) == 1 &&
         has_all({"name", "mode", "state", "why", "job"}, Type::string) &&
         has_all({"strategy", "bins", "made_by"}, Type::object) &&
         has_all({"metrics", "throughput", "per_worker", "decisions"}, Type::array) &&
         std::ranges::all_of(record["per_worker"], [](const Json& worker) {
           return has(worker, "compute", Type::array) && has(worker, "communicate", Type::array) &&
                  has(worker, "wait", Type::array) && has(worker, "shares", Type::array);
         });
}

// A list of summaries; each may have a directory with its name beside it.
bool is_comparison(const Json& summaries) {
  return summaries.is_array() && !summaries.empty() &&
         std::ranges::all_of(summaries, [](const Json& summary) {
           if (!has(summary, "name", Json::value_t::string)) {
             return false;
           }
           const fs::path name = summary["name"].get<std::string>();
           return name.has_filename() && name.filename() == name && name != "..";
         });
}

Result<Json> read_record(const fs::path& directory) {
  if (!fs::is_directory(directory)) {
    return fail("{}: no such directory", directory.string());
  }
  const fs::path path = directory / kRecordFile;
  if (!fs::is_regular_file(path)) {
    return fail("{}: contains no {}; is it a run directory?", directory.string(), kRecordFile);
  }
  auto record = read_json(path);
  if (record && !is_record(*record)) {
    return fail("{}: is not a record that this version of motley can read", path.string());
  }
  return record;
}

// A placeholder for a variant without a record: one line in the table.
Json record_without_run(const std::string& name, const std::string& why) {
  RunFacts facts;
  facts.name = name;
  facts.workers = 0;
  RunRecord record(facts);
  record.fail(why);
  return document_of(record);
}

std::string trouble_of(const Json& summary) {
  return has(summary, "error", Json::value_t::string) ? summary["error"].get<std::string>()
                                                      : "left no record";
}

// The records of a comparison, in its order.
Result<std::vector<Json>> read_comparison(const fs::path& directory) {
  const auto summaries = read_json(directory / kCompareFile);
  if (!summaries) {
    return tl::unexpected(summaries.error());
  }
  if (!is_comparison(*summaries)) {
    return fail("{}: is not a comparison of runs", (directory / kCompareFile).string());
  }
  std::vector<Json> records;
  for (const Json& summary : *summaries) {
    const std::string name = summary.value("name", "");
    const auto record = read_record(directory / name);
    records.push_back(record ? *record : record_without_run(name, trouble_of(summary)));
  }
  return records;
}

Result<std::vector<Json>> read_records(const fs::path& directory) {
  if (fs::is_regular_file(directory / kCompareFile)) {
    return read_comparison(directory);
  }
  auto record = read_record(directory);
  if (!record) {
    return tl::unexpected(record.error());
  }
  return std::vector<Json>{std::move(*record)};
}

std::string title_of(const fs::path& directory) {
  const fs::path whole = fs::absolute(directory).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename();
}

}  // namespace

Status write_comparison_report(const RunDir& dir, const std::string& name) {
  const auto records = read_comparison(dir.path());
  return records ? dir.write(kReportFile, report_page(*records, name))
                 : Status(tl::unexpected(records.error()));
}

int report_command(const ReportFlags& flags) {
  std::vector<Json> records;
  for (const std::string& directory : flags.directories) {
    auto more = read_records(directory);
    if (!more) {
      return refuse(more.error().message);
    }
    records.insert(records.end(), more->begin(), more->end());
  }
  const bool is_one = flags.directories.size() == 1;
  const fs::path beside = is_one ? fs::path(flags.directories.front()) : fs::path(".");
  const fs::path path = flags.out ? fs::path(*flags.out) : beside / kReportFile;
  const std::string title = is_one ? title_of(flags.directories.front()) : "motley";
  if (Status status = replace_file(path, report_page(records, title)); !status) {
    return refuse(status.error().message);
  }
  fmt::print("{}\n", path.string());
  return kDone;
}

}  // namespace motley
