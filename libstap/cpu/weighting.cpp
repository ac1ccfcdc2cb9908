// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libcore/cpu/simd.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/snapshots.hpp"
#include "libstap/stage_checks.hpp"

namespace aperture::stap {

using core::index_t;

namespace {

constexpr int lanes = core::lanes<float>;
/// Directions weighted together, so that each snapshot is loaded once for all of them.
constexpr int direction_tile = 4;
/// Range cells weighted together: their snapshots stay in the first-level cache.
constexpr index_t cell_tile = 64;

/// Scratch of one thread.
struct WeightingScratch {
    /// The weights of one training set, [direction][n], and gamma. Directions are padded to a
    /// multiple of `direction_tile` with zero weights.
    index_t padded_directions;
    float* w_re;
    float* w_im;
    double* gamma;
    cpu::SnapshotPlanes<float> snapshots;  ///< of `cell_tile` cells

    WeightingScratch(core::ScratchParts& parts, const Problem& problem)
        : padded_directions((problem.steering_vectors + direction_tile - 1) / direction_tile *
                            direction_tile) {
        const index_t n = problem.order;
        w_re = parts.allocate<float>(padded_directions * n);
        w_im = parts.allocate<float>(padded_directions * n);
        gamma = parts.allocate<double>(padded_directions);
        auto* re = parts.allocate<float>(n * cell_tile);
        snapshots = {re, parts.allocate<float>(n * cell_tile), cell_tile};
    }
};

/// gamma = 1/|w^H v| of the fp32 weights that are applied: 1 if that is 0, but 0 for the zero
/// vector of a failed factorisation.
template <class Real>
void load_weights(const core::View<const std::complex<Real>, 4, core::Host>& weights,
                  const core::View<const cfloat, 2, core::Host>& steering, index_t k, index_t b,
                  const WeightingScratch& scratch) {
    const index_t n = weights.extent[3];
    std::fill_n(scratch.w_re, scratch.padded_directions * n, 0.0f);
    std::fill_n(scratch.w_im, scratch.padded_directions * n, 0.0f);
    std::fill_n(scratch.gamma, scratch.padded_directions, 0.0);
    for (index_t d = 0; d < weights.extent[2]; ++d) {
        std::complex<double> gain = 0;
        bool zero = true;
        for (index_t i = 0; i < n; ++i) {
            const cfloat w(weights(k, b, d, i));
            zero = zero && w == cfloat(0);
            scratch.w_re[d * n + i] = w.real();
            scratch.w_im[d * n + i] = w.imag();
            gain += std::conj(std::complex<double>(w)) * std::complex<double>(steering(d, i));
        }
        const double magnitude = std::abs(gain);
        scratch.gamma[d] = zero ? 0 : magnitude > 0 ? 1 / magnitude : 1;
    }
}

/// y = gamma w^H S for `direction_tile` directions and `lanes` cells; 0 where gamma is, even if S
/// is not a number.
void weight_tile(const float* w_re, const float* w_im, const double* gamma, index_t n,
                 const cpu::SnapshotPlanes<float>& s, index_t cell,
                 cfloat (&y)[direction_tile][lanes]) {
    using Pack = core::Pack<float>;
    Pack y_re[direction_tile] = {};
    Pack y_im[direction_tile] = {};
    for (index_t i = 0; i < n; ++i) {
        const Pack s_re = core::load(s.re + i * s.stride + cell);
        const Pack s_im = core::load(s.im + i * s.stride + cell);
        for (int d = 0; d < direction_tile; ++d) {
            const Pack re = core::broadcast(w_re[d * n + i]);
            const Pack im = core::broadcast(w_im[d * n + i]);
            y_re[d] += re * s_re + im * s_im;
            y_im[d] += re * s_im - im * s_re;
        }
    }
    for (int d = 0; d < direction_tile; ++d) {
        const auto scale = static_cast<float>(gamma[d]);
        for (int lane = 0; lane < lanes; ++lane)
            y[d][lane] =
                scale == 0 ? cfloat(0) : cfloat(scale * y_re[d][lane], scale * y_im[d][lane]);
    }
}

}  // namespace

template <class Real>
void apply_weights(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                   core::View<const cfloat, 2, core::Host> steering,
                   core::View<const std::complex<Real>, 4, core::Host> weights,
                   core::View<cfloat, 3, core::Host> output) {
    check_cube(problem, cube);
    check_weights(problem, steering, weights, core::Strides::any);
    check_map("output", problem, output);
    const index_t sets = problem.training_sets;
    const index_t n = problem.order;
    const index_t directions = problem.steering_vectors;
    const std::size_t bytes = core::scratch_bytes_of<WeightingScratch>(problem);
    const index_t tasks = problem.doppler_bins * sets;
    core::for_each_task(cpu, tasks, bytes, [&](index_t task, std::byte* memory) {
        const index_t k = task / sets;
        const index_t b = task % sets;
        core::ScratchParts parts(memory);
        const WeightingScratch scratch(parts, problem);
        load_weights(weights, steering, k, b, scratch);

        const RangeSpan cells = cpu::cells_of_block(problem, b);
        for (index_t first = cells.begin; first < cells.end; first += cell_tile) {
            const index_t count = std::min(cell_tile, cells.end - first);
            cpu::split_snapshots(problem, cube, k, {first, first + count}, scratch.snapshots);
            for (index_t d = 0; d < directions; d += direction_tile)
                for (index_t cell = 0; cell < count; cell += lanes) {
                    cfloat y[direction_tile][lanes];
                    weight_tile(scratch.w_re + d * n, scratch.w_im + d * n, scratch.gamma + d, n,
                                scratch.snapshots, cell, y);
                    const index_t used = std::min<index_t>(lanes, count - cell);
                    for (index_t row = d; row < std::min(d + direction_tile, directions); ++row)
                        std::copy_n(y[row - d], used, &output(row, k, first + cell));
                }
        }
    });
}

template void apply_weights(core::Cpu&, const Problem&, CubeView<core::Host>,
                            core::View<const cfloat, 2, core::Host>,
                            core::View<const std::complex<float>, 4, core::Host>,
                            core::View<cfloat, 3, core::Host>);
template void apply_weights(core::Cpu&, const Problem&, CubeView<core::Host>,
                            core::View<const cfloat, 2, core::Host>,
                            core::View<const std::complex<double>, 4, core::Host>,
                            core::View<cfloat, 3, core::Host>);

}  // namespace aperture::stap
