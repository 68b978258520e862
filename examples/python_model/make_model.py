#!/usr/bin/python3
"""A model written in Python, for motley to train: any module that torch.jit.script takes, whose forward
gives logits. Here a small convnet for images of 28 x 28, with BatchNorm and dropout.
usage: make_model.py [FILE]      default: net.pt"""

import sys

import torch
from torch import nn


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(16 * 7 * 7, 10),
    )


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "net.pt"
    torch.manual_seed(1)
    model = make_model()
    torch.jit.script(model).save(path)
    print(f"{path}: {sum(p.numel() for p in model.parameters())} parameters")


if __name__ == "__main__":
    main()
