# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Radar and vision signal processing: STAP, optical flow, correlation, robust PCA.

Functions take arrays of NumPy, or of libraries that NumPy can read, and return arrays of the same
library. They release the interpreter's lock while they compute.
"""

from aperture._corr import Correlation, CorrelationLengths, Peak, correlate
from aperture._dense import qr, tall_svd
from aperture._extension import core as _core
from aperture._flow import (
    FlowEstimator,
    flow,
    flow_consistency,
    flow_errors,
    flow_to_image,
    solve_horn_schunck,
    warp,
)
from aperture._rpca import BackgroundSubtractor, RpcaResult, foreground_masks, rpca
from aperture._stap import (
    Stap,
    StapResult,
    perfect_suite_cube,
    simulate_clutter,
    stap,
)
from aperture._system import build_info, cpu_info, gpu_info, set_num_threads, version

DeviceError = _core.DeviceError
__version__ = version()

__all__ = [
    "BackgroundSubtractor",
    "Correlation",
    "CorrelationLengths",
    "DeviceError",
    "FlowEstimator",
    "Peak",
    "RpcaResult",
    "Stap",
    "StapResult",
    "__version__",
    "build_info",
    "correlate",
    "cpu_info",
    "flow",
    "flow_consistency",
    "flow_errors",
    "flow_to_image",
    "foreground_masks",
    "gpu_info",
    "perfect_suite_cube",
    "qr",
    "rpca",
    "set_num_threads",
    "simulate_clutter",
    "solve_horn_schunck",
    "stap",
    "tall_svd",
    "warp",
]
