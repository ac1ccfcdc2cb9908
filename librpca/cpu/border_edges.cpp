// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/border_edges.hpp"

#include <algorithm>
#include <cmath>

namespace aperture::rpca::cpu {
namespace {

/// The sum over the channels and the pixels around: noise and texture have no borders.
float smooth(const ConstPicture& picture, index_t row, index_t column) {
    const auto [channels, rows, columns] = picture.extent;
    const index_t bottom = std::min(row + 1, rows - 1);
    const index_t right = std::min(column + 1, columns - 1);
    float sum = 0;
    float count = 0;
    for (index_t y = std::max<index_t>(row - 1, 0); y <= bottom; ++y) {
        for (index_t x = std::max<index_t>(column - 1, 0); x <= right; ++x) {
            for (index_t c = 0; c < channels; ++c) sum += picture(c, y, x);
            ++count;
        }
    }
    return sum / count;
}

}  // namespace

std::int32_t BorderEdges::root_of(std::int32_t pixel) {
    while (parents_(pixel) != pixel) {
        parents_(pixel) = parents_(parents_(pixel));
        pixel = parents_(pixel);
    }
    return pixel;
}

void BorderEdges::find(const ConstMask& mask, const ConstPicture& one, const ConstPicture& other) {
    /// Pixels between those that are compared.
    constexpr index_t reach = 3;
    const auto [rows, columns] = mask.extent;
    for (auto* sums : {&of_one_, &of_other_}) sums->reshape({rows * columns});
    parents_.reshape({rows * columns});
    const auto at = [&, columns = columns](index_t row, index_t column) {
        return static_cast<std::int32_t>(row * columns + column);
    };
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            const std::int32_t pixel = at(row, column);
            parents_(pixel) = mask(row, column) == 0 ? outside : pixel;
            of_one_(pixel) = of_other_(pixel) = 0;
            if (mask(row, column) == 0) continue;
            // The neighbours that come before.
            if (column > 0 && mask(row, column - 1) != 0) {
                parents_(root_of(pixel)) = root_of(at(row, column - 1));
            }
            const index_t right = std::min(column + 2, columns);
            for (index_t x = std::max<index_t>(column - 1, 0); row > 0 && x < right; ++x) {
                if (mask(row - 1, x) != 0) parents_(root_of(pixel)) = root_of(at(row - 1, x));
            }
        }
    }
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            if (mask(row, column) == 0) continue;
            const std::int32_t root = root_of(at(row, column));
            for (const index_t y : {row - reach, row, row + reach}) {
                for (const index_t x : {column - reach, column, column + reach}) {
                    const bool inside = y >= 0 && x >= 0 && y < rows && x < columns;
                    if (!inside || mask(y, x) != 0) continue;
                    of_one_(root) += std::abs(smooth(one, row, column) - smooth(one, y, x));
                    of_other_(root) += std::abs(smooth(other, row, column) - smooth(other, y, x));
                }
            }
        }
    }
}

}  // namespace aperture::rpca::cpu
