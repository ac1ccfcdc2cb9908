// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace aperture::python {

void bind_stap(nanobind::module_& module);

}  // namespace aperture::python
