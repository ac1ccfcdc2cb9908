// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/tall_qr.cuh"

namespace aperture::dense {

template class TallQr<float, core::Gpu>;
template class TallQr<double, core::Gpu>;

}  // namespace aperture::dense
