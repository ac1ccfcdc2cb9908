// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

/// Planes that SurfaceEstimator makes of images A and B.
enum class Factor {
    centred_a,  ///< without their means; zero where the mask is
    centred_b,
    mask_a,  ///< the mask for every plane
    mask_b,
    squares_a,  ///< of centred_a
    squares_b,
};
inline constexpr std::size_t factor_count = 6;

/// Computes surfaces from sums of products. Holds its workspace: a second run of the same shape
/// allocates nothing. The executor must outlive the object.
class SurfaceEstimator {
  public:
    /// Computes sum_{y, x} A_p(y + dy, x + dx) B_p(y, x) of two factors for each plane or, without
    /// `each_plane`, their sum, like Correlator, on any device.
    using Correlate = std::function<void(Factor a, Factor b, core::View<double, 3, core::Host>)>;

    /// Without `each_plane` the planes' contributions are not computed; one inverse transform
    /// replaces one for each plane.
    SurfaceEstimator(core::Cpu& cpu, Estimator estimator, const Lags& lags, bool each_plane = true)
        : cpu_(cpu), estimator_(estimator), lags_(lags), each_plane_(each_plane) {}

    /// Pearson's r over all pixels, from planes that are centred before they are correlated. Throws
    /// core::InvalidArgument for another estimator.
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
    /// During a run, the planes to correlate: dense. They change with the next run only.
    PlanesView<core::Host> planes(Factor factor) const { return of(factor); }

    /// Over all pixels, for planes that are correlated as they are. Returns the dense view for sums
    /// of products of `planes` planes.
    core::View<double, 3, core::Host> prepare(index_t planes, Shape image, Surfaces& results);
    /// Computes the results once the sums are there: raw and unbiased. Throws core::InvalidArgument
    /// for Pearson's r.
    void finish(index_t planes, Surfaces& results) const;
    /// The same for Pearson's r, for which it needs the planes. Throws core::InvalidArgument for
    /// another estimator.
    void finish(PlanesView<core::Host> a, PlanesView<core::Host> b, Surfaces& results);

  private:
    /// Means of an image's planes; and sums, also of squares, over the pixels that overlap the
    /// other image.
    struct Moments {
        std::vector<float> means;
        core::Array<double, 3> sums;  ///< [plane][dy][dx]
        core::Array<double, 3> squares;
    };
    core::Array<float, 3>& of(Factor factor) { return factors_[static_cast<std::size_t>(factor)]; }
    const core::Array<float, 3>& of(Factor factor) const {
        return factors_[static_cast<std::size_t>(factor)];
    }
    void shape(index_t planes, Surfaces& results);
    /// Means of the planes over the pixels of a mask or, if it is null, over all.
    void find_means(PlanesView<core::Host> image,
                    const core::View<const float, 2, core::Host>* mask, std::vector<float>& means);
    /// Subtracts these means, for Pearson's r; zero where the mask is zero, whatever is there.
    void centre(PlanesView<core::Host> image, const core::View<const float, 2, core::Host>* mask,
                std::vector<float>& means, Factor centred);
    /// Returns the factor of b, which is that of a where both are one image.
    Factor centre_both(PlanesView<core::Host> a, PlanesView<core::Host> b);
    void square(Factor centred, Factor squares);
    void find_moments(PlanesView<core::Host> image, Side side, Moments& moments);
    void find_both_moments(Factor centred_b);
    void expects_pearson() const;
    /// Removes the means' contribution from sums of products of planes as they are.
    void remove_means(Surfaces& results) const;
    /// The view for sums of products: [planes or 1][dy][dx].
    core::View<double, 3, core::Host> sums_of(Surfaces& results) const;
    /// Scales row `i` of the surface and of the planes' contributions.
    void scale_row(index_t i, Surfaces& results) const;
    void finish_rows(index_t planes, Surfaces& results) const;
    void finish_pearson_row(index_t i, index_t planes, Surfaces& results) const;

    core::Cpu& cpu_;
    Estimator estimator_;
    Lags lags_;
    bool each_plane_;
    Moments a_;
    Moments b_;
    std::vector<double> row_sums_;
    signal::SummedAreas areas_;
    std::array<core::Array<float, 3>, factor_count> factors_;
    core::Array<double, 3> counts_;
};

}  // namespace aperture::corr
