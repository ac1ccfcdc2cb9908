// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>

#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/core/view.hpp"

namespace aperture::rpca {

using core::index_t;

/// [frame][value]: each frame is a column of M, a matrix of `values` rows and `frames` columns. The
/// last stride is 1.
template <class T, class Space>
using FramesView = core::View<T, 2, Space>;

/// How M = L + S is solved for a low-rank L and a sparse S. The part that is constant over the
/// frames belongs to L, even if frames are few.
enum class Solver {
    /// Principal component pursuit with the nuclear norm of L minus its constant part, by inexact
    /// augmented Lagrange multipliers with growing mu (Lin, Chen & Ma 2010).
    ialm,
    /// The same by alternating directions with fixed mu (Candes et al. 2011, algorithm 1; Anderson
    /// 2014, section 3.6).
    admm,
    /// Non-convex: S by decreasing hard thresholds, L of bounded rank by accelerated alternating
    /// projections (Cai, Cai & Wei 2019, algorithm 2), starting from each value's median. Ignores
    /// `svd` and `lambda`.
    accaltproj,
};

/// Source of the singular values and right singular vectors of W.
enum class Svd {
    gram,     ///< eigenvectors of its Gram matrix
    tsqr,     ///< SVD of the R factor of W, by dense::QrMethod::tsqr
    cholqr2,  ///< likewise, by dense::QrMethod::cholesky2
};

/// In fp32 the residual of a run hardly falls below 4e-7.
inline constexpr double least_fp32_tolerance = 1e-6;

struct Parameters {
    Solver solver = Solver::ialm;
    Svd svd = Svd::gram;      ///< all but gram require values >= frames
    double lambda = 0;        ///< weight of ||S||_1; 0 means 1 / sqrt(max(values, frames))
    double tolerance = 1e-5;  ///< for ||M - L - S||_F / ||M||_F
    int max_iterations = 500;
    /// If positive, a run also ends once |M - L| crosses mask_threshold in at most one value in
    /// 10,000 per iteration, three iterations in a row.
    double mask_threshold = 0;
    /// For accaltproj: maximum rank of L, including its constant part; 0 means a tenth of the
    /// frames, rounded up, at most 10.
    index_t rank = 0;
};

/// Throws core::InvalidArgument if a parameter is out of range.
void validate(const Parameters& parameters);

/// The weight of ||S||_1.
inline double lambda_of(const Parameters& parameters, index_t frames, index_t values) {
    if (parameters.lambda > 0) return parameters.lambda;
    return 1 / std::sqrt(static_cast<double>(std::max(values, frames)));
}

/// The maximum rank of L with accaltproj.
inline index_t rank_of(const Parameters& parameters, index_t frames, index_t values) {
    constexpr index_t most = 10;
    constexpr index_t frames_for_one = 10;
    const index_t wanted = parameters.rank > 0
                               ? parameters.rank
                               : std::min(most, (frames + frames_for_one - 1) / frames_for_one);
    return std::min({wanted, frames, values});
}

/// State of a run after an iteration.
struct Progress {
    int iteration = 0;    ///< completed
    double residual = 0;  ///< relative, as Parameters::tolerance
    int rank = 0;         ///< of L; its constant part counts as one
};

/// How a run ended.
struct Outcome {
    int iterations = 0;
    double residual = 0;
    int rank = 0;
    double density = 0;  ///< share of nonzero values in S
    bool converged = false;
    /// Iterations and seconds until the mask was final; 0 if it was not watched or never settled.
    int iterations_to_mask = 0;
    double seconds_to_mask = 0;
};

/// Bytes of memory: the host's, and a GPU's.
struct WorkspaceBytes {
    index_t host = 0;
    index_t device = 0;
};

/// Splits matrices of one shape into L + S. Owns all workspace: a second run allocates nothing,
/// except for a few rank-sized matrices with accaltproj. Results are bitwise identical for every
/// number of threads. On a Gpu their last bits differ from run to run, because Jacobi's rotations
/// are in the order in which threads find them.
template <std::floating_point T, class Executor>
class RobustPca {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument for an empty matrix, as `validate` does, for an Svd other than
    /// gram with fewer values than frames, and on a Gpu for more than 16,384 frames. The executor
    /// must outlive the object.
    RobustPca(Executor& executor, index_t frames, index_t values, const Parameters& parameters);
    /// What a RobustPca of these allocates until its first run has ended, the scratch memory of a
    /// Cpu's threads included: a few percent more than is needed. Allocates next to nothing itself,
    /// and accepts any positive extents.
    static WorkspaceBytes workspace_bytes(Executor& executor, index_t frames, index_t values,
                                          const Parameters& parameters);

    /// Calls `observe`, if there is one, after every iteration; false ends the run. L and S then
    /// come from one iteration later, or from two with multipliers on a GPU, where an iteration
    /// starts while the host reads the results of the one before. Throws core::InvalidArgument if
    /// `m` holds a NaN or an infinity, and core::DeviceError if eigenvectors on a Gpu do not
    /// converge. An empty `low_rank` or `sparse` is not written. One of them
    /// may alias `m`. Synchronises.
    Outcome run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                FramesView<T, Space> sparse,
                const std::function<bool(const Progress&)>& observe = {});
    /// Changes Parameters::lambda of the runs that follow. Throws as `validate`.
    void set_lambda(double lambda);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class RobustPca<float, core::Cpu>;
extern template class RobustPca<double, core::Cpu>;

}  // namespace aperture::rpca
