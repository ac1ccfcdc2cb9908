// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/gpu/registration.cuh"

namespace aperture::signal {

template class Registration<core::Gpu>;

}  // namespace aperture::signal
