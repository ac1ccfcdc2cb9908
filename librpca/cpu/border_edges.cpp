// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/border_edges.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

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

/// Calls visit(y, x) for pixels around one that are not in the mask, some pixels away.
template <class Visit>
void for_each_outside(const ConstMask& mask, index_t row, index_t column, const Visit& visit) {
    constexpr index_t reach = 3;
    const auto [rows, columns] = mask.extent;
    for (const index_t y : {row - reach, row, row + reach}) {
        for (const index_t x : {column - reach, column, column + reach}) {
            const bool inside = y >= 0 && x >= 0 && y < rows && x < columns;
            if (inside && mask(y, x) == 0) visit(y, x);
        }
    }
}

}  // namespace

void BorderEdges::find(const ConstMask& mask, const ConstPicture& one, const ConstPicture& other,
                       float factor) {
    const auto [rows, columns] = mask.extent;
    pixels_.reshape({rows * columns});
    runs_.reshape({most_runs(rows, columns)});
    for (auto* sums : {&of_one_, &of_other_}) sums->reshape(runs_.extent());
    for (index_t row = 0; row < rows; ++row) {
        std::transform(&mask(row, 0), &mask(row, 0) + columns, &pixels_(row * columns),
                       [](std::uint8_t moves) { return std::uint8_t{moves != 0}; });
    }
    Run* const runs = runs_.data();
    const std::int32_t end = find_runs(pixels_.data(), rows, columns, 1, true, runs);
    for (auto* sums : {&of_one_, &of_other_}) std::fill_n(sums->data(), end, 0.0F);
    struct Levels {
        float one, other;
    };
    const auto levels_at = [&](index_t row, index_t column) {
        return Levels{smooth(one, row, column), smooth(other, row, column)};
    };
    for (std::int32_t i = 0; i < end; ++i) {
        const std::int32_t root = root_of(runs, i);
        const index_t row = runs[i].row;
        for (index_t column = runs[i].begin; column < runs[i].end; ++column) {
            std::optional<Levels> own;
            for_each_outside(mask, row, column, [&](index_t y, index_t x) {
                if (!own) own = levels_at(row, column);
                const Levels outside = levels_at(y, x);
                of_one_(root) += std::abs(own->one - outside.one);
                of_other_(root) += std::abs(own->other - outside.other);
            });
        }
    }
    for (std::int32_t i = 0; i < end; ++i) {
        const std::int32_t root = root_of(runs, i);
        const bool found = of_one_(root) > factor * of_other_(root);
        std::fill(&pixels_(runs[i].row * columns + runs[i].begin),
                  pixels_.data() + runs[i].row * columns + runs[i].end, std::uint8_t{found});
    }
}

}  // namespace aperture::rpca::cpu
