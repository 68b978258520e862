#!/usr/bin/python3
"""Loads the model that a run of motley saved, computes its accuracy in Python, and compares it with what
motley measured.
usage: evaluate.py RUN_DIR [DATA_DIR]      exit code 1: they are not the same"""

import gzip
import json
import os
import sys

import numpy
import torch

BATCH = 1000


def read_idx(directory, name):
    with gzip.open(os.path.join(directory, name + ".gz")) as file:
        data = file.read()
    shape = numpy.frombuffer(data, ">i4", count=data[3], offset=4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(shape)


def standardisation(images):
    """What motley does to pixels: minus the mean image of the training set, over the deviation that is
    left. As a factor and an image to add."""
    mean = images.sum(0, dtype=numpy.uint64) / len(images)
    squares = sum(numpy.square(part, dtype=numpy.uint32).sum(0, dtype=numpy.uint64)
                  for part in numpy.array_split(images, 60))
    deviation = numpy.sqrt((squares / len(images) - mean * mean).mean())
    return numpy.float32(1 / deviation), (-mean / deviation).astype(numpy.float32)


def accuracy(model, images, labels):
    right = 0
    with torch.no_grad():
        for begin in range(0, len(images), BATCH):
            logits = model(torch.from_numpy(images[begin : begin + BATCH]).unsqueeze(1))
            right += (logits.argmax(1).numpy() == labels[begin : begin + BATCH]).sum()
    return right / len(images)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    run = sys.argv[1]
    data = sys.argv[2] if len(sys.argv) > 2 else "/usr/share/datasets/fashion-mnist"
    torch.set_num_threads(1)
    model = torch.jit.load(os.path.join(run, "model.pt"))
    model.eval()
    scale, shift = standardisation(read_idx(data, "train-images-idx3-ubyte"))
    images = read_idx(data, "t10k-images-idx3-ubyte").astype(numpy.float32) * scale + shift
    here = accuracy(model, images, read_idx(data, "t10k-labels-idx1-ubyte"))
    with open(os.path.join(run, "summary.json"), encoding="utf-8") as file:
        there = json.load(file)["final_accuracy"]
    print(f"accuracy in Python {here:.4f}, measured by motley {there:.4f}")
    sys.exit(0 if abs(here - there) < 1e-6 else 1)


if __name__ == "__main__":
    main()
