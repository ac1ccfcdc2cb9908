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

/// What a surface says of the sums of products c_p over the N pixels that both images have at a
/// displacement.
enum class Estimator {
    raw,       ///< sum_p c_p, as in Bordawekar, Bondhugula & Rao 2010
    unbiased,  ///< sum_p c_p / N
    /// Pearson's r over these pixels: covariances of the planes added up, over the root of the
    /// product of their variances added up. In [-1, 1].
    pearson,
};

/// The results, each [dy][dx] as the lags have it; zero where no pixels overlap, and r is zero
/// where one of the images is constant.
struct Surfaces {
    core::Array<double, 2> surface;
    /// What each plane contributes: `surface` is their sum. No planes where only that is made.
    core::Array<double, 3> planes;
    core::Array<double, 2> counts;  ///< N
};

enum class Side;

/// Makes surfaces from sums of products. Keeps its workspace: a second run of the same shape
/// allocates nothing.
class SurfaceEstimator {
  public:
    /// Writes sum_{y, x} A_p(y + dy, x + dx) B_p(y, x) for each plane or, without `each_plane`,
    /// their sum, as Correlator does; on whatever device. It is called with as many planes as the
    /// images have.
    using Correlate = std::function<void(PlanesView<core::Host> a, PlanesView<core::Host> b,
                                         core::View<double, 3, core::Host> sums)>;

    /// Without `each_plane` what planes contribute is not made, which takes one inverse transform
    /// instead of one a plane.
    SurfaceEstimator(core::Cpu& cpu, Estimator estimator, const Lags& lags, bool each_plane = true)
        : cpu_(cpu), estimator_(estimator), lags_(lags), each_plane_(each_plane) {}

    /// Over all pixels.
    void run(PlanesView<core::Host> a, PlanesView<core::Host> b, const Correlate& correlate,
             Surfaces& results);
    /// Over pixels whose masks, [row][column], are not zero. Counts, sums and energies are
    /// correlations, too: with an FFT, counts beyond a million are within a few. Means differ from
    /// displacement to displacement, so that Pearson's r needs sums of each plane: throws
    /// core::InvalidArgument where they are not made.
    void run(PlanesView<core::Host> a, PlanesView<core::Host> b,
             core::View<const float, 2, core::Host> mask_a,
             core::View<const float, 2, core::Host> mask_b, const Correlate& correlate,
             Surfaces& results);

    /// The halves of `run` over all pixels, of estimators that read no planes (raw, unbiased):
    /// where sums of products of `planes` planes go, dense,
    core::View<double, 3, core::Host> prepare(index_t planes, Shape image, Surfaces& results);
    /// and what becomes of them once they are there.
    void finish(index_t planes, Surfaces& results) const;

  private:
    /// Sums over what the other image overlaps, of one plane of each image and their squares.
    struct Moments {
        core::Array<double, 3> a;  ///< [plane][dy][dx]
        core::Array<double, 3> b;
        core::Array<double, 3> squares_a;
        core::Array<double, 3> squares_b;
    };
    void shape(index_t planes, Surfaces& results);
    /// Of the planes, over the pixels of a mask or, where it is null, over all.
    void find_means(PlanesView<core::Host> image,
                    const core::View<const float, 2, core::Host>* mask);
    void find_moments(PlanesView<core::Host> image, Side side, core::Array<double, 3>& sums,
                      core::Array<double, 3>& squares);
    /// Where sums of products go: [planes or 1][dy][dx].
    core::View<double, 3, core::Host> sums_of(Surfaces& results) const;
    /// Row `i` of the surface and of what planes contribute, from sums.
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
