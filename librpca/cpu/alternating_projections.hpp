// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "librpca/cpu/projected_matrix.hpp"
#include "librpca/cpu/spectrum.hpp"
#include "librpca/cpu/subspace.hpp"

namespace aperture::core {
class Stopwatch;
}

namespace aperture::rpca::cpu {

/// Accelerated alternating projections (Cai, Cai & Wei 2019): what RobustPca does for
/// Solver::accaltproj.
template <class T>
class AlternatingProjections {
  public:
    AlternatingProjections(index_t frames, index_t values, const Parameters& parameters);

    Outcome run(core::Cpu& cpu, FramesView<const T, core::Host> m,
                FramesView<T, core::Host> low_rank, FramesView<T, core::Host> sparse,
                const std::function<bool(const Progress&)>& observe);

    /// Of the L of the last run, U C.
    T basis(index_t value, index_t column) const { return matrix_.basis(value, column); }
    double coefficient(index_t column, index_t frame) const {
        return subspace_.coefficient(column, frame);
    }

  private:
    /// [U Y] and K: the medians, and what the largest singular values of the rest have.
    void start(core::Cpu& cpu);
    void set_projection();
    bool watch_mask(const ProjectionSums& sums, Outcome& outcome, const core::Stopwatch& watch);

    index_t frames_;
    index_t values_;
    Parameters parameters_;
    index_t rank_;
    ProjectedMatrix<T> matrix_;
    Spectrum spectrum_;
    Subspace subspace_;
    Projection<T> projection_;
    double threshold_ = 0;  ///< that the first iteration begins with
    int steady_ = 0;
};

/// The rank that L may have: `Parameters::rank`, or a tenth of the frames, but at most 10.
index_t rank_of(const Parameters& parameters, index_t frames, index_t values);

}  // namespace aperture::rpca::cpu
