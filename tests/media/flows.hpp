// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"

namespace aperture::media::tests {

inline core::Array<float, 3> constant_flow(core::index_t rows, core::index_t columns, float u,
                                           float v) {
    core::Array<float, 3> flow({2, rows, columns});
    for (core::index_t row = 0; row < rows; ++row) {
        for (core::index_t x = 0; x < columns; ++x) {
            flow(0, row, x) = u;
            flow(1, row, x) = v;
        }
    }
    return flow;
}

}  // namespace aperture::media::tests
