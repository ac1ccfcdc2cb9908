// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The stages of Estimator on a Gpu or the SIMT host executor.

#include <array>

#include "libcore/gpu/stage.cuh"
#include "libflow/coarse_to_fine.hpp"
#include "libflow/gpu/data_term.cuh"
#include "libflow/gpu/lucas_kanade.cuh"
#include "libflow/gpu/robust_terms.cuh"
#include "libflow/gpu/texture.cuh"
#include "libflow/gpu/weighted_median.cuh"
#include "libsignal/gpu/median.cuh"
#include "libsignal/gpu/resample.cuh"

namespace aperture::flow {
namespace gpu {

/// The flow after a warp, before its median: limited_change() as a source.
struct LimitedChange {
    Planes<const float> flow;
    Planes<const float> solution;
    bool whole;
    float most;

    __device__ __forceinline__ float operator()(int plane, int y, int x) const {
        return limited_change(flow(plane, y, x), solution(plane, y, x), whole, most);
    }
};

}  // namespace gpu

template <class Executor>
struct EstimatorOperations {
    using Space = typename Executor::Space;
    using Planes = gpu::PlaneArray<Space>;
    using ConstPlanes = gpu::Planes<const float>;
    using Windows = gpu::WindowedLeastSquares<Executor>;
    using Constancy = gpu::Constancy<Executor>;
    using WeightedMedian = gpu::WeightedMedian<Executor>;
    using TextureFilter = gpu::TextureFilter<Executor>;
    static constexpr bool fuses = true;

    /// Both images of a level.
    struct Images {
        gpu::ImagePair pair{};  ///< the caller's, resampled or without structure
        Planes resampled;       ///< or blurred
        Planes textures;

        const ConstPlanes& operator[](int i) const { return pair.image[i]; }
    };

    static Images images(Shape shape, const Parameters& p, bool finest) {
        Images images;
        if (!finest || p.blur > 0) images.resampled = Planes(2, shape);
        if (finest && p.texture > 0) images.textures = Planes(2, shape);
        return images;
    }
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

    static void warp(Executor& executor, const ConstPlanes& image, const Planes& flow,
                     signal::Interpolation interpolation, Planes& warped) {
        gpu::warp_planes(executor, image, flow, interpolation, warped);
    }

    static void linearise(Executor& executor, const Images& images, const Planes& warped,
                          const Planes& flow, bool whole, Planes& terms, Planes* start) {
        gpu::linearise(executor, images[0], warped.planes(), flow, unknown(whole, start), terms);
    }
    /// Samples image 1 on the fly.
    static void linearise(Executor& executor, const Images& images,
                          signal::Interpolation interpolation, const Planes& flow, bool whole,
                          Planes& terms, Planes* start) {
        gpu::with_interpolation(interpolation, [&](auto kind) {
            gpu::linearise(executor, images[0],
                           gpu::WarpedImage<decltype(kind)::value>{images[1], flow}, flow,
                           unknown(whole, start), terms);
        });
    }

    /// The flow plus the limited change, computed as it is loaded.
    static gpu::LimitedChange limited_change(const Planes& flow, const Planes& solution, bool whole,
                                             float most) {
        return {flow.planes(), solution.planes(), whole, most};
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

  private:
    static gpu::Unknown unknown(bool whole, Planes* start) {
        return {whole ? 1.0F : 0.0F, start != nullptr ? start->planes() : gpu::Planes<float>{}};
    }
    static ConstPlanes source(const Planes& planes) { return planes.planes(); }
    static const gpu::LimitedChange& source(const gpu::LimitedChange& change) { return change; }
};

}  // namespace aperture::flow
