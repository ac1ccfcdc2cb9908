// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/array.hpp"
#include "aperture/corr/correlator.hpp"

namespace aperture::corr {

/// How a surface is computed from the sums of products c_p over the N pixels that overlap at a
/// displacement.
enum class Estimator {
    raw,       ///< sum_p c_p, as in Bordawekar, Bondhugula & Rao 2010
    unbiased,  ///< sum_p c_p / N
    /// Pearson's r over these pixels: the sum of the planes' covariances over the root of the
    /// product of their summed variances. In [-1, 1].
    pearson,
};

/// The results, each [dy][dx] in the order of the lags and dense. Zero without overlap; r is also
/// zero if one of the images is constant.
template <class Space>
struct SurfaceViews {
    core::View<double, 2, Space> surface;
    /// Contribution of each plane; `surface` is their sum. Without `each_plane` there are none.
    core::View<double, 3, Space> planes;
    core::View<std::int64_t, 2, Space> counts;  ///< N
};

/// Surfaces in host memory.
struct Surfaces {
    core::Array<double, 2> surface;
    core::Array<double, 3> planes;
    core::Array<std::int64_t, 2> counts;

    explicit Surfaces(core::Pages pages = core::Pages::pageable)
        : surface({0, 0}, pages), planes({0, 0, 0}, pages), counts({0, 0}, pages) {}

    /// Sets the extents to those of a problem's results; allocates only for larger ones.
    void reshape(const Problem& problem);
    SurfaceViews<core::Host> views() { return {surface, planes, counts}; }
};

/// Computes surfaces of two images of one shape, or of one image with itself. Holds its workspace:
/// a second run allocates nothing. The result is bitwise independent of the number of threads. The
/// executor must outlive the object.
template <class Executor>
class SurfaceEstimator {
  public:
    using Space = typename Executor::Space;

    /// For problems of one image. Without `each_plane` the planes' contributions are not computed;
    /// one inverse transform replaces one for each plane. Throws core::InvalidArgument as
    /// Correlator does.
    SurfaceEstimator(Executor& executor, const Problem& problem, Estimator estimator);

    /// Over all pixels; `a` and `b` may be the same. Asynchronous on a Gpu. Throws
    /// core::InvalidArgument for other extents or strides.
    void run(PlanesView<Space> a, PlanesView<Space> b, const SurfaceViews<Space>& results);
    /// Over pixels with nonzero masks, [row][column]. Counts, sums and energies are correlations,
    /// too: with an FFT, counts beyond a million are accurate to a few. Means depend on the
    /// displacement, so that Pearson's r needs sums of each plane: throws core::InvalidArgument
    /// without `each_plane`.
    void run(PlanesView<Space> a, PlanesView<Space> b, core::View<const float, 2, Space> mask_a,
             core::View<const float, 2, Space> mask_b, const SurfaceViews<Space>& results);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class SurfaceEstimator<core::Cpu>;

}  // namespace aperture::corr
