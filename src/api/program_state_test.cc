#include "api/program_state.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>

#include <stdexcept>

#include "api/trainer_position.h"
#include "state/state.h"

namespace motley::program_state_test {
namespace {

std::string nothing() { return ""; }
void ignore(const std::string&) {}

template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ProgramState, RestoresWhatTheProgramSaved) {
  std::string text("a\0b", 3);
  ProgramState saved;
  saved.add(
      "text", [&] { return text; }, ignore);
  saved.add("empty", nothing, ignore);
  const State state = state_of(saved);
  std::string loaded;
  std::string empty = "not yet";
  ProgramState program;
  program.add("empty", nothing, [&](const std::string& read) { empty = read; });
  program.add("text", nothing, [&](const std::string& read) { loaded = read; });
  restore(program, state);
  EXPECT_EQ(loaded, text);
  EXPECT_EQ(empty, "");
}

TEST(ProgramState, RestoresThingsOfTorch) {
  const auto fill = [](ProgramState& program, torch::Tensor& tensor, torch::nn::Module& module,
                       torch::optim::Optimizer& optimizer, torch::optim::LRScheduler& schedule) {
    program.add("tensor", tensor);
    program.add("module", module);
    program.add("optimizer", optimizer);
    program.add("schedule", schedule);
  };
  struct Things {
    torch::Tensor tensor = torch::rand({2, 3}, torch::kDouble);
    torch::nn::Linear module{3, 2};
    torch::optim::Adam optimizer{module->parameters(), 0.1};
    torch::optim::StepLR schedule{optimizer, 2, 0.5};
    ProgramState program;

    void step() {
      module->forward(torch::ones({1, 3})).sum().backward();
      optimizer.step();
      schedule.step();
    }
  };
  Things first;
  Things second;
  fill(first.program, first.tensor, *first.module, first.optimizer, first.schedule);
  fill(second.program, second.tensor, *second.module, second.optimizer, second.schedule);
  first.step();
  restore(second.program, state_of(first.program));
  for (int i = 0; i < 4; ++i) {
    first.optimizer.zero_grad();
    second.optimizer.zero_grad();
    first.step();
    second.step();
  }
  EXPECT_TRUE(torch::equal(first.tensor, second.tensor));
  EXPECT_TRUE(torch::equal(first.module->weight, second.module->weight));
  EXPECT_EQ(second.optimizer.param_groups()[0].options().get_lr(), 0.1 / 4);
}

TEST(ProgramState, ANameIsUniqueAndPlain) {
  ProgramState program;
  program.add("ema", nothing, ignore);
  EXPECT_EQ(message_of([&] { program.add("ema", torch::zeros({1})); }),
            "add_state(\"ema\"): there is a state of that name already");
  EXPECT_EQ(message_of([&] { program.add("a.b", nothing, ignore); }),
            "add_state(\"a.b\"): expected a name without dots");
  EXPECT_THROW(program.add("", nothing, ignore), std::invalid_argument);
  EXPECT_THROW(program.add("no load", nothing, nullptr), std::invalid_argument);
  EXPECT_THROW(program.add("undefined", torch::Tensor()), std::invalid_argument);
}

TEST(ProgramState, AMissingNameIsRefusedAndAnUnknownOneIsNot) {
  ProgramState saved;
  ProgramState wants;
  wants.add("ema", nothing, ignore);
  EXPECT_EQ(message_of([&] { restore(wants, state_of(saved)); }),
            "it has no state \"ema\", which the program adds; the run that wrote it added: none");
  saved.add("best", nothing, ignore);
  saved.add("log", nothing, ignore);
  EXPECT_EQ(
      message_of([&] { restore(wants, state_of(saved)); }),
      "it has no state \"ema\", which the program adds; the run that wrote it added: best, log");
  ProgramState plain;
  EXPECT_NO_THROW(restore(plain, state_of(saved)));
}

TEST(ProgramState, WhatDoesNotFitIsRefusedByName) {
  ProgramState saved;
  saved.add("ema", torch::zeros({3}));
  saved.add(
      "text", [] { return "12x"; }, ignore);
  ProgramState larger;
  larger.add("ema", torch::zeros({4}));
  EXPECT_EQ(message_of([&] { restore(larger, state_of(saved)); }),
            "the tensor of_ema.tensor has the shape [3]; expected [4]");
  ProgramState other_kind;
  other_kind.add("ema", nothing, ignore);
  EXPECT_EQ(message_of([&] { restore(other_kind, state_of(saved)); }),
            "the tensor of_ema.bytes is missing");
  ProgramState throws;
  throws.add("text", nothing,
             [](const std::string&) { throw std::runtime_error("expected a number"); });
  EXPECT_EQ(message_of([&] { restore(throws, state_of(saved)); }),
            "the state \"text\" of the program cannot be loaded: expected a number");
}

TEST(TrainerPosition, AnEpochIsAnnouncedOnceAlsoIfTheRunIsResumed) {
  std::vector<std::int64_t> announced;
  const auto note = [&](std::int64_t epochs) { announced.push_back(epochs); };
  TrainerPosition first(100);
  first.advance(90, note);
  first.count_own_step();
  first.advance(230, note);
  first.count_own_step();
  EXPECT_EQ(announced, (std::vector<std::int64_t>{1, 2}));
  TrainerPosition second(100);
  restore(second, state_of(first));
  const Standing standing = second.standing(20);
  EXPECT_EQ(standing.samples, 230);
  EXPECT_EQ(standing.steps, 11);
  EXPECT_EQ(standing.epochs, 2);
  EXPECT_EQ(standing.own_steps, 2);
  second.advance(299, note);
  EXPECT_EQ(announced.size(), 2U);
  second.advance(300, note);
  EXPECT_EQ(announced.back(), 3);
}

TEST(TrainerPosition, AStateOfOtherDataIsRefused) {
  TrainerPosition first(100);
  TrainerPosition second(101);
  EXPECT_EQ(message_of([&] { restore(second, state_of(first)); }),
            "the data set has 101 samples, but the state is of a run with 100");
}

}  // namespace
}  // namespace motley::program_state_test
