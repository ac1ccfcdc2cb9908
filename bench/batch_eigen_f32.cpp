// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_eigen.hpp"

namespace aperture::bench {

void register_eigen_f32() { add_eigen<float>(std::integer_sequence<int, 4, 8, 16>{}); }

}  // namespace aperture::bench
