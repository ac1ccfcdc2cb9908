# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gpu_libraries import LIBRARIES

import aperture
from aperture import _places


@pytest.fixture(autouse=True)
def _on_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a device, arrays of the host are computed on the CPU, but in test_gpu*.py."""
    if not request.path.name.startswith("test_gpu"):
        monkeypatch.setattr(_places, "has_gpu", lambda: False)


@pytest.fixture(params=LIBRARIES, ids=[library.name for library in LIBRARIES])
def library(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param.name)
    return request.param(0)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """On busy machines, threads wait long for one another after each of many short steps."""
    aperture.set_num_threads(1)
    yield
    aperture.set_num_threads(0)


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """The path of one of the programs, which the environment's APERTURE_PROGRAMS has."""

    def find(name: str) -> str:
        folder = os.environ.get("APERTURE_PROGRAMS")
        if not folder:
            pytest.skip("APERTURE_PROGRAMS does not name the folder of the programs")
        path = Path(folder) / name
        assert path.exists(), path
        return str(path)

    return find


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded data, which the environment's APERTURE_DATA names."""
    folder = Path(os.environ.get("APERTURE_DATA", Path(__file__).parents[2] / ".." / "shared/data"))
    if not folder.is_dir():
        pytest.skip(f"no recorded data: {folder} does not exist")
    return folder


@pytest.fixture
def interrupted() -> Callable[[Callable[[], object]], float]:
    """Runs a call, interrupts it as Ctrl-C does, and returns how long it then went on."""

    def run(call: Callable[[], object], after: float = 0.2) -> float:
        sent: list[float] = []

        def send() -> None:
            time.sleep(after)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        # A shell may have started the tests with interrupts ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        sender = threading.Thread(target=send)
        sender.start()
        done = False
        try:
            call()
            done = True
            sender.join()
            time.sleep(1)
        except KeyboardInterrupt:
            # Objects that the exception keeps alive may wait for a GPU when they go.
            ended = time.monotonic()
        finally:
            sender.join()
            signal.signal(signal.SIGINT, before)
        assert not done, "the call ended before it was interrupted"
        return ended - sent[0]

    return run
