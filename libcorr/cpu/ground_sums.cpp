// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/cpu/ground_sums.hpp"

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

void GroundSums::add_side(core::Cpu& cpu, const Problem& problem, const GroundedPlanes& image,
                          Side side, const Ground& other, core::View<double, 3, core::Host> sums) {
    for (index_t p = 0; p < problem.planes; ++p) {
        const double factor = other.of(p);
        if (factor == 0) continue;
        areas_.take(cpu, image.planes.slice(0, p, p + 1), image.ground.of(p));
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
