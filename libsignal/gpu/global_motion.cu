// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/gpu/global_motion.cuh"

namespace aperture::signal {

template class MotionFit<core::Gpu>;

}  // namespace aperture::signal
