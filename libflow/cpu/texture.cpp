// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/texture.hpp"

#include <algorithm>
#include <cmath>

#include "libflow/cpu/row_loops.hpp"
#include "libflow/image_model.hpp"

namespace aperture::flow {

void TextureFilter::run(core::Cpu& cpu, float share, PaddedPlanes& image) {
    const Shape shape = image.shape();
    const auto columns = static_cast<int>(shape.columns);
    const auto clear = [&](index_t y) {
        for (index_t i : {0, 1}) std::fill_n(dual_.row(i, y) - 1, columns + 1, 0.0F);
    };
    // u = f + theta div p; p is zero left of and above the image, and in its last column and row.
    const auto find_structure = [&](index_t y) {
        const float* f = image.row(0, y);
        const float* across = dual_.row(0, y);
        const float* down = dual_.row(1, y);
        const float* above = y > 0 ? dual_.row(1, y - 1) : nullptr;
        float* const u = structure_.row(0, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const float flux = (across[x] - across[x - 1]) + (down[x] - (above ? above[x] : 0.0F));
            u[x] = f[x] + texture_theta * flux;
        }
        u[columns] = u[columns - 1];
    };
    const auto update_dual = [&](index_t y) {
        const float* u = structure_.row(0, y);
        const float* below = structure_.row(0, std::min(y + 1, shape.rows - 1));
        float* const across = dual_.row(0, y);
        float* const down = dual_.row(1, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const float a = across[x] + texture_dual_step / texture_theta * (u[x + 1] - u[x]);
            const float d = down[x] + texture_dual_step / texture_theta * (below[x] - u[x]);
            const float scale = 1.0F / std::max(1.0F, std::sqrt(a * a + d * d));
            across[x] = a * scale;
            down[x] = d * scale;
        }
    };
    for_rows(cpu, shape, clear);
    for (int i = 0; i < texture_iterations; ++i) {
        for_rows(cpu, shape, find_structure);
        for_rows(cpu, shape, update_dual);
    }
    for_rows(cpu, shape, find_structure);
    for_rows(cpu, shape, [&](index_t y) {
        float* const f = image.row(0, y);
        const float* u = structure_.row(0, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) f[x] -= share * u[x];
        set_image_margins(f, shape.columns);
    });
}

}  // namespace aperture::flow
