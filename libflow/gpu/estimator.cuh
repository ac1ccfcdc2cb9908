// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Estimator on a Gpu or the SIMT host executor; the same as libflow/cpu/estimator.cpp.

#include <limits>
#include <optional>

#include "aperture/core/shape.hpp"
#include "aperture/flow/estimator.hpp"
#include "libcore/gpu/stage.cuh"
#include "libflow/gpu/change.cuh"
#include "libflow/gpu/lucas_kanade.cuh"
#include "libflow/gpu/robust_weights.cuh"
#include "libflow/gpu/texture.cuh"
#include "libflow/gpu/weighted_median.cuh"
#include "libsignal/gpu/median.cuh"
#include "libsignal/gpu/resample.cuh"

namespace aperture::flow {
namespace gpu {

/// Whether the warped image is stored: if warping is a separate stage, or if the image is needed
/// again or with a wide border.
inline bool warps_apart(const Parameters& p) {
    return p.solver.implementation == Implementation::staged || p.robust || p.weighted_median;
}

/// One level of the pyramid.
template <class Executor>
struct Level {
    using Space = typename Executor::Space;

    Shape shape;
    PlaneArray<Space> images;  ///< of both; empty on the first level if the caller's are used
    PlaneArray<Space> flow;
    PlaneArray<Space> next_flow;  ///< the result of a warp
    PlaneArray<Space> warped;     ///< only if warps_apart
    PlaneArray<Space> terms;
    PlaneArray<Space> solution;
    std::optional<SystemSolver<Executor>> solver;
    WindowedLeastSquares<Executor> windows;
    // Robust estimates only.
    PlaneArray<Space> constraints;
    PlaneArray<Space> coupling;

    Level(Executor& executor, Shape extents, const Parameters& p, bool own_images)
        : shape(extents),
          flow(2, extents),
          next_flow(2, extents),
          terms(term_planes, extents),
          solution(2, extents) {
        if (own_images) images = PlaneArray<Space>(2, extents);
        if (warps_apart(p)) warped = PlaneArray<Space>(1, extents);
        if (p.robust) {
            constraints = PlaneArray<Space>(constraint_planes, extents);
            coupling = PlaneArray<Space>(2, extents);
        }
        if (p.method == Method::horn_schunck) {
            solver.emplace(executor, extents, p.solver);
        } else {
            windows = WindowedLeastSquares<Executor>(executor, extents, p);
        }
    }
};

/// The coarse-to-fine estimation.
template <class Executor>
struct Estimation {
    using Space = typename Executor::Space;
    using Level = gpu::Level<Executor>;

    Executor& executor;
    Parameters parameters;
    std::vector<Level> levels;
    PlaneArray<Space> blurred;  ///< both images, input of the texture filter
    TextureFilter<Executor> texture;
    std::vector<double>* residuals = nullptr;
    core::Timeline* timeline = nullptr;

    Estimation(Executor& runs_on, Shape shape, const Parameters& p)
        : executor(runs_on), parameters(p) {
        for (const Shape& extents : pyramid_shapes(shape, p)) {
            levels.emplace_back(executor, extents, p,
                                !levels.empty() || p.blur > 0 || p.texture > 0);
        }
        if (p.texture > 0) texture = TextureFilter<Executor>(shape);
        if (p.texture > 0 && p.blur > 0) blurred = PlaneArray<Space>(2, shape);
    }

    auto stage(const char* name) const { return core::stage_scope(executor, timeline, name, 0, 0); }
    bool staged() const { return parameters.solver.implementation == Implementation::staged; }
    /// Whether the unknown is the new flow rather than a warp's increment.
    bool solves_for_flow() const {
        return parameters.method == Method::horn_schunck && !parameters.smooth_increment;
    }

    /// Both images of the first level.
    ImagePair build_pyramid(const ImagePair& given) {
        const auto scope = stage("pyramid");
        ImagePair first = given;
        if (parameters.blur > 0) {
            PlaneArray<Space>& to = parameters.texture > 0 ? blurred : levels.front().images;
            signal::gpu::blur(executor, given, static_cast<float>(parameters.blur), 2, to.planes());
            first = pair_of(to);
        }
        if (parameters.texture > 0) {
            texture.run(executor, static_cast<float>(parameters.texture), first,
                        levels.front().images.planes());
            first = pair_of(levels.front().images);
        }
        for (std::size_t l = 1; l < levels.size(); ++l) {
            signal::gpu::downsample(executor, l == 1 ? first : pair_of(levels[l - 1].images), 2,
                                    levels[l].images.planes());
        }
        return first;
    }

    /// Resamples a flow from one level to another and scales it by the ratio of their extents.
    void rescale(const Planes<const float>& from, const Planes<float>& to) {
        const signal::gpu::PlaneFactors ratio{
            {static_cast<float>(to.columns) / static_cast<float>(from.columns),
             static_cast<float>(to.rows) / static_cast<float>(from.rows)}};
        signal::gpu::resize(executor, from, signal::Interpolation::bilinear, 2, ratio, to);
    }

    void linearise_level(Level& level, const ImagePair& images) {
        const Planes<const float> flow = std::as_const(level.flow).planes();
        const Unknown unknown{solves_for_flow() ? 1.0F : 0.0F,
                              level.solver ? level.solution.planes() : Planes<float>{}};
        if (warps_apart(parameters)) {
            {
                const auto scope = stage("warp");
                warp_planes(executor, images.image[1], flow, parameters.interpolation,
                            level.warped.planes());
            }
            const auto scope = stage("derivatives");
            if (parameters.robust) {
                constrain(executor, images.image[0], std::as_const(level.warped).planes(), flow,
                          level.constraints.planes(), level.solution.planes());
                return;
            }
            linearise(executor, images.image[0], std::as_const(level.warped).planes(), flow,
                      unknown, level.terms.planes());
            return;
        }
        const auto scope = stage("warp");
        with_interpolation(parameters.interpolation, [&](auto kind) {
            linearise(executor, images.image[0],
                      WarpedImage<decltype(kind)::value>{images.image[1], flow}, flow, unknown,
                      level.terms.planes());
        });
    }

    void solve_level(Level& level, const ImagePair& images, bool watched) {
        const PlaneArray<Space>& terms = level.terms;
        if (!level.solver) {
            const auto scope = stage("solve");
            level.windows.solve(executor, terms.planes(), level.solution.planes());
            return;
        }
        LinearSystem<Space> system;
        system.tensor = terms.view().slice(0, 0, 3);
        system.right = terms.view().slice(0, 3, term_planes);
        system.smoothness = static_cast<float>(parameters.alpha * parameters.alpha);
        system.boundary = parameters.boundary;
        system.stencil = parameters.stencil;
        if (parameters.robust) system.coupling = std::as_const(level.coupling).view();
        const int systems = parameters.robust ? parameters.reweightings : 1;
        for (int i = 0; i < systems; ++i) {
            if (parameters.robust) weigh_level(level, images);
            const auto scope = stage("solve");
            level.solver->solve(system, level.solution.view(),
                                watched && i == 0 ? residuals : nullptr);
        }
    }

    /// Computes the robust system at the current solution.
    void weigh_level(Level& level, const ImagePair& images) {
        const auto scope = stage("derivatives");
        const RobustModel model{static_cast<float>(parameters.brightness),
                                static_cast<float>(parameters.contrast)};
        weigh(executor, std::as_const(level.constraints).planes(),
              std::as_const(level.flow).planes(), std::as_const(level.solution).planes(),
              images.image[0], model, level.terms.planes(), level.coupling.planes());
    }

    /// Adds the limited change to the flow and filters the result by the median.
    void take_change(Level& level, const ImagePair& images, const Planes<float>& to) {
        const LimitedChange change{std::as_const(level.flow).planes(),
                                   std::as_const(level.solution).planes(),
                                   solves_for_flow() ? 1.0F : 0.0F,
                                   parameters.largest_update > 0
                                       ? static_cast<float>(parameters.largest_update)
                                       : std::numeric_limits<float>::infinity(),
                                   to.rows,
                                   to.columns};
        const auto scope = stage("median");
        const auto filter = [&](const auto& from) {
            if (parameters.median == 0) return assign(executor, from, 2, to);
            signal::gpu::median_filter(executor, from, 2, parameters.median, to);
        };
        if (!staged() && !parameters.weighted_median) return filter(change);
        assign(executor, change, 2, level.solution.planes());
        const Planes<const float> changed = std::as_const(level.solution).planes();
        filter(changed);
        if (parameters.weighted_median) {
            filter_near_boundaries(executor, images.image[0], std::as_const(level.warped).planes(),
                                   changed, to);
        }
    }

    void run(const ImagePair& given, const Planes<float>& flow, bool start) {
        if (residuals != nullptr) residuals->clear();
        const ImagePair first = build_pyramid(given);
        for (std::size_t l = levels.size(); l-- > 0;) {
            Level& level = levels[l];
            if (l + 1 < levels.size()) {
                rescale(std::as_const(levels[l + 1].flow).planes(), level.flow.planes());
            } else if (start) {
                rescale(signal::gpu::constant(flow), level.flow.planes());
            } else {
                assign(executor, Zeros{}, 2, level.flow.planes());
            }
            const ImagePair images = l == 0 ? first : pair_of(level.images);
            for (int warp = 0; warp < parameters.warps; ++warp) {
                linearise_level(level, images);
                solve_level(level, images, l == 0 && warp == 0);
                const bool last = l == 0 && warp + 1 == parameters.warps;
                take_change(level, images, last ? flow : level.next_flow.planes());
                std::swap(level.flow, level.next_flow);
            }
        }
    }
};

}  // namespace gpu

template <class Executor>
struct Estimator<Executor>::State : gpu::Estimation<Executor> {
    using gpu::Estimation<Executor>::Estimation;
};

template <class Executor>
Estimator<Executor>::Estimator(Executor& executor, Shape shape, const Parameters& parameters) {
    core::expects(shape.rows > 0 && shape.columns > 0, "image of ", shape.rows, " x ",
                  shape.columns, " pixels");
    validate(parameters);
    state_ = std::make_unique<State>(executor, shape, parameters);
}
template <class Executor>
Estimator<Executor>::~Estimator() = default;
template <class Executor>
Estimator<Executor>::Estimator(Estimator&&) noexcept = default;
template <class Executor>
Estimator<Executor>& Estimator<Executor>::operator=(Estimator&&) noexcept = default;

template <class Executor>
void Estimator<Executor>::watch_convergence(std::vector<double>* residuals) {
    state_->residuals = residuals;
}

template <class Executor>
void Estimator<Executor>::run(ImageView<Space> image0, ImageView<Space> image1,
                              FlowView<Space> flow, bool start, core::Timeline* timeline) {
    const auto [rows, columns] = state_->levels.front().shape;
    core::expects_shape("image 0", image0, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("image 1", image1, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("flow", flow, {2, rows, columns}, core::Strides::unit_last);
    state_->timeline = timeline;
    state_->run(gpu::pair_of(gpu::planes_of(image0), gpu::planes_of(image1)), gpu::planes_of(flow),
                start);
}

}  // namespace aperture::flow
