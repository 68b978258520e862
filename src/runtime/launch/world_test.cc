#include "runtime/launch/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace motley::world_test {
namespace {

using Settings = std::map<std::string, std::string>;

Result<World> world_of(const Settings& settings) {
  return world_from([&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(const Settings& settings) {
  const auto world = world_of(settings);
  return world ? "no error" : world.error().message;
}

Settings with(Settings settings, const Settings& more) {
  for (const auto& [name, value] : more) {
    settings[name] = value;
  }
  return settings;
}

Settings without(Settings settings, const std::string& name) {
  settings.erase(name);
  return settings;
}

const Settings kTorchrun = {{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "10.0.0.1"},
                            {"MASTER_PORT", "29500"}};
const Settings kMpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                          {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                          {"PMIX_NAMESPACE", "1567031297"}};
const Settings kSrun = {{"SLURM_PROCID", "6"},
                        {"SLURM_STEP_ID", "3"},
                        {"SLURM_JOB_ID", "42"},
                        {"SLURM_NTASKS", "16"},
                        {"SLURM_STEP_NUM_TASKS", "9"},
                        {"SLURM_LOCALID", "1"},
                        {"SLURM_NODEID", "1"},
                        {"SLURM_STEP_TASKS_PER_NODE", "5,4"},
                        {"SLURM_STEP_NODELIST", "node[03-04]"},
                        {"SLURM_JOB_NODELIST", "node[01-04]"}};

TEST(World, AProcessAlone) {
  const World world = world_of({}).value();
  EXPECT_EQ(world.rank, 0);
  EXPECT_EQ(world.size, 1);
  EXPECT_EQ(world.local_rank, 0);
  EXPECT_EQ(world.local_size, 1);
  EXPECT_EQ(world.master.host, "127.0.0.1");
  EXPECT_EQ(world.master.port, 0);
  EXPECT_EQ(world.launcher, "none");
  EXPECT_EQ(world.token, "");
  EXPECT_EQ(world_of({{"MOTLEY_TOKEN", "secret"}}).value().token, "secret");
}

TEST(World, Torchrun) {
  const World world = world_of(with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "a1"}})).value();
  EXPECT_EQ(world.rank, 5);
  EXPECT_EQ(world.size, 8);
  EXPECT_EQ(world.local_rank, 1);
  EXPECT_EQ(world.local_size, 4);
  EXPECT_EQ(world.master.host, "10.0.0.1");
  EXPECT_EQ(world.master.port, 29500);
  EXPECT_EQ(world.launcher, "torchrun");
  EXPECT_EQ(world.token, "a1");
  EXPECT_EQ(world_of(with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "none"}})).value().token, "");
}

TEST(World, BesideTorchrunsOwnStore) {
  const auto world_at = [](const char* port, const char* used) {
    return world_of(with(kTorchrun, {{"MASTER_PORT", port},  //
                                     {"TORCHELASTIC_USE_AGENT_STORE", used}}));
  };
  EXPECT_EQ(world_at("29500", "True").value().master.port, 29501);
  EXPECT_EQ(world_at("29500", "False").value().master.port, 29500);
  EXPECT_EQ(world_at("65535", "False").value().master.port, 65535);
  EXPECT_FALSE(world_at("65535", "True"));
}

TEST(World, ByHand) {
  const World world =
      world_of({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "4000"}}).value();
  EXPECT_EQ(world.rank, 1);
  EXPECT_EQ(world.master.host, "127.0.0.1");
  EXPECT_EQ(world.local_size, 1);
  EXPECT_EQ(world.launcher, "environment");
  EXPECT_EQ(world_of(with(kTorchrun, {{"MOTLEY_ERROR_FILE", "f"}})).value().launcher,
            "motley launch");
  EXPECT_EQ(world_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).value().master.port, 0);
  EXPECT_EQ(error_of(without(kTorchrun, "MASTER_PORT")),
            "MASTER_PORT is not set; set it to the port at which rank 0 can be reached");
}

TEST(World, Mpirun) {
  const World world = world_of(kMpirun).value();
  EXPECT_EQ(world.rank, 2);
  EXPECT_EQ(world.size, 4);
  EXPECT_EQ(world.local_rank, 2);
  EXPECT_EQ(world.local_size, 4);
  EXPECT_EQ(world.master.host, "127.0.0.1");
  EXPECT_EQ(world.master.port, port_of_job("1567031297"));
  EXPECT_EQ(world.launcher, "mpirun");
  EXPECT_EQ(world.token, "1567031297");
  const auto older = with(without(kMpirun, "PMIX_NAMESPACE"), {{"OMPI_MCA_ess_base_jobid", "7"}});
  EXPECT_EQ(world_of(older).value().master.port, port_of_job("7"));
  EXPECT_EQ(world_of(with(kMpirun, {{"MASTER_PORT", "99"}})).value().master.port, 99);
  EXPECT_FALSE(world_of(without(kMpirun, "PMIX_NAMESPACE")));
}

TEST(World, MpirunOnSeveralMachines) {
  const auto settings = with(kMpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}});
  EXPECT_NE(error_of(settings).find("mpirun -x MASTER_ADDR="), std::string::npos);
  EXPECT_EQ(world_of(with(settings, {{"MASTER_ADDR", "a"}})).value().master.host, "a");
}

TEST(World, Srun) {
  const World world = world_of(kSrun).value();
  EXPECT_EQ(world.rank, 6);
  EXPECT_EQ(world.size, 9);
  EXPECT_EQ(world.local_rank, 1);
  EXPECT_EQ(world.local_size, 4);
  EXPECT_EQ(world.master.host, "node03");
  EXPECT_EQ(world.master.port, port_of_job("42.3"));
  EXPECT_EQ(world.launcher, "srun");
  EXPECT_EQ(world.token, "42.3");
  EXPECT_EQ(world_of(without(kSrun, "SLURM_STEP_NUM_TASKS")).value().size, 16);
  EXPECT_EQ(world_of(without(kSrun, "SLURM_STEP_NODELIST")).value().master.host, "node01");
  EXPECT_EQ(world_of(with(kSrun, {{"MASTER_ADDR", "a"}})).value().master.host, "a");
  EXPECT_EQ(error_of(with(kSrun, {{"SLURM_STEP_NODELIST", "a["}})),
            "SLURM_STEP_NODELIST=a[: [ without ]; set MASTER_ADDR to the machine of rank 0");
}

TEST(World, TasksOnThisNodeOfSlurm) {
  const auto here = [](const char* tasks, const char* node) {
    return world_of(with(kSrun, {{"SLURM_STEP_TASKS_PER_NODE", tasks}, {"SLURM_NODEID", node}}))
        .value()
        .local_size;
  };
  EXPECT_EQ(here("5,4", "0"), 5);
  EXPECT_EQ(here("3(x3)", "2"), 3);
  EXPECT_EQ(here("5,2(x2),3", "2"), 2);
  EXPECT_EQ(here("5,2(x2),3", "3"), 3);
  for (const char* unclear : {"", "x", "3(x", "3(x)", "3(y2)", "3(x1)", "-3", "3,"}) {
    EXPECT_EQ(here(unclear, "1"), 2) << unclear;  // local rank 1 has at least one beside it
  }
}

// Slurm gives a batch script a rank too, but it is the only process.
TEST(World, ABatchScriptIsAlone) {
  const auto batch = without(kSrun, "SLURM_STEP_ID");
  const auto shell = with(kSrun, {{"SLURM_STEP_ID", "4294967290"}});
  for (const Settings& settings : {batch, shell}) {
    const World world = world_of(settings).value();
    EXPECT_EQ(world.size, 1);
    EXPECT_EQ(world.rank, 0);
    EXPECT_EQ(world.launcher, "none");
  }
}

TEST(World, TheFirstGroupThatIsSetDecides) {
  EXPECT_EQ(world_of(with(kSrun, kMpirun)).value().launcher, "mpirun");
  EXPECT_EQ(world_of(with(with(kSrun, kMpirun), kTorchrun)).value().launcher, "environment");
  for (const Settings& settings : {kTorchrun, kMpirun, kSrun}) {
    EXPECT_EQ(world_of(with(settings, {{"MOTLEY_TOKEN", "mine"}})).value().token, "mine");
  }
}

struct Variable {
  Settings settings;
  std::string name;
};

std::vector<Variable> numbers() {
  return {{kTorchrun, "RANK"},
          {kTorchrun, "WORLD_SIZE"},
          {kTorchrun, "LOCAL_RANK"},
          {kTorchrun, "LOCAL_WORLD_SIZE"},
          {kTorchrun, "MASTER_PORT"},
          {kMpirun, "OMPI_COMM_WORLD_RANK"},
          {kMpirun, "OMPI_COMM_WORLD_SIZE"},
          {kMpirun, "OMPI_COMM_WORLD_LOCAL_RANK"},
          {kMpirun, "OMPI_COMM_WORLD_LOCAL_SIZE"},
          {kSrun, "SLURM_PROCID"},
          {kSrun, "SLURM_STEP_NUM_TASKS"},
          {kSrun, "SLURM_LOCALID"},
          {kSrun, "SLURM_STEP_ID"}};
}

TEST(World, AWrongNumberIsNamed) {
  for (const auto& [settings, name] : numbers()) {
    for (const char* value : {"", "x", "3x", " 3", "+3", "0x3", "3.0", "-0", "-1", "9999999999",
                              "99999999999999999999", "-99999999999999999999"}) {
      const std::string error = error_of(with(settings, {{name, value}}));
      EXPECT_TRUE(error.starts_with(name + "=" + value + ": ")) << error;
    }
  }
}

TEST(World, HalfOfAPairIsAnError) {
  EXPECT_EQ(error_of({{"RANK", "1"}}), "RANK=1 is set, but WORLD_SIZE is not");
  EXPECT_EQ(error_of({{"WORLD_SIZE", "4"}}), "WORLD_SIZE=4 is set, but RANK is not");
  EXPECT_EQ(error_of(without(kMpirun, "OMPI_COMM_WORLD_RANK")),
            "OMPI_COMM_WORLD_SIZE=4 is set, but OMPI_COMM_WORLD_RANK is not");
  EXPECT_EQ(error_of({{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}}),
            "SLURM_PROCID=1 is set, but SLURM_NTASKS is not");
}

RC_GTEST_PROP(World, RanksAreBelowTheSize, ()) {
  const int rank = *rc::gen::inRange(-3, 20);
  const int size = *rc::gen::inRange(-3, 20);
  const auto world = world_of(
      {{"RANK", std::to_string(rank)}, {"WORLD_SIZE", std::to_string(size)}, {"MASTER_PORT", "1"}});
  RC_ASSERT(world.has_value() == (rank >= 0 && rank < size));
  if (world) {
    RC_ASSERT(world->rank == rank);
    RC_ASSERT(world->size == size);
  }
}

// Any text is either read as a number or refused.
RC_GTEST_PROP(World, AnyTextIsANumberOrAnError, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456-+ x")));
  const auto all = numbers();
  const auto& [settings, name] = all[*rc::gen::inRange<std::size_t>(0, all.size())];
  const auto world = world_of(with(settings, {{name, text}}));
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!is_number) {
    RC_ASSERT(!world.has_value());
    RC_ASSERT(world.error().message.starts_with(name + "=" + text + ": "));
  } else if (world.has_value() && name == "RANK") {
    RC_ASSERT(world->rank == std::stoi(text));
  }
}

struct HostList {
  std::string text;   // in Slurm's notation
  std::string first;  // the first host when written out
};

HostList any_host() {
  HostList host;
  for (int part = 0, parts = *rc::gen::inRange(1, 4); part < parts; ++part) {
    const std::string name =
        *rc::gen::elementOf(std::vector<std::string>{"n", "rack", "a-b.", "x1"});
    host.text += name;
    host.first += name;
    if (*rc::gen::arbitrary<bool>()) {
      const std::string low = *rc::gen::elementOf(std::vector<std::string>{"0", "03", "7", "0010"});
      host.text += "[" + low;
      for (int more = 0, count = *rc::gen::inRange(0, 3); more < count; ++more) {
        host.text += *rc::gen::elementOf(std::vector<std::string>{"-99", ",12", ",14-15"});
      }
      host.text += "]";
      host.first += low;
    }
  }
  return host;
}

RC_GTEST_PROP(World, TheFirstHostOfAList, ()) {
  const HostList first = any_host();
  std::string list = first.text;
  for (int more = 0, count = *rc::gen::inRange(0, 3); more < count; ++more) {
    list += "," + any_host().text;
  }
  RC_ASSERT(first_host(list).value() == first.first);
}

RC_GTEST_PROP(World, AnyHostListGivesAHostOrAnError, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("a0[],-")));
  const auto host = first_host(text);
  if (host.has_value()) {
    RC_ASSERT(!host->empty());
    RC_ASSERT(host->find_first_of("[],") == std::string::npos);
  } else {
    RC_ASSERT(!host.error().message.empty());
  }
}

TEST(World, InvalidHostLists) {
  for (const char* wrong : {"", ",a", "a[", "a]", "a[]", "a[-3]", "a[,3]", "a[b]"}) {
    EXPECT_FALSE(first_host(wrong)) << wrong;
  }
}

RC_GTEST_PROP(World, PortsOfJobsAreBelowTheEphemeralRange, ()) {
  const int port = port_of_job(*rc::gen::arbitrary<std::string>());
  RC_ASSERT(port >= 20'000);
  RC_ASSERT(port < 32'000);
}

// Processes of one run may come from different builds, so this must never change.
TEST(World, ThePortOfAJobIsTheSameForEver) {
  EXPECT_EQ(port_of_job(""), 20'000 + 0xcbf29ce484222325 % 12'000);
  EXPECT_EQ(port_of_job("a"), 20'000 + 0xaf63dc4c8601ec8c % 12'000);
}

}  // namespace
}  // namespace motley::world_test
