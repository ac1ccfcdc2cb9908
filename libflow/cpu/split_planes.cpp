// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/split_planes.hpp"

namespace aperture::flow {

void SplitPlanes::take_row(index_t plane, index_t y, const float* from, index_t columns) {
    float* even = row(plane, 0, y);
    float* odd = row(plane, 1, y);
    for (index_t k = 0; k < columns / 2; ++k) {
        even[k] = from[2 * k];
        odd[k] = from[2 * k + 1];
    }
    if (columns % 2 != 0) even[columns / 2] = from[columns - 1];
}

void SplitPlanes::give_row(index_t plane, index_t y, float* to, index_t columns) const {
    const float* even = row(plane, 0, y);
    const float* odd = row(plane, 1, y);
    for (index_t k = 0; k < columns / 2; ++k) {
        to[2 * k] = even[k];
        to[2 * k + 1] = odd[k];
    }
    if (columns % 2 != 0) to[columns - 1] = even[columns / 2];
}

}  // namespace aperture::flow
