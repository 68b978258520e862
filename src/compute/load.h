// Makes the Task of a job: the only way to models and data. Contains no torch.
//
//   Result<std::shared_ptr<Task>> task = load_task(job, Parts::kTraining);   // for a worker
//   Result<std::shared_ptr<Task>> task = load_task(job, Parts::kBoth);       // for a coordinator
//
// Data kinds: idx, cifar10, libsvm, synthetic (compute/data). Models: svm, mlp, cnn, resnet20
// (compute/models.h), torchscript (compute/torchscript.h), phantom (sizes only). Any problem with a
// file, or with a model that does not fit its data, is a one-line Error.
//
// Cost of a Task: the samples in memory once, however many replicas it makes. Each replica takes
// two blocks of the model's size (three with momentum, four with adam) and its activations.
//
// Task::model_file() is in the format of torch.jit.load(), in Python:
//   model = torch.jit.load("model.pt"); dict(model.named_parameters())
// A built-in model has parameters and buffers there but no forward: load them into a module of your
// own with load_state_dict(model.state_dict()). A torchscript model is complete.
#pragma once

#include <memory>

#include "base/error.h"
#include "compute/data/dataset.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"

namespace motley {

// make_replica() needs the training part and evaluate() the test part; training_samples() is
// correct with either.
Result<std::shared_ptr<Task>> load_task(const Job& job, Parts parts);

}  // namespace motley
