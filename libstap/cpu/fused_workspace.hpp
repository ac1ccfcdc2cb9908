// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/cpu/worker_tasks.hpp"
#include "libcore/rounding.hpp"
#include "libstap/cpu/fused_covariance.hpp"
#include "libstap/cpu/fused_weighting.hpp"

namespace aperture::stap::cpu {

/// Workspace of one thread: W = lanes of Real, a group is W Doppler bins.
template <class Real>
struct Workspace {
    static constexpr index_t width = core::lanes<Real>;
    /// The current group, those that its sums and their cells extend into, and the one being
    /// fetched.
    static constexpr index_t groups_in_flight = 2 * Ring<Real>::reach + 2;
    using T = std::complex<Real>;
    using LaneMatrix = dense::lanes::Matrix<T>;

    index_t row_pitch;     ///< floats per row of cells
    index_t weight_pitch;  ///< floats per bin's weights
    index_t factor_pitch;  ///< floats per bin's inverse factor
    bool detects, eliminates;

    float* rows;            ///< [bin in flight][channel][cell][re, im]
    Real* planes;           ///< see LagCovariance
    Real* sums;             ///< see LagCovariance
    LaneMatrix g;           ///< covariance, then its factor G, R = G G^H
    LaneMatrix h;           ///< G^-H, for Gauss-Jordan and for x^H R^-1 x
    LaneMatrix x;           ///< steering vectors, then weights: [d][i], d contiguous
    Real* gain;             ///< [d][lane] v^H R^-1 v
    Real* gamma;            ///< [d][re, im][lane], both equal
    float* weights;         ///< [lane][i][d][re, im], times gamma
    float* inverse_factor;  ///< [lane][i][j][re, im]
    float* tail;            ///< output of a tile with partial packs
    float* squares;         ///< [cell][re, im]: sums of squares of both parts, together x^H R^-1 x

    Workspace(core::ScratchParts& parts, const Problem& problem) {
        const index_t n = problem.order;
        const index_t vectors = problem.steering_vectors;
        const index_t cells = problem.parameters.training_block;
        detects = is_adaptive(problem.parameters.detector);
        eliminates = problem.parameters.solver == dense::Factorisation::gauss_jordan;
        // An odd number of packs, so that rows spread over the cache sets.
        row_pitch = (core::round_up(2 * cells, core::lanes<float>) / core::lanes<float> | 1) *
                    core::lanes<float>;
        weight_pitch = core::round_up(2 * n * vectors, core::lanes<float>);
        factor_pitch = core::round_up(2 * n * n, core::lanes<float>);

        constexpr index_t element = dense::lanes::element_reals<T>;
        const LagCovariance<Real> lag{static_cast<int>(problem.shape.channels),
                                      problem.parameters.temporal_taps};
        // One pack more than the rows: the last tile of a short block reads past its row.
        rows = parts.allocate<float>(groups_in_flight * width * lag.channels * row_pitch +
                                     core::lanes<float>);
        planes = parts.allocate<Real>(lag.plane_size(cells));
        sums = parts.allocate<Real>(lag.sums_size());
        g = {parts.allocate<Real>(n * dense::lanes::padded(problem.order) * element),
             dense::lanes::padded(problem.order)};
        h = {detects || eliminates ? parts.allocate<Real>(n * n * element) : nullptr, n};
        x = {parts.allocate<Real>(n * vectors * element), 1, vectors};
        gain = parts.allocate<Real>(vectors * width);
        gamma = parts.allocate<Real>(vectors * 2 * width);
        weights = parts.allocate<float>(width * weight_pitch);
        inverse_factor = parts.allocate<float>(detects ? width * factor_pitch : 0);
        tail = parts.allocate<float>(weighting_vectors * weighting_packs * core::lanes<float>);
        squares = parts.allocate<float>(row_pitch + core::lanes<float>);
    }
};

}  // namespace aperture::stap::cpu
