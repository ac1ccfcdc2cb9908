// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_eigen.hpp"

namespace aperture::bench {

template BatchCall<std::complex<float>> eigen_call<std::complex<float>>(Task);
template BatchCall<std::complex<float>> eigen_fixed_call<std::complex<float>>(Task, int);

}  // namespace aperture::bench
