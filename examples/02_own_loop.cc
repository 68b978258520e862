// The training loop of the libtorch tutorials, with motley: motley launch -n 4 ./02_own_loop DATA
// DATA is a directory with the unpacked files of MNIST or Fashion-MNIST.
#include <motley/trainer.h>
#include <torch/torch.h>

#include <cstdio>

struct Net : torch::nn::Module {
  torch::nn::Linear fc1{register_module("fc1", torch::nn::Linear(784, 64))};
  torch::nn::Linear fc2{register_module("fc2", torch::nn::Linear(64, 10))};
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(fc1(x.flatten(1)));
    return torch::log_softmax(fc2(x), 1);
  }
};

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  torch::manual_seed(1);
  auto model = std::make_shared<Net>();
  auto dataset = torch::data::datasets::MNIST(argc > 1 ? argv[1] : "data")
                     .map(torch::data::transforms::Normalize<>(0.5, 0.5))
                     .map(torch::data::transforms::Stack<>());
  torch::optim::SGD optimizer(model->parameters(), 0.05);
  motley::Trainer trainer(session, model, optimizer, dataset, {.batch = 64, .epochs = 1});
  double last = 0;

  while (auto batch = trainer.begin()) {
    auto loss = torch::nll_loss(model->forward(batch->data), batch->target);
    loss.backward();
    trainer.finish(loss);
    last = loss.item<double>();
  }

  if (session.exit_code() || !session.is_main()) return session.exit_code();
  std::printf("last loss %.3f\n", last);
  torch::save(model, "net.pt");
  return 0;
}
