// A program that does to its model and its optimizer what users do, right or wrong.
// mistakes_test.py starts it as the ranks of a run and reads what every rank prints at the end.
//
//   mistakes [WHAT] [--rank RANK]      RANK: only that rank does it
//
//   load        loads its model after the trainer was made
//   load-late   the same in the fourth step
//   adam        has taken steps with Adam before
//   unfreeze    trains the frozen layer, too, from the fourth step on
//   phases      the same with a trainer of its own, after the first one
//   grow        gives the optimizer a parameter in the fourth step
//   step        calls optimizer.step() in the loop
//   no-backward, nan, late-hook
//   decay       has another weight decay
//   clamp       changes the parameters between two steps
#include <motley/trainer.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>

namespace {

constexpr std::int64_t kSamples = 96;

struct MistakesNet : torch::nn::Module {
  MistakesNet() {
    register_module("frozen", frozen);
    register_module("body", body);
    register_module("unused", unused);
    frozen->weight.set_requires_grad(false);
    frozen->bias.set_requires_grad(false);
    counter = register_buffer("counter", torch::zeros({1}, torch::kLong));
  }
  torch::Tensor forward(const torch::Tensor& x) { return body(torch::tanh(frozen(x))); }

  torch::nn::Linear frozen{4, 5};
  torch::nn::Linear body{5, 1};
  torch::nn::Linear unused{2, 2};
  torch::Tensor counter;
};

double total(const std::vector<torch::Tensor>& tensors) {
  double all = 0;
  for (const auto& tensor : tensors) {
    all += tensor.to(torch::kDouble).abs().sum().item<double>();
  }
  return all;
}

// Of what Adam remembers of the body.
double momenta(torch::optim::Adam& optimizer, const MistakesNet& net) {
  const auto found =
      optimizer.state().find(c10::guts::to_string(net.body->weight.unsafeGetTensorImpl()));
  if (found == optimizer.state().end()) {
    return 0;
  }
  const auto& state = static_cast<torch::optim::AdamParamState&>(*found->second);
  return static_cast<double>(state.step()) + total({state.exp_avg(), state.exp_avg_sq()});
}

void load_another(MistakesNet& net) {
  MistakesNet other;
  const torch::NoGradGuard no_grad;
  for (const auto& each : other.parameters()) {
    each.fill_(0.25);
  }
  torch::serialize::OutputArchive out;
  other.save(out);
  std::stringstream text;
  out.save_to(text);
  torch::serialize::InputArchive in;
  in.load_from(text);
  net.load(in);
}

void use_adam(torch::optim::Adam& optimizer, MistakesNet& net) {
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    net.forward(torch::ones({1, 4})).sum().backward();
    optimizer.step();
  }
}

class Program {
 public:
  Program(motley::Session& session, std::string what, bool does_it)
      : session_(session), what_(std::move(what)), does_it_(does_it) {}

  void run() {
    torch::optim::Adam optimizer(
        net_.parameters(), torch::optim::AdamOptions(0.01).weight_decay(does("decay") ? 0.2 : 0.1));
    if (does("adam")) {
      use_adam(optimizer, net_);
    }
    train(optimizer);
    if (does("phases")) {
      net_.frozen->weight.set_requires_grad(true);
      train(optimizer);
    }
    print(optimizer);
  }

 private:
  bool does(const char* what) const { return does_it_ && what_ == what; }

  void train(torch::optim::Adam& optimizer) {
    const auto data = motley::samples(kSamples, [](std::span<const motley::SampleIndex> indices) {
      torch::Tensor rows = torch::empty({static_cast<std::int64_t>(indices.size()), 4});
      for (std::size_t i = 0; i < indices.size(); ++i) {
        rows[static_cast<std::int64_t>(i)].fill_(static_cast<double>(indices[i] % 7) / 7);
      }
      return rows;
    });
    motley::Trainer trainer(session_, net_, optimizer, data, {.batch = 12, .epochs = 1});
    if (does("load")) {
      load_another(net_);
    }
    int step = 0;
    while (auto batch = trainer.begin()) {
      torch::Tensor loss = (net_.forward(*batch) - 1).pow(2).mean();
      if (does("nan") && step == 3) {
        loss = loss * std::numeric_limits<float>::quiet_NaN();
      }
      if (!does("no-backward")) {
        loss.backward();
      }
      if (does("step")) {
        optimizer.step();
      }
      trainer.finish(loss);
      if (++step == 3) {
        after_three_steps(trainer, optimizer);
      }
      if (does("clamp")) {
        const torch::NoGradGuard no_grad;
        net_.body->weight.clamp_(-0.3, 0.3);
      }
    }
  }

  template <class Trainer>
  void after_three_steps(Trainer& trainer, torch::optim::Adam& optimizer) {
    if (does("load-late")) {
      load_another(net_);
    }
    if (does("unfreeze")) {
      net_.frozen->weight.set_requires_grad(true);
    }
    if (does("grow")) {
      optimizer.add_param_group(torch::optim::OptimizerParamGroup({torch::zeros({2})}));
    }
    if (does("late-hook")) {
      trainer.on_step([](const motley::Standing&) {});
    }
  }

  void print(torch::optim::Adam& optimizer) {
    std::printf(
        "{\"rank\": %d, \"parameters\": %.17g, \"frozen\": %.17g, \"unused\": %.17g, "
        "\"adam\": %.17g}\n",
        session_.rank(), total(net_.body->parameters()), total(net_.frozen->parameters()),
        total(net_.unused->parameters()), momenta(optimizer, net_));
  }

  motley::Session& session_;
  const std::string what_;
  const bool does_it_;
  MistakesNet net_;
};

}  // namespace

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  const bool one_rank = argc > 3 && !std::strcmp(argv[2], "--rank");
  const bool does_it = !one_rank || std::atoi(argv[3]) == session.rank();
  torch::manual_seed(1 + static_cast<std::uint64_t>(session.rank()));  // other models on purpose
  Program(session, argc > 1 ? argv[1] : "", does_it).run();
  return session.exit_code();
}
