# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The libraries whose arrays on GPUs are tested, with the same functions each."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


class Torch:
    name = "torch"

    def __init__(self, gpu: int) -> None:
        self.module = importlib.import_module("torch")
        self.device = f"cuda:{gpu}"

    def array(self, host: Any) -> Any:
        return self.module.from_numpy(host).to(self.device)

    def host(self, array: Any) -> Any:
        return array.cpu().numpy()

    def type(self) -> Any:
        return self.module.Tensor


class Cupy:
    name = "cupy"

    def __init__(self, gpu: int) -> None:
        self.module = importlib.import_module("cupy")
        self.gpu = gpu

    def array(self, host: Any) -> Any:
        with self.module.cuda.Device(self.gpu):
            return self.module.asarray(host)

    def host(self, array: Any) -> Any:
        return self.module.asnumpy(array)

    def type(self) -> Any:
        return self.module.ndarray


class Jax:
    name = "jax"

    def __init__(self, gpu: int) -> None:
        self.module = importlib.import_module("jax")
        # Products of the tests, too, are to be those of fp32.
        self.module.config.update("jax_default_matmul_precision", "highest")
        self.device = self.module.devices("gpu")[gpu]

    def array(self, host: Any) -> Any:
        return self.module.device_put(host, self.device)

    def host(self, array: Any) -> Any:
        return np.asarray(array)

    def type(self) -> Any:
        return self.module.Array


LIBRARIES: list[Any] = [Torch, Cupy, Jax]
