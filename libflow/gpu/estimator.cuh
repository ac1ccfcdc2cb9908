// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The stages of Estimator on a Gpu or the SIMT host executor.

#include <array>

#include "libcore/gpu/stage.cuh"
#include "libflow/coarse_to_fine.hpp"
#include "libflow/gpu/change.cuh"
#include "libflow/gpu/lucas_kanade.cuh"
#include "libflow/gpu/robust_weights.cuh"
#include "libflow/gpu/texture.cuh"
#include "libflow/gpu/weighted_median.cuh"
#include "libsignal/gpu/median.cuh"
#include "libsignal/gpu/resample.cuh"

namespace aperture::flow {

template <class Executor>
struct EstimatorOperations {
    using Space = typename Executor::Space;
    using Planes = gpu::PlaneArray<Space>;
    using ConstPlanes = gpu::Planes<const float>;
    using Windows = gpu::WindowedLeastSquares<Executor>;
    using Constraints = Planes;
    using WeightedMedian = gpu::WeightedMedian;
    using TextureFilter = gpu::TextureFilter<Executor>;
    static constexpr bool fuses = true;

    /// Both images of a level.
    struct Images {
        gpu::ImagePair pair{};  ///< the caller's, resampled or without structure
        Planes resampled;       ///< or blurred
        Planes textures;
    };

    static Images images(Shape shape, const Parameters& p, bool finest) {
        Images images;
        if (!finest || p.blur > 0) images.resampled = Planes(2, shape);
        if (finest && p.texture > 0) images.textures = Planes(2, shape);
        return images;
    }
    static Windows windows(Executor& executor, Shape shape, const Parameters& p) {
        return {executor, shape, p};
    }
    static Constraints constraints(Shape shape) { return {gpu::constraint_planes, shape}; }
    static WeightedMedian weighted_median(Shape) { return {}; }

    static auto stage(Executor& executor, core::Timeline* timeline, const char* name) {
        return core::stage_scope(executor, timeline, name, 0, 0);
    }

    static void load(Executor&, ImageView<Space> image0, ImageView<Space> image1, Images& to) {
        to.pair = gpu::pair_of(gpu::planes_of(image0), gpu::planes_of(image1));
    }

    static void blur(Executor& executor, ImageView<Space> image0, ImageView<Space> image1,
                     float sigma, Images& to) {
        signal::gpu::blur(executor, gpu::pair_of(gpu::planes_of(image0), gpu::planes_of(image1)),
                          sigma, 2, to.resampled.planes());
        to.pair = gpu::pair_of(to.resampled);
    }

    static void subtract_structure(Executor& executor, TextureFilter& filter, float share,
                                   Images& images) {
        filter.run(executor, share, images.pair, images.textures.planes());
        images.pair = gpu::pair_of(images.textures);
    }

    static void downsample(Executor& executor, const Images& from, Images& to) {
        signal::gpu::downsample(executor, from.pair, 2, to.resampled.planes());
        to.pair = gpu::pair_of(to.resampled);
    }

    static void set_zero(Executor& executor, Planes& flow) {
        gpu::assign(executor, gpu::Zeros{}, 2, flow.planes());
    }

    static void rescale(Executor& executor, ConstFlowView<Space> from,
                        const std::array<float, 2>& ratio, Planes& to) {
        signal::gpu::resize(executor, gpu::planes_of(from), signal::Interpolation::bilinear, 2,
                            signal::gpu::PlaneFactors{{ratio[0], ratio[1]}}, to.planes());
    }

    static void warp(Executor& executor, const Images& images, signal::Interpolation interpolation,
                     const Planes& flow, Planes& warped) {
        gpu::warp_planes(executor, images.pair.image[1], flow.planes(), interpolation,
                         warped.planes());
    }

    static void linearise(Executor& executor, const Images& images, const Planes& warped,
                          const Planes& flow, bool whole, Planes& terms, Planes* start) {
        gpu::linearise(executor, images.pair.image[0], warped.planes(), flow.planes(),
                       unknown(whole, start), terms.planes());
    }
    /// Samples image 1 on the fly.
    static void linearise(Executor& executor, const Images& images,
                          signal::Interpolation interpolation, const Planes& flow, bool whole,
                          Planes& terms, Planes* start) {
        const ConstPlanes about = flow.planes();
        gpu::with_interpolation(interpolation, [&](auto kind) {
            gpu::linearise(executor, images.pair.image[0],
                           gpu::WarpedImage<decltype(kind)::value>{images.pair.image[1], about},
                           about, unknown(whole, start), terms.planes());
        });
    }

    static void constrain(Executor& executor, const Images& images, const Planes& warped,
                          const Planes& flow, Constraints& constraints, Planes& start) {
        gpu::constrain(executor, images.pair.image[0], warped.planes(), flow.planes(),
                       constraints.planes(), start.planes());
    }

    static void weigh(Executor& executor, const Constraints& constraints, const Planes& flow,
                      const Planes& solution, const Images& images, float brightness,
                      float contrast, Planes& terms, Planes& coupling) {
        gpu::weigh(executor, constraints.planes(), flow.planes(), solution.planes(),
                   images.pair.image[0], gpu::RobustModel{brightness, contrast}, terms.planes(),
                   coupling.planes());
    }

    static void solve_windows(Executor& executor, Windows& windows, const Planes& terms,
                              Planes& increment) {
        windows.solve(executor, terms.planes(), increment.planes());
    }

    /// The flow plus the limited change, computed as it is loaded.
    static gpu::LimitedChange limited_change(const Planes& flow, const Planes& solution, bool whole,
                                             float most) {
        return {flow.planes(), solution.planes(), whole ? 1.0F : 0.0F, most};
    }
    static void add_limited_change(Executor& executor, const Planes& flow, bool whole, float most,
                                   Planes& solution) {
        gpu::assign(executor, limited_change(flow, solution, whole, most), 2, solution.planes());
    }

    template <class Source>
    static void copy(Executor& executor, const Source& from, FlowView<Space> to) {
        gpu::assign(executor, source(from), 2, gpu::planes_of(to));
    }
    template <class Source>
    static void median_filter(Executor& executor, const Source& from, int size,
                              FlowView<Space> to) {
        signal::gpu::median_filter(executor, source(from), 2, size, gpu::planes_of(to));
    }

    static void filter_near_boundaries(Executor& executor, const WeightedMedian& filter,
                                       const Images& images, const Planes& warped,
                                       const Planes& from, FlowView<Space> to) {
        filter.run(executor, images.pair.image[0], warped.planes(), from.planes(),
                   gpu::planes_of(to));
    }

  private:
    static gpu::Unknown unknown(bool whole, Planes* start) {
        return {whole ? 1.0F : 0.0F, start != nullptr ? start->planes() : gpu::Planes<float>{}};
    }
    static ConstPlanes source(const Planes& planes) { return planes.planes(); }
    static const gpu::LimitedChange& source(const gpu::LimitedChange& change) { return change; }
};

}  // namespace aperture::flow
