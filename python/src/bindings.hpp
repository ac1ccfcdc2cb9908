// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace aperture::python {

/// Each adds the classes that compute on the module's executor. The module for CPUs also gets types
/// of parameters and functions of host memory.
void bind_batches(nanobind::module_& module);
void bind_compose(nanobind::module_& module);
void bind_corr(nanobind::module_& module);
void bind_flow(nanobind::module_& module);
void bind_motion(nanobind::module_& module);
void bind_registration(nanobind::module_& module);
void bind_rpca(nanobind::module_& module);
void bind_stap(nanobind::module_& module);
void bind_tall_qr(nanobind::module_& module);

}  // namespace aperture::python
