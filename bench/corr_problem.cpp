// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/corr_problem.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using corr::index_t;
using corr::PlanesView;
using corr::Problem;

/// The sum of products of the image with itself at one displacement.
double defined_sum(PlanesView<core::Host> planes, index_t dy, index_t dx) {
    const auto [count, rows, columns] = planes.extent;
    const auto first = [](index_t lag) { return std::max(index_t{0}, -lag); };
    const auto end = [](index_t extent, index_t lag) { return extent - std::max(index_t{0}, lag); };
    double sum = 0;
    for (index_t p = 0; p < count; ++p) {
        for (index_t y = first(dy); y < end(rows, dy); ++y) {
            // Sums of row sums lose fewer digits.
            double of_row = 0;
            for (index_t x = first(dx); x < end(columns, dx); ++x) {
                of_row += static_cast<double>(planes(p, y + dy, x + dx)) *
                          static_cast<double>(planes(p, y, x));
            }
            sum += of_row;
        }
    }
    return sum;
}

}  // namespace

Problem square_problem(index_t extent, index_t lags) {
    return {.planes = 4, .image = {extent, extent}, .lags = {lags, lags}};
}

Problem main_problem() { return smoke ? square_problem(40, 20) : square_problem(500, 250); }

Planes random_planes(const Problem& problem) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    Planes planes({problem.images * problem.planes, problem.image.rows, problem.image.columns});
    const index_t values = planes.size() / problem.images;
    float* const first = planes.data();
    std::generate_n(first, values, [&] { return normal(generator); });
    for (index_t i = 1; i < problem.images; ++i) {
        std::rotate_copy(first, first + i % values, first + values, first + i * values);
    }
    return planes;
}

Sums sums_of(const Problem& problem) {
    const corr::Shape extent = problem.lags.extent();
    return Sums({problem.images, extent.rows, extent.columns});
}

bool verifies(const Planes& planes, const Problem& problem, const Sums& sums, double tolerance) {
    const index_t last_row = problem.lags.rows - 1;
    const index_t last_column = problem.lags.columns - 1;
    const index_t sign = problem.lags.both_signs ? -1 : 1;
    const corr::Shape displacements[] = {{0, 0},
                                         {last_row, last_column},
                                         {sign * (last_row / 3), last_column / 2},
                                         {last_row / 2, sign * (last_column / 5)}};
    for (const index_t image : std::set<index_t>{0, problem.images - 1}) {
        const auto own =
            planes.view().slice(0, image * problem.planes, (image + 1) * problem.planes);
        const double energy = defined_sum(own, 0, 0);
        for (const auto& [dy, dx] : displacements) {
            const double sum =
                sums(image, dy - problem.lags.first_row(), dx - problem.lags.first_column());
            if (!(std::abs(sum - defined_sum(own, dy, dx)) <= tolerance * energy)) return false;
        }
    }
    return true;
}

}  // namespace aperture::bench
