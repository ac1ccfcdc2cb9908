// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/sweep_run.hpp"

namespace aperture::compose {

template class Sweep<core::Gpu>;

}  // namespace aperture::compose
