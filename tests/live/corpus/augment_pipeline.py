"""Augmentation on tensors: a pipeline of callables from a config; its strength is a float, a seed chooses the flips, sizes vary."""
import functools
import random
from typing import NamedTuple

import torch


class AugmentConfig(NamedTuple):
    strength: float
    flip: bool
    crop: int | None
    order: tuple[str, ...] = ("brightness", "contrast", "noise")


def brightness(images, strength):
    return images + strength


def contrast(images, strength, around=0.5):
    return (images - around) * (1 + strength) + around


def noise(images, strength, std=0.1):
    return images + torch.linspace(-1, 1, images.shape[-1]) * std * strength


OPERATIONS = {"brightness": brightness, "contrast": functools.partial(contrast, around=0.4), "noise": noise}


@torch.compile(backend="aot_eager")
def augment(images, config, operations):
    if config.flip:
        images = images.flip(-1)
    if config.crop is not None:
        edge = config.crop
        images = images[..., edge:-edge, edge:-edge]
    for name in config.order:
        images = operations[name](images, config.strength)
    return images.clamp(0, 1)


random.seed(3)
for epoch in range(6):
    size = (8, 3, 32, 32) if epoch < 4 else (8, 3, 32, 48)
    images = torch.linspace(0, 1, 8 * 3 * size[2] * size[3]).reshape(size)
    config = AugmentConfig(0.1 * epoch, random.random() < 0.5, 2 if epoch >= 3 else None)
    print(f"epoch {epoch}: {augment(images, config, OPERATIONS).mean().item():.4f}")
