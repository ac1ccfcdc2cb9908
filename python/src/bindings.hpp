// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace aperture::python {

/// Types of parameters and functions on host memory.
void bind_stap(nanobind::module_& module);

#if APERTURE_CUDA
/// Functions on a GPU's memory.
void bind_stap_on_gpu(nanobind::module_& module);
#endif

}  // namespace aperture::python
