// From a job to what it trains: the one rendezvous to models and data. No torch in here.
//
//   Result<std::shared_ptr<Task>> task = load_task(job, Parts::kTraining);   // a worker
//   Result<std::shared_ptr<Task>> task = load_task(job, Parts::kBoth);       // a coordinator
//
// Data kinds: idx, cifar10, libsvm, synthetic (compute/data). Models: svm, mlp, cnn, resnet20
// (compute/models.h), torchscript (compute/torchscript.h), phantom (sizes only). Everything that is
// wrong with a file, or with a model that does not fit its data, is an Error of one line.
//
// What a Task made here costs: the samples in memory once, however many replicas it makes; a
// replica two blocks of the model's size (three with momentum, four with adam) and its activations.
//
// Task::model_file() gives what torch.jit.load() reads, in Python:
//   model = torch.jit.load("model.pt"); dict(model.named_parameters())
// A built-in model has parameters and buffers but no forward there: load them into a module of your
// own with load_state_dict(model.state_dict()). A torchscript model comes back whole.
#pragma once

#include <memory>

#include "base/error.h"
#include "compute/data/dataset.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"

namespace motley {

// Of Task's calls, make_replica() needs the training part and evaluate() the test part;
// training_samples() is right with either.
Result<std::shared_ptr<Task>> load_task(const Job& job, Parts parts);

}  // namespace motley
