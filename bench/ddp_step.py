#!/usr/bin/python3
"""Times a training step with PyTorch's DistributedDataParallel over Gloo.

usage: ddp_step.py mlp|cnn [--workers 2] [--batch 256] [--steps N] [--warm-up N] [--data DIR]

Prints one JSON object: the mean and median seconds per step after the warm-up, on rank 0. Model,
batch and work per step are those of bench/jobs/MODEL.toml: samples are stored as bytes, a step
selects rows by index and converts them to floats (without a DataLoader, whose worker processes
would slow DDP down here), then forward, backward with averaged gradients, SGD with momentum. One
torch thread per worker, on the loopback interface.
"""
import argparse
import gzip
import json
import os
import statistics
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # read when torch is loaded
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import numpy
import torch
from torch import distributed, nn


# The models of src/compute/models.cc, for 28x28 images with one channel and 10 classes.
def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(inplace=True),
                         nn.Linear(128, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 256), nn.ReLU(inplace=True), nn.Linear(256, 10))


MODELS = {"mlp": mlp, "cnn": cnn}


def read_idx(path, header):
    with gzip.open(path, "rb") as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)


def load(folder):
    """The training images as bytes, one row each, and their labels."""
    labels = read_idx(os.path.join(folder, "train-labels-idx1-ubyte.gz"), 8)
    images = read_idx(os.path.join(folder, "train-images-idx3-ubyte.gz"), 16)
    rows = images.reshape(len(labels), -1).copy()
    return torch.from_numpy(rows), torch.from_numpy(labels.astype(numpy.int64))


def standardisation(images):
    """Scale and shift that give the pixels mean 0 and standard deviation 1: pixel * scale + shift."""
    values = images.numpy()
    mean, deviation = float(values.mean()), float(values.std())
    return 1 / deviation, -mean / deviation


def time_steps(rank, options, rendezvous):
    """Returns the seconds of every step after the warm-up."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    distributed.init_process_group("gloo", init_method=f"file://{rendezvous}/store", rank=rank,
                                   world_size=options.workers)
    images, labels = load(options.data)
    scale, shift = standardisation(images)
    model = nn.parallel.DistributedDataParallel(MODELS[options.model]())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    order = torch.randperm(len(labels))
    share = options.batch // options.workers
    steps_per_epoch = len(order) // options.batch

    def step(number):
        first = (number % steps_per_epoch) * options.batch + rank * share
        chosen = order[first:first + share]
        inputs = images.index_select(0, chosen).to(torch.float32).mul_(scale).add_(shift)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(inputs.view(share, 1, 28, 28)), labels.index_select(0, chosen))
        loss.backward()
        optimizer.step()

    for number in range(options.warm_up):
        step(number)
    distributed.barrier()
    seconds = []
    for number in range(options.steps):
        begin = time.perf_counter()
        step(options.warm_up + number)
        seconds.append(time.perf_counter() - begin)
    distributed.barrier()
    distributed.destroy_process_group()
    return seconds


def work(rank, options, rendezvous):
    seconds = time_steps(rank, options, rendezvous)
    if rank == 0:
        print(json.dumps({
            "bench": "ddp_step",
            "model": options.model,
            "workers": options.workers,
            "batch": options.batch,
            "steps": options.steps,
            "mean_s": statistics.fmean(seconds),
            "median_s": statistics.median(seconds),
        }), flush=True)


def main():
    parser = argparse.ArgumentParser(description="time a step of PyTorch DDP over Gloo")
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="motley-bench-") as rendezvous:
        torch.multiprocessing.spawn(work, (options, rendezvous), nprocs=options.workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
