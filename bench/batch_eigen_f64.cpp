// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_eigen.hpp"

namespace aperture::bench {

template BatchCall<double> eigen_call<double>(Task);
template BatchCall<double> eigen_fixed_call<double>(Task, int);

}  // namespace aperture::bench
