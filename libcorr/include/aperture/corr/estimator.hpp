// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"
#include "aperture/signal/summed_area.hpp"

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

/// The results, each [dy][dx] in the order of the lags. Zero without overlap; r is also zero if one
/// of the images is constant.
struct Surfaces {
    core::Array<double, 2> surface;
    /// Contribution of each plane; `surface` is their sum. Empty without `each_plane`.
    core::Array<double, 3> planes;
    core::Array<double, 2> counts;  ///< N
};

enum class Side;

/// Computes surfaces from sums of products. Holds its workspace: a second run of the same shape
/// allocates nothing.
class SurfaceEstimator {
  public:
    /// Computes sum_{y, x} A_p(y + dy, x + dx) B_p(y, x) for each plane or, without `each_plane`,
    /// their sum, like Correlator, on any device. It is called with as many planes as the images
    /// have.
    using Correlate = std::function<void(PlanesView<core::Host> a, PlanesView<core::Host> b,
                                         core::View<double, 3, core::Host> sums)>;

    /// Without `each_plane` the planes' contributions are not computed; one inverse transform
    /// replaces one for each plane.
    SurfaceEstimator(core::Cpu& cpu, Estimator estimator, const Lags& lags, bool each_plane = true)
        : cpu_(cpu), estimator_(estimator), lags_(lags), each_plane_(each_plane) {}

    /// Over all pixels.
    void run(PlanesView<core::Host> a, PlanesView<core::Host> b, const Correlate& correlate,
             Surfaces& results);
    /// Over pixels with nonzero masks, [row][column]. Counts, sums and energies are correlations,
    /// too: with an FFT, counts beyond a million are accurate to a few. Means depend on the
    /// displacement, so that Pearson's r needs sums of each plane: throws core::InvalidArgument
    /// without `each_plane`.
    void run(PlanesView<core::Host> a, PlanesView<core::Host> b,
             core::View<const float, 2, core::Host> mask_a,
             core::View<const float, 2, core::Host> mask_b, const Correlate& correlate,
             Surfaces& results);

    /// The halves of `run` over all pixels, for estimators that do not need the planes (raw,
    /// unbiased). Returns the dense view for sums of products of `planes` planes.
    core::View<double, 3, core::Host> prepare(index_t planes, Shape image, Surfaces& results);
    /// Computes the results once the sums are there.
    void finish(index_t planes, Surfaces& results) const;

  private:
    /// Sums of an image's planes and of their squares over the pixels that overlap the other image.
    struct Moments {
        core::Array<double, 3> a;  ///< [plane][dy][dx]
        core::Array<double, 3> b;
        core::Array<double, 3> squares_a;
        core::Array<double, 3> squares_b;
    };
    void shape(index_t planes, Surfaces& results);
    /// Means of the planes over the pixels of a mask or, if it is null, over all.
    void find_means(PlanesView<core::Host> image,
                    const core::View<const float, 2, core::Host>* mask);
    void find_moments(PlanesView<core::Host> image, Side side, core::Array<double, 3>& sums,
                      core::Array<double, 3>& squares);
    /// The view for sums of products: [planes or 1][dy][dx].
    core::View<double, 3, core::Host> sums_of(Surfaces& results) const;
    /// Scales row `i` of the surface and of the planes' contributions.
    void scale_row(index_t i, Surfaces& results) const;
    void finish_pearson_row(index_t i, index_t planes, Surfaces& results) const;

    core::Cpu& cpu_;
    Estimator estimator_;
    Lags lags_;
    bool each_plane_;
    Moments moments_;
    std::vector<float> means_;
    core::Array<double, 3> row_sums_;  ///< [plane][row]: sum, count
    signal::SummedAreas areas_;
    core::Array<float, 3> centred_a_;
    core::Array<float, 3> centred_b_;
    core::Array<float, 3> masks_a_;
    core::Array<float, 3> masks_b_;
    core::Array<float, 3> squared_;
    core::Array<double, 3> counts_;
    std::vector<double> column_overlaps_;
};

}  // namespace aperture::corr
