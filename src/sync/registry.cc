#include "sync/registry.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.h"
#include "job/check_method.h"

// One line for each method: the value that its folder exports, in the order of `motley strategies`.
#define MOTLEY_METHODS(METHOD) \
  METHOD(kAllReduce)           \
  METHOD(kPartialReduce)       \
  METHOD(kHop)                 \
  METHOD(kAdPsgd)              \
  METHOD(kPsBsp)               \
  METHOD(kPsAsp)               \
  METHOD(kPsSsp)               \
  METHOD(kPsDssp)              \
  METHOD(kAdsp)                \
  METHOD(kAshl)                \
  METHOD(kLocalSgd)

namespace motley {

#define MOTLEY_DECLARE(value) extern const Method value;
MOTLEY_METHODS(MOTLEY_DECLARE)
#undef MOTLEY_DECLARE

namespace {

struct Registry {
  std::vector<const Method*> methods;
  std::unique_ptr<const JobSchema> schema;  // of these methods; created at first use
};

Registry& registry() {
#define MOTLEY_ADDRESS(value) &(value),
  static Registry known{{MOTLEY_METHODS(MOTLEY_ADDRESS)}, nullptr};
#undef MOTLEY_ADDRESS
  return known;
}

}  // namespace

void register_method(const Method& method) {
  std::optional<std::string> problem = problem_of(method.schema, job_schema());
  if (!problem && !method.make) {
    problem = "has no `make`";
  }
  if (!problem && method.schema.has_servers != (method.run_server != nullptr)) {
    problem = "must set `schema.has_servers` and `run_server` together";
  }
  if (problem) {
    throw std::invalid_argument(fmt::format("the method \"{}\" {}", method.name(), *problem));
  }
  registry().methods.push_back(&method);
  registry().schema.reset();
}

std::span<const Method* const> methods() { return registry().methods; }

const Method* find_method(std::string_view name) {
  for (const Method* method : methods()) {
    if (method->name() == name) {
      return method;
    }
  }
  return nullptr;
}

const Method& method_of(const Job& job) {
  const Method* method =
      job.strategy.sync.empty() ? methods().front() : find_method(job.strategy.sync);
  MOTLEY_CHECK(method, "no method named \"{}\"", job.strategy.sync);
  return *method;
}

int servers_of(const Job& job) {
  return method_of(job).schema.has_servers ? job.strategy.ps.servers : 0;
}

const JobSchema& job_schema() {
  std::unique_ptr<const JobSchema>& schema = registry().schema;
  if (!schema) {
    std::vector<const MethodSchema*> schemas;
    for (const Method* method : methods()) {
      schemas.push_back(&method->schema);
    }
    schema = std::make_unique<JobSchema>(std::move(schemas));
  }
  return *schema;
}

}  // namespace motley
