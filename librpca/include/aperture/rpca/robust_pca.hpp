// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <memory>

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

namespace aperture::rpca {

using core::index_t;

/// [frame][value]: the columns of the matrix M, of `values` rows and `frames` columns, one after
/// the other. The last stride is 1.
template <class T, class Space>
using FramesView = core::View<T, 2, Space>;

/// How M = L + S is solved for L of low rank and S sparse. What is constant over the frames is L's,
/// however few they are.
enum class Solver {
    /// Principal component pursuit, of L's nuclear norm without its constant part, by inexact
    /// augmented Lagrange multipliers, mu growing (Lin, Chen
    /// & Ma 2010).
    ialm,
    /// The same by alternating directions with fixed mu (Candes et al. 2011, algorithm 1; Anderson
    /// 2014, section 3.6).
    admm,
    /// Not convex: S by hard thresholds that fall, L of at most a given rank by accelerated
    /// alternating projections (Cai, Cai & Wei 2019, algorithm 2), from each value's median. `svd`
    /// and `lambda` mean nothing to it.
    accaltproj,
};

/// Where singular values and right singular vectors of W come from.
enum class Svd {
    gram,  ///< eigenvectors of its Gram matrix
    /// SVD of R of its QR, by dense::QrMethod.
    tsqr,
    caqr,
    cholqr2,
    blas2,
};

struct Parameters {
    Solver solver = Solver::ialm;
    Svd svd = Svd::gram;      ///< all but gram need at least as many values as frames
    double lambda = 0;        ///< weight of ||S||_1; 0 stands for 1 / sqrt(max(values, frames))
    double tolerance = 1e-5;  ///< of ||M - L - S||_F / ||M||_F; fp32 reaches some 1e-6
    int max_iterations = 500;
    /// Where positive, a run also ends as soon as no more than one value in 10,000 changes from
    /// |M - L| <= mask_threshold to beyond or back in an iteration, for three iterations together.
    double mask_threshold = 0;
    /// Of accaltproj: the most that L may have, its constant part included; 0 stands for a tenth of
    /// the frames, rounded up, but at most 10.
    index_t rank = 0;
};

/// Throws core::InvalidArgument for what no run could keep to.
void validate(const Parameters& parameters);

/// The weight of ||S||_1 for so many frames and values.
inline double lambda_of(const Parameters& parameters, index_t frames, index_t values) {
    if (parameters.lambda > 0) return parameters.lambda;
    return 1 / std::sqrt(static_cast<double>(std::max(values, frames)));
}

/// The most that L of so many frames and values may have with accaltproj.
inline index_t rank_of(const Parameters& parameters, index_t frames, index_t values) {
    constexpr index_t most = 10;
    constexpr index_t frames_for_one = 10;
    const index_t wanted = parameters.rank > 0
                               ? parameters.rank
                               : std::min(most, (frames + frames_for_one - 1) / frames_for_one);
    return std::min({wanted, frames, values});
}

/// How far a run is.
struct Progress {
    int iteration = 0;    ///< complete ones
    double residual = 0;  ///< relative, as Parameters::tolerance
    int rank = 0;         ///< of L, of which what is constant over the frames counts as one
};

/// How a run ended.
struct Outcome {
    int iterations = 0;
    double residual = 0;
    int rank = 0;
    double density = 0;  ///< share of the values that S is not zero in
    bool converged = false;
    /// Iterations and seconds until the mask was final; 0 where it was not watched, or never was.
    int iterations_to_mask = 0;
    double seconds_to_mask = 0;
};

/// Splits matrices of one shape into L + S. Holds all workspace: a second run of the same shape
/// allocates nothing, but some matrices of the rank with accaltproj. The result has the same bits
/// for every number of threads.
template <std::floating_point T, class Executor>
class RobustPca {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument for an empty matrix and as `validate` does.
    RobustPca(Executor& executor, index_t frames, index_t values, const Parameters& parameters);
    ~RobustPca();
    RobustPca(RobustPca&&) noexcept;
    RobustPca& operator=(RobustPca&&) noexcept;

    /// `observe`, where there is one, is told of every iteration and ends the run by returning
    /// false; the parts are then those of one iteration more, or of two where a GPU begins an
    /// iteration by multipliers while the host looks at the one before. Throws
    /// core::InvalidArgument where `m` holds a NaN or an infinity. Any of `low_rank` and `sparse`
    /// may be empty: then it is not written. One of them may be where `m` is. Synchronises.
    Outcome run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                FramesView<T, Space> sparse,
                const std::function<bool(const Progress&)>& observe = {});

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::rpca
