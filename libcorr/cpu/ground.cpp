// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/cpu/ground.hpp"

#include <cmath>

#include "libcorr/sum_formulas.hpp"

namespace aperture::corr {
namespace {

index_t surface_of(const Problem& problem, index_t plane) { return problem.each_plane ? plane : 0; }

void add_both(const Problem& problem, const Ground& a, const Ground& b,
              core::View<double, 3, core::Host> sums) {
    const Lags& lags = problem.lags;
    for (index_t p = 0; p < problem.planes; ++p) {
        const double both = a.of(p) * b.of(p);
        if (both == 0) continue;
        for (index_t i = 0; i < lags.extent().rows; ++i) {
            const index_t rows = overlap(problem.image.rows, lags.first_row() + i);
            for (index_t j = 0; j < lags.extent().columns; ++j) {
                const index_t columns = overlap(problem.image.columns, lags.first_column() + j);
                sums(surface_of(problem, p), i, j) += both * static_cast<double>(rows * columns);
            }
        }
    }
}

}  // namespace

void Ground::find(core::Cpu& cpu, PlanesView<core::Host> image) {
    const index_t planes = image.extent[0];
    const index_t rows = image.extent[1];
    const index_t columns = image.extent[2];
    for_plane_rows(cpu, planes, rows, [&](index_t p, index_t y) {
        const float* row = &image(p, y, 0);
        // Float is enough: a ground need not be exactly the mean.
        float sum = 0;
        float squares = 0;
#pragma omp simd reduction(+ : sum, squares)
        for (index_t x = 0; x < columns; ++x) {
            sum += row[x];
            squares += row[x] * row[x];
        }
        of_rows_(p, y, 0) = static_cast<double>(sum);
        of_rows_(p, y, 1) = static_cast<double>(squares);
    });
    const auto pixels = static_cast<double>(rows * columns);
    for (index_t p = 0; p < planes; ++p) {
        double sum = 0;
        double squares = 0;
        for (index_t y = 0; y < rows; ++y) {
            sum += of_rows_(p, y, 0);
            squares += of_rows_(p, y, 1);
        }
        const double mean = sum / pixels;
        const double mean_square = squares / pixels;
        const double ground = ground_of(mean, mean_square);
        const auto plane = static_cast<std::size_t>(p);
        of_planes_[plane] = ground;
        contrasts_[plane] = std::sqrt(rest_square(mean, mean_square, ground));
    }
}

void GroundSums::add_side(core::Cpu& cpu, const Problem& problem, const GroundedPlanes& image,
                          Side side, const Ground& other, core::View<double, 3, core::Host> sums) {
    for (index_t p = 0; p < problem.planes; ++p) {
        const double factor = other.of(p);
        if (factor == 0) continue;
        areas_.compute(cpu, image.planes[p], image.ground.of(p));
        for_overlap_sums(cpu, areas_, problem.image, problem.lags, side,
                         [&](index_t i, index_t j, double sum) {
                             sums(surface_of(problem, p), i, j) += factor * sum;
                         });
    }
}

void GroundSums::add(core::Cpu& cpu, const Problem& problem, const GroundedPlanes& a,
                     const GroundedPlanes& b, core::View<double, 3, core::Host> sums) {
    add_side(cpu, problem, a, Side::a, b.ground, sums);
    add_side(cpu, problem, b, Side::b, a.ground, sums);
    add_both(problem, a.ground, b.ground, sums);
}

}  // namespace aperture::corr
