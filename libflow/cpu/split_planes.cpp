// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/split_planes.hpp"

#include "libflow/solver_model.hpp"

namespace aperture::flow {

void SplitPlanes::load_row(index_t plane, index_t y, const float* from, index_t columns) {
    float* even = row(plane, 0, y);
    float* odd = row(plane, 1, y);
    for (index_t k = 0; k < columns / 2; ++k) {
        even[k] = from[2 * k];
        odd[k] = from[2 * k + 1];
    }
    if (columns % 2 != 0) even[columns / 2] = from[columns - 1];
}

void SplitPlanes::store_row(index_t plane, index_t y, float* to, index_t columns) const {
    const float* even = row(plane, 0, y);
    const float* odd = row(plane, 1, y);
    for (index_t k = 0; k < columns / 2; ++k) {
        to[2 * k] = even[k];
        to[2 * k + 1] = odd[k];
    }
    if (columns % 2 != 0) to[columns - 1] = even[columns / 2];
}

void average_rows(const float* even0, const float* odd0, const float* even1, const float* odd1,
                  index_t fine, float* to_even, float* to_odd) {
    const index_t whole = fine / 2;
    for (index_t j = 0; j < (whole + 1) / 2; ++j) {
        to_even[j] = 0.25F * ((even0[2 * j] + odd0[2 * j]) + (even1[2 * j] + odd1[2 * j]));
    }
    for (index_t j = 0; j < whole / 2; ++j) {
        to_odd[j] =
            0.25F * ((even0[2 * j + 1] + odd0[2 * j + 1]) + (even1[2 * j + 1] + odd1[2 * j + 1]));
    }
    if (fine % 2 != 0) {
        const float share = is_alone(whole, fine) ? 0.25F : 0.5F;
        (whole % 2 == 0 ? to_even : to_odd)[whole / 2] = share * (even0[whole] + even1[whole]);
    }
}

}  // namespace aperture::flow
