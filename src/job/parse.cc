#include "job/parse.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <type_traits>

#include "job/check_cluster.h"
#include "job/check_strategy.h"
#include "job/choices.h"
#include "job/document.h"
#include "job/keys.h"
#include "job/print.h"
#include "job/value.h"

namespace motley {
namespace {

constexpr std::string_view kVariant = "variant";
constexpr std::size_t kMaxVariants = 1000;

tl::unexpected<Error> at(const Entry& entry, const toml::node& value, std::string_view message) {
  return tl::unexpected(Document::error(entry, value, message));
}

Status assign(const JobSchema& schema, Job& job, const Entry& entry) {
  if (const Key<Job>* key = schema.find(entry.path)) {
    const Stored stored = store(job, *key, *entry.value, entry.path);
    if (!stored) {
      return at(entry, *stored.error().value, stored.error().message);
    }
    return {};
  }
  if (schema.is_section(entry.path)) {
    return at(entry, *entry.value, wrong_type(entry.path, *entry.value, "a table"));
  }
  return at(entry, *entry.value, unknown_key(entry.path, schema.nearest(entry.path)));
}

// Expands a list, or a number that stands for one, to `count` numbers.
template <class Number>
Status fill_list(std::vector<Number>& list, const Entry& entry, int count,
                 std::string_view counted) {
  const auto size = static_cast<std::size_t>(count);
  if (!entry.value->is_array()) {
    list.assign(size, list.at(0));
  } else if (list.size() != size) {
    return at(
        entry, *entry.value,
        fmt::format("{} has {} entries, but {} is {}", entry.path, list.size(), counted, count));
  }
  return {};
}

template <class Number>
Status fill_list(std::vector<Number>& list, const Key<Job>& key, const Job& job,
                 const Document& document) {
  const Entry* entry = document.find(key.name);
  if (const auto* rule = std::get_if<PerWorker>(&key.rule)) {
    if (!entry && rule->otherwise) {
      list.assign(static_cast<std::size_t>(job.cluster.workers),
                  static_cast<Number>(*rule->otherwise));
    }
    return entry ? fill_list(list, *entry, job.cluster.workers, "cluster.workers") : Status{};
  }
  if (!document.schema().applies(key, job)) {
    list.clear();  // a job without servers may have settings of servers
    return {};
  }
  return entry ? fill_list(list, *entry, job.strategy.ps.servers, "strategy.ps.servers") : Status{};
}

// Expands every list to one number per worker or server.
Status fill_lists(Job& job, const Document& document) {
  for (const Key<Job>& key : document.schema().keys()) {
    const Status status = std::visit(
        [&]<class Place>(Place place) -> Status {
          if constexpr (std::is_same_v<Place, std::vector<double>& (*)(Job&)> ||
                        std::is_same_v<Place, std::vector<int>& (*)(Job&)> ||
                        std::is_same_v<Place, std::vector<std::int64_t>& (*)(Job&)>) {
            return fill_list(place(job), key, job, document);
          }
          return {};
        },
        key.place);
    if (!status) {
      return status;
    }
  }
  return {};
}

// Checks that keys which apply only to one kind of model, data or optimizer are given only there,
// and that required keys are given.
Status check_where_keys_apply(const Job& job, const Document& document) {
  const JobSchema& schema = document.schema();
  for (const Key<Job>& key : schema.keys()) {
    const Entry* entry = document.find(key.name);
    const bool is_of_other_method = !key.method.empty() && key.method != job.strategy.sync;
    const bool may_be_unused = key.belongs.may_be_unused || is_of_other_method;
    if (entry && !schema.applies(key, job) && !may_be_unused) {
      return at(*entry, *entry->value, fmt::format("{} is only for {}", key.name, key.belongs.to));
    }
    if (!entry && key.belongs.needed && schema.applies(key, job)) {
      const std::string_view chooser = key.belongs.to.substr(0, key.belongs.to.find(' '));
      return tl::unexpected(document.error_at(
          {chooser}, fmt::format("{} is missing; it is needed for {}", key.name, key.belongs.to)));
    }
  }
  return {};
}

Status check_sizes(const Job& job, const Document& document) {
  if (job.train.batch < job.cluster.workers) {
    return tl::unexpected(document.error_at(
        {"train.batch", "cluster.workers"},
        fmt::format("train.batch is {}, but cluster.workers is {}: every worker needs a sample in "
                    "every step",
                    job.train.batch, job.cluster.workers)));
  }
  if (job.phantom() && job.data.kind != DataKind::kSynthetic) {
    return tl::unexpected(
        document.error_at({"data.kind", "model.kind"},
                          fmt::format("model.kind = \"phantom\" needs data.kind = \"synthetic\", "
                                      "not \"{}\"",
                                      name_of(job.data.kind))));
  }
  return {};
}

Status check_program(const Job& job, const Document& document, Mode mode) {
  const bool both = job.of_program() && job.data.kind == DataKind::kProgram;
  const bool any = job.of_program() || job.data.kind == DataKind::kProgram;
  if (mode == Mode::kProgram && !both) {
    return tl::unexpected(
        document.error_at({job.of_program() ? "data.kind" : "model.kind"},
                          "the program brings its own model and data; remove [model] and [data]"));
  }
  if (any && (!both || mode == Mode::kTrain || mode == Mode::kSimulate)) {
    return tl::unexpected(
        document.error_at({job.of_program() ? "model.kind" : "data.kind"},
                          "\"program\" is only for programs that use motley as a library"));
  }
  return {};
}

Status check_mode(const Job& job, const Document& document, Mode mode) {
  if (mode == Mode::kTrain && job.phantom()) {
    return tl::unexpected(document.error_at(
        {"model.kind"}, "model.kind = \"phantom\" can only be simulated: it computes nothing"));
  }
  if (mode == Mode::kSimulate && !job.cluster.paced()) {
    return tl::unexpected(document.error_at(
        {"cluster.unit", "cluster.overhead", "cluster.workers"},
        "simulate needs cluster.unit above 0: the seconds that one sample takes at speed 1"));
  }
  return {};
}

Result<Job> resolve(const Document& document, Mode mode) {
  const JobSchema& schema = document.schema();
  Job job = schema.default_job();
  if (mode == Mode::kProgram) {
    job.model.kind = ModelKind::kProgram;
    job.data.kind = DataKind::kProgram;
  }
  for (const Entry* entry : document.entries()) {
    if (Status status = assign(schema, job, *entry); !status) {
      return tl::unexpected(status.error());
    }
  }
  if (!job.train.epochs && !job.train.steps) {
    job.train.epochs = 1;
  }
  const MethodSchema& method = schema.method_of(job);
  if (method.complete) {
    method.complete(job);
  }
  if (!document.find("strategy.codec")) {
    job.strategy.codec = method.default_codec;
  }
  Status status = check_program(job, document, mode);
  status = status ? fill_lists(job, document) : status;
  status = status ? check_where_keys_apply(job, document) : status;
  status = status ? check_sizes(job, document) : status;
  status = status ? check_strategy(method, job, document) : status;
  status = status ? check_cluster(job, document, mode) : status;
  status = status ? check_mode(job, document, mode) : status;
  if (!status) {
    return tl::unexpected(status.error());
  }
  std::ranges::stable_sort(job.cluster.events, {}, &ClusterEvent::at);
  return job;
}

// Which variant the caller asks for, and its mode. Without a name, all variants.
struct Wanted {
  Mode mode = Mode::kConfig;
  std::optional<std::string_view> name = std::nullopt;

  Mode mode_of(std::string_view variant) const {
    return !name || *name == variant ? mode : Mode::kConfig;
  }
};

Result<Job> resolve_variant(const Document& document, const Entry& variants, const toml::node& node,
                            const Wanted& wanted) {
  const toml::table* table = node.as_table();
  if (!table) {
    return at(variants, node, wrong_type("a variant", node, "a table"));
  }
  const auto* name = table->get_as<std::string>("name");
  if (!name) {
    return at(variants, node, "a variant needs a name (a string)");
  }
  // --set name=... names the comparison, not its variants.
  Document changed = document;
  changed.extract("name");
  return resolve(changed.with(*table, *variants.source), wanted.mode_of(name->get()));
}

Result<std::vector<Job>> resolve_variants(const Document& document, const Entry& variants,
                                          const Wanted& wanted) {
  const toml::array* list = variants.value->as_array();
  if (!list) {
    return at(variants, *variants.value,
              wrong_type(kVariant, *variants.value, "a list of tables, [[variant]]"));
  }
  if (list->size() > kMaxVariants) {
    return at(
        variants, *variants.value,
        fmt::format("variant has {} entries, but may have {} at most", list->size(), kMaxVariants));
  }
  std::vector<Job> jobs;
  std::set<std::string> names;
  for (const toml::node& variant : *list) {
    Result<Job> job = resolve_variant(document, variants, variant, wanted);
    if (!job) {
      return tl::unexpected(job.error());
    }
    if (!names.insert(job->name).second) {
      return at(variants, *variant.as_table()->get("name"),
                fmt::format("two variants have the name \"{}\"", job->name));
    }
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

// A whole job file, with all parts checked.
struct Parsed {
  Job job;
  std::vector<Job> variants;
};

Result<Parsed> parse(const JobSchema& schema, std::string_view text, const std::string& file_name,
                     std::span<const std::string> overrides, Mode mode, const Wanted& wanted) {
  Result<Document> document = Document::parse(schema, text, file_name, overrides);
  if (!document) {
    return tl::unexpected(document.error());
  }
  const std::optional<Entry> variants = document->extract(kVariant);
  Result<Job> job = resolve(*document, mode);
  if (!job) {
    return tl::unexpected(job.error());
  }
  if (!variants) {
    return Parsed{std::move(*job), {}};
  }
  return resolve_variants(*document, *variants, wanted).map([&](std::vector<Job>&& jobs) {
    return Parsed{std::move(*job), std::move(jobs)};
  });
}

std::string names_of(const std::vector<Job>& jobs) {
  std::vector<std::string_view> names;
  std::ranges::transform(jobs, std::back_inserter(names), &Job::name);
  return fmt::format("{}", fmt::join(names, ", "));
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<Job> parse_job(const JobSchema& schema, std::string_view text, const std::string& file_name,
                      std::span<const std::string> overrides, Mode mode) {
  return parse(schema, text, file_name, overrides, mode, {}).map([](Parsed&& parsed) {
    return std::move(parsed.job);
  });
}

Result<Job> parse_variant(const JobSchema& schema, std::string_view text,
                          const std::string& file_name, std::span<const std::string> overrides,
                          Mode mode, std::string_view variant) {
  Result<Parsed> parsed = parse(schema, text, file_name, overrides, Mode::kConfig, {mode, variant});
  if (!parsed) {
    return tl::unexpected(parsed.error());
  }
  const auto found = std::ranges::find(parsed->variants, variant, &Job::name);
  if (found == parsed->variants.end()) {
    return fail("{}: no variant \"{}\"; {}", file_name, variant,
                parsed->variants.empty()
                    ? "the file has no variants"
                    : fmt::format("available: {}", names_of(parsed->variants)));
  }
  return std::move(*found);
}

Result<Variants> parse_variants(const JobSchema& schema, std::string_view text,
                                const std::string& file_name,
                                std::span<const std::string> overrides, Mode mode) {
  Result<Parsed> parsed = parse(schema, text, file_name, overrides, Mode::kConfig, {mode});
  if (!parsed) {
    return tl::unexpected(parsed.error());
  }
  if (parsed->variants.empty()) {
    return fail("{}: no [[variant]] to compare; add one with a name and the keys that it changes",
                file_name);
  }
  return Variants{std::move(parsed->job.name), std::move(parsed->variants)};
}

Result<Job> parse_program(const JobSchema& schema, const Job& options, int workers,
                          std::string_view text, const std::string& file_name,
                          std::span<const std::string> overrides) {
  Job base = options;
  base.cluster.workers = workers;
  const Result<Document> below = Document::of_program(schema, changes_to_toml(schema, base));
  Result<Document> above = Document::parse(schema, text, file_name, overrides, "--motley-set");
  if (!below || !above) {
    return tl::unexpected(below ? above.error() : below.error());
  }
  above->extract(kVariant);
  const Document document = above->over(*below);
  Result<Job> job = resolve(document, Mode::kProgram);
  if (job && job->cluster.workers != workers) {
    return tl::unexpected(document.error_at(
        {"cluster.workers"},
        fmt::format("cluster.workers is {}, but {} {} started", job->cluster.workers, workers,
                    workers == 1 ? "one process was" : "processes were")));
  }
  return job;
}

Result<std::string> read_job_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    return fail("{}: cannot be opened: {}", path, std::strerror(errno));
  }
  // One byte more than allowed, so that parsing notices a file that is too large.
  std::string text(Document::kMaxBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) {
    return fail("{}: cannot be read: {}", path, std::strerror(errno));
  }
  return text;
}

}  // namespace motley
