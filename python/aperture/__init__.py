# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Radar and vision signal processing: STAP, optical flow, correlation, robust PCA.

Functions take arrays of NumPy, or of libraries that NumPy can read, and return arrays of the same
library. They release the interpreter's lock while they compute.
"""

from aperture import compose, dense, sweep
from aperture._background import BackgroundSubtractor, foreground_masks
from aperture._camera import CameraMotion
from aperture._corr import Correlation, CorrelationLengths, Peak, correlate
from aperture._extension import core as _core
from aperture._flow import FlowEstimator, flow
from aperture._flow_fields import flow_consistency, flow_errors, flow_to_image, warp
from aperture._horn_schunck import solve_horn_schunck
from aperture._kept import clear_cache
from aperture._motion import Motions, fit_motion
from aperture._program import program
from aperture._program_bodies import Operand, TextOperation, operand, operation
from aperture._program_functions import Stencil, stencil
from aperture._program_source import ProgramError
from aperture._registration import Alignment, register
from aperture._rpca import RpcaResult, rpca
from aperture._simulation import perfect_suite_cube, simulate_clutter
from aperture._stap import Stap, stap
from aperture._stap_result import StapResult
from aperture._system import build_info, cpu_info, gpu_info, set_num_threads, version
from aperture._tall_qr import qr, tall_svd

DeviceError = _core.DeviceError
UnfitDevice = _core.UnfitDevice
__version__ = version()

__all__ = [
    "Alignment",
    "BackgroundSubtractor",
    "CameraMotion",
    "Correlation",
    "CorrelationLengths",
    "DeviceError",
    "FlowEstimator",
    "Motions",
    "Operand",
    "Peak",
    "ProgramError",
    "RpcaResult",
    "Stap",
    "StapResult",
    "Stencil",
    "TextOperation",
    "UnfitDevice",
    "__version__",
    "build_info",
    "clear_cache",
    "compose",
    "correlate",
    "cpu_info",
    "dense",
    "fit_motion",
    "flow",
    "flow_consistency",
    "flow_errors",
    "flow_to_image",
    "foreground_masks",
    "gpu_info",
    "operand",
    "operation",
    "perfect_suite_cube",
    "program",
    "qr",
    "register",
    "rpca",
    "set_num_threads",
    "simulate_clutter",
    "solve_horn_schunck",
    "stap",
    "stencil",
    "sweep",
    "tall_svd",
    "warp",
]
