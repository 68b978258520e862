// The map stays true: who may include whom, and that documents which repeat what the code says
// still say the same. How long functions and files may be: tests/tidy/source_test.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocate/allocation.h"
#include "job/choices.h"
#include "job/parse.h"
#include "job/print.h"
#include "sync/registry.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = MOTLEY_SOURCE_DIR;

// ARCHITECTURE.md has this table in words.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {}},
    {"state", {"base"}},
    {"loader", {"base"}},
    {"codec", {"base", "state"}},
    {"node", {"base"}},
    {"cluster", {"base"}},
    {"allocate", {"base", "state"}},
    {"job", {"base", "cluster", "codec"}},
    {"record", {"base", "state"}},
    {"page", {"base"}},
    {"dashboard", {"base"}},
    {"sync", {"base", "codec", "node", "cluster", "allocate", "job", "record", "state"}},
    {"sim", {"base", "node", "cluster"}},
    {"fabric", {"base", "node"}},
    {"runtime",
     {"base", "node", "cluster", "allocate", "job", "record", "state", "sync", "sim", "fabric"}},
    {"session",
     {"base", "cluster", "dashboard", "job", "page", "record", "runtime", "state", "sync"}},
    {"compute", {"base", "job", "loader", "state", "sync"}},
    {"api", {"base", "compute", "loader", "session", "state", "sync"}},
    {"cli",
     {"base", "cluster", "compute", "dashboard", "job", "page", "record", "runtime", "session",
      "sync"}},
};

struct SourceLine {
  fs::path file;
  std::size_t number;
  std::string text;
};

bool is_source(const fs::path& file) {
  return file.extension() == ".h" || file.extension() == ".cc";
}
bool is_test(const fs::path& file) { return file.stem().string().ends_with("_test"); }

std::vector<fs::path> sources_under(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    if (entry.is_regular_file() && is_source(entry.path())) {
      files.push_back(entry.path());
    }
  }
  return files;
}

std::vector<SourceLine> lines_of(const fs::path& file) {
  std::vector<SourceLine> lines;
  std::ifstream stream(file);
  for (std::string text; std::getline(stream, text);) {
    lines.push_back({file, lines.size() + 1, text});
  }
  return lines;
}

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// include/motley/X/ is the public part of src/X/. What lies in include/motley/ itself is for all.
void expect_allowed_includes(const fs::path& root) {
  const std::regex own_include("#include \"(?:motley/(?=[a-z_]+/))?([a-z_]+)/.*");
  for (const fs::path& file : sources_under(root)) {
    const fs::path place = fs::relative(file, kRoot / root);
    if (is_test(file) || !place.has_parent_path()) {
      continue;
    }
    const std::string folder = *place.begin();
    ASSERT_TRUE(kMayInclude.contains(folder)) << folder << " is not in the table";
    for (const SourceLine& line : lines_of(file)) {
      std::smatch match;
      if (!std::regex_match(line.text, match, own_include) || match[1] == "motley") {
        continue;
      }
      const std::string other = match[1];
      EXPECT_TRUE(other == folder || kMayInclude.at(folder).contains(other))
          << file << ":" << line.number << ": " << folder << " may not include " << other;
    }
  }
}

TEST(Tidy, EveryFolderIncludesOnlyWhatItMay) {
  expect_allowed_includes("src");
  expect_allowed_includes("include/motley");
}

TEST(Tidy, PublicHeadersIncludePublicHeadersOnly) {
  const std::regex own_include("#include \"(.*)\"");
  int includes = 0;
  for (const fs::path& file : sources_under("include")) {
    for (const SourceLine& line : lines_of(file)) {
      std::smatch match;
      if (std::regex_match(line.text, match, own_include)) {
        EXPECT_TRUE(fs::exists(kRoot / "include" / match[1].str()))
            << file << ":" << line.number << ": " << match[1] << " is not public";
        ++includes;
      }
    }
  }
  EXPECT_GT(includes, 20);
}

TEST(Tidy, TorchStaysInComputeAndApi) {
  const std::regex torch("#include [<\"](torch|ATen|c10)/.*");
  for (const fs::path& file : sources_under("src")) {
    const std::string folder = *fs::relative(file, kRoot / "src").begin();
    for (const SourceLine& line : lines_of(file)) {
      EXPECT_TRUE(folder == "compute" || folder == "api" || !std::regex_match(line.text, torch))
          << file << ":" << line.number;
    }
  }
}

// src/sync/<method>/ and motley/sync/<method>.h are the method's own; a family of methods shares a
// folder, in which one of the files has the family's name: src/sync/ps/ps.cc for ps_asp.
bool is_own_file(const fs::path& place, std::string_view method) {
  const std::string family(method.substr(0, method.find('_')));
  const auto is_home = [&](const std::string& name) {
    return place.parent_path() == fs::path("src/sync") / name ||
           place == fs::path("include/motley/sync") / (name + ".h");
  };
  const bool has_folder = fs::exists(kRoot / "src/sync" / method);
  return is_home(std::string(method)) || (!has_folder && is_home(family));
}

// The first line of a file that names a method which it is not a part of; "": none does.
std::string foreign_method(const fs::path& file) {
  const fs::path place = fs::relative(file, kRoot);
  const auto lines = lines_of(file);
  for (const Method* method : methods()) {
    const std::regex word("(^|[^a-zA-Z0-9_/])" + std::string(method->name()) + "($|[^a-zA-Z0-9_])");
    for (const SourceLine& line : lines) {
      if (line.text.find(method->name()) == std::string::npos ||
          line.text.starts_with("#include")) {
        continue;
      }
      if (std::regex_search(line.text, word) && !is_own_file(place, method->name())) {
        return fmt::format("{}:{}: {}", place.string(), line.number, method->name());
      }
    }
  }
  return "";
}

// Whoever adds a method touches its own files and the registry. Tests may take any method as their
// example.
TEST(Tidy, AMethodIsNamedInItsOwnFilesOnly) {
  for (const char* folder : {"src", "include"}) {
    for (const fs::path& file : sources_under(folder)) {
      if (!is_test(file)) {
        EXPECT_EQ(foreign_method(file), "") << "a method is named outside of its own files";
      }
    }
  }
}

std::vector<fs::path> documents() {
  std::vector<fs::path> pages;
  for (const char* folder : {".", "docs", "docs/decisions", "examples/python_model"}) {
    for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
      if (entry.path().extension() == ".md") {
        pages.push_back(entry.path());
      }
    }
  }
  return pages;
}

// What a pattern with one group finds in a document, with the line it is on.
std::vector<std::pair<SourceLine, std::string>> found_in(const fs::path& page,
                                                         const std::regex& what) {
  std::vector<std::pair<SourceLine, std::string>> found;
  for (const SourceLine& line : lines_of(page)) {
    for (std::sregex_iterator each(line.text.begin(), line.text.end(), what), end; each != end;
         ++each) {
      found.emplace_back(line, (*each)[1].str());
    }
  }
  return found;
}

// Pages and pictures that the documents link to.
TEST(Tidy, DocumentsLeadSomewhere) {
  const std::regex link(R"link((?:\]\(|src=")([^):"# ]+)[)"#])link");
  int links = 0;
  for (const fs::path& page : documents()) {
    for (const auto& [line, target] : found_in(page, link)) {
      EXPECT_TRUE(fs::exists(page.parent_path() / target))
          << page << ":" << line.number << ": " << target;
      ++links;
    }
  }
  EXPECT_GT(links, 50);
}

// Every source file of the repository, as "/src/sync/loop.h".
std::vector<std::string> paths_of_sources() {
  std::vector<std::string> paths;
  for (const char* folder : {"include", "src", "tests", "bench", "examples"}) {
    for (const fs::path& file : sources_under(folder)) {
      paths.push_back("/" + fs::relative(file, kRoot).string());
    }
  }
  return paths;
}

// A document may leave out the first folders of a path: sync/loop.h is src/sync/loop.h.
TEST(Tidy, SourcesThatDocumentsNameExist) {
  const std::regex source(R"((?:^|[^A-Za-z0-9_/])([a-z][a-z0-9_/]*\.(?:h|cc))(?![A-Za-z0-9_]))");
  const std::set<std::string> others = {"app.cc", "torch/torch.h", "x.h", "y.h"};
  // These tell what was before, too.
  const std::set<std::string> of_the_past = {"CHANGELOG.md", "stability.md"};
  const std::vector<std::string> paths = paths_of_sources();
  int sources = 0;
  for (const fs::path& page : documents()) {
    if (of_the_past.contains(page.filename())) {
      continue;
    }
    for (const auto& found : found_in(page, source)) {
      const std::string& name = found.second;
      const bool exists = std::ranges::any_of(
          paths, [&](const std::string& path) { return path.ends_with("/" + name); });
      EXPECT_TRUE(exists || others.contains(name))
          << page << ":" << found.first.number << ": " << name;
      ++sources;
    }
  }
  EXPECT_GT(sources, 100);
}

TEST(Tidy, EveryMethodIsWhole) {
  for (const Method* method : methods()) {
    EXPECT_FALSE(method->schema.summary.empty()) << method->name();
    EXPECT_TRUE(method->make) << method->name();
    EXPECT_EQ(method->schema.has_servers, method->run_server != nullptr) << method->name();
  }
}

TEST(Tidy, TheAllocationsAreThoseAJobMayName) {
  for (const Choice& choice : kAllocations) {
    EXPECT_NE(find_allocation(choice.name), nullptr) << choice.name;
    EXPECT_FALSE(choice.summary.empty()) << choice.name;
  }
}

TEST(Tidy, TheJobFilePageListsTheKeysThatExist) {
  EXPECT_NE(read(kRoot / "docs/job-file.md").find(describe_keys(job_schema())), std::string::npos)
      << "run scripts/update-docs: docs/job-file.md should contain:\n"
      << describe_keys(job_schema());
}

TEST(Tidy, APageListsTheKeysOfEachMethod) {
  for (const Method* method : methods()) {
    const std::string table = describe_keys(job_schema(), method->name());
    const auto pages = documents();
    const bool stands = std::ranges::any_of(
        pages, [&](const fs::path& page) { return read(page).find(table) != std::string::npos; });
    EXPECT_TRUE(stands) << "run scripts/update-docs: a page should contain:\n" << table;
  }
}

// Also those that only a person or scripts/reproduce runs.
TEST(Tidy, JobFilesCanBeRun) {
  int variants = 0;
  for (const char* folder : {"examples", "scenarios"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() != ".toml") {
        continue;
      }
      const std::string name = entry.path().string();
      const bool compares = read(entry.path()).find("[[variant]]") != std::string::npos;
      const auto jobs = parse_variants(job_schema(), read(entry.path()), name, {}, Mode::kSimulate);
      EXPECT_EQ(jobs.has_value(), compares) << jobs.error().message;
      EXPECT_TRUE(parse_job(job_schema(), read(entry.path()), name, {}, Mode::kConfig));
      variants += jobs ? static_cast<int>(jobs->jobs.size()) : 0;
    }
  }
  EXPECT_GT(variants, 100);
}

TEST(Tidy, TheArchitecturePageNamesEveryFolder) {
  const std::string page = read(kRoot / "ARCHITECTURE.md");
  for (const auto& [folder, others] : kMayInclude) {
    EXPECT_NE(page.find("src/" + folder + "/"), std::string::npos) << folder;
  }
}

}  // namespace
}  // namespace motley
