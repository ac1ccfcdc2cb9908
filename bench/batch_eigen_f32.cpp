// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_eigen.hpp"

namespace aperture::bench {

template BatchCall<float> eigen_call<float>(Task);
template BatchCall<float> eigen_fixed_call<float>(Task, int);

}  // namespace aperture::bench
