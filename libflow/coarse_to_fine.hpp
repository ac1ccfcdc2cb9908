// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Estimator for every executor: which stages run, in which order and on which planes.

#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "aperture/core/shape.hpp"
#include "aperture/flow/estimator.hpp"
#include "libflow/image_model.hpp"
#include "libflow/solver_model.hpp"

namespace aperture::flow {

/// Whether estimators with these parameters have the same planes: they differ only in values that
/// planes do not depend on.
inline bool same_planes(Shape shape, Parameters a, const Parameters& b) {
    if (pyramid_shapes(shape, a) != pyramid_shapes(shape, b) || (a.blur > 0) != (b.blur > 0) ||
        (a.texture > 0) != (b.texture > 0) || a.solver.implementation != b.solver.implementation) {
        return false;
    }
    a.alpha = b.alpha;
    a.brightness = b.brightness;
    a.contrast = b.contrast;
    a.reweightings = b.reweightings;
    a.window = b.window;
    a.regularisation = b.regularisation;
    a.levels = b.levels;
    a.scale = b.scale;
    a.warps = b.warps;
    a.median = b.median;
    a.largest_update = b.largest_update;
    a.interpolation = b.interpolation;
    a.smooth_increment = b.smooth_increment;
    a.blur = b.blur;
    a.texture = b.texture;
    a.solver = b.solver;
    a.boundary = b.boundary;
    a.stencil = b.stencil;
    return a == b;
}

/// The stages of an estimation on one executor, and the types of what they load and store. Planes
/// are an executor's array of planes; Images has operator[]. `fuses` says whether there are stages
/// in one kernel: linearise without a warped image, and a median of limited_change().
template <class Executor>
struct EstimatorOperations;

template <class Executor>
struct Estimator<Executor>::State {
    using Operations = EstimatorOperations<Executor>;
    using Planes = typename Operations::Planes;

    /// One level of the pyramid.
    struct Level {
        Shape shape;
        typename Operations::Images images;
        Planes flow;
        Planes next_flow;  ///< the result of a warp; only if the median is fused
        Planes warped;     ///< image 1; only if a separate stage stores it
        Planes terms;      ///< J11, J12, J22 and both right-hand sides
        Planes solution;   ///< the new flow or an increment, then the median's input
        std::optional<SystemSolver<Executor>> solver;  ///< Horn-Schunck only
        typename Operations::Windows windows;          ///< Lucas-Kanade only
        // Robust estimates and weighted medians only.
        typename Operations::Constancy constancy;
        Planes coupling;
        typename Operations::WeightedMedian weighted_median;
    };

    Executor& executor;
    Parameters parameters;
    /// Whether the median limits the change as it loads it, rather than after a separate stage.
    bool fuses_median;
    /// Whether the warped image is stored: if warping is a separate stage, or if the image is
    /// needed again or with a wide border.
    bool stores_warped;
    std::vector<Level> levels;
    /// The images of the pyramid; null unless it is that of the parameters.
    std::array<const float*, 2> pyramid_of{};
    typename Operations::TextureFilter texture;
    std::vector<double>* residuals = nullptr;
    core::Timeline* timeline = nullptr;

    State(Executor& runs_on, Shape shape, const Parameters& p)
        : executor(runs_on),
          parameters(p),
          fuses_median(Operations::fuses && p.solver.implementation != Implementation::staged &&
                       !p.weighted_median),
          stores_warped(!fuses_median || p.robust) {
        for (const Shape& extents : pyramid_shapes(shape, p)) add_level(extents);
        if (p.texture > 0) texture = typename Operations::TextureFilter(shape);
    }

    void add_level(Shape shape) {
        const Parameters& p = parameters;
        Level& level = levels.emplace_back();
        level.shape = shape;
        level.images = Operations::images(shape, p, levels.size() == 1);
        level.flow = Planes(2, shape);
        level.terms = Planes(term_planes, shape);
        level.solution = Planes(2, shape);
        if (fuses_median) level.next_flow = Planes(2, shape);
        if (stores_warped) level.warped = Planes(1, shape);
        if (p.method == Method::horn_schunck) {
            level.solver.emplace(executor, shape, p.solver);
        } else {
            level.windows = typename Operations::Windows(executor, shape, p);
        }
        if (p.robust) {
            level.constancy = typename Operations::Constancy(shape);
            level.coupling = Planes(2, shape);
        }
        if (p.weighted_median) {
            level.weighted_median = typename Operations::WeightedMedian(shape);
        }
    }

    /// Requires the same planes.
    void set_parameters(const Parameters& p) {
        if (p.blur != parameters.blur || p.texture != parameters.texture) pyramid_of = {};
        const bool other_windows =
            p.window != parameters.window || p.regularisation != parameters.regularisation;
        for (Level& level : levels) {
            if (level.solver && p.solver != parameters.solver) {
                level.solver.emplace(executor, level.shape, p.solver);
            }
            if (!level.solver && other_windows) {
                level.windows = typename Operations::Windows(executor, level.shape, p);
            }
        }
        parameters = p;
    }

    auto stage(const char* name) const { return Operations::stage(executor, timeline, name); }
    /// Whether the unknown is the new flow rather than a warp's increment.
    bool solves_for_flow() const {
        return parameters.method == Method::horn_schunck && !parameters.smooth_increment;
    }

    void build_pyramid(ImageView<Space> image0, ImageView<Space> image1) {
        const auto scope = stage("pyramid");
        auto& finest = levels.front().images;
        if (parameters.blur > 0) {
            Operations::blur(executor, image0, image1, static_cast<float>(parameters.blur), finest);
        } else {
            Operations::load(executor, image0, image1, finest);
        }
        if (parameters.texture > 0) {
            Operations::subtract_structure(executor, texture,
                                           static_cast<float>(parameters.texture), finest);
        }
        for (std::size_t l = 1; l < levels.size(); ++l) {
            Operations::downsample(executor, levels[l - 1].images, levels[l].images);
        }
        pyramid_of = {image0.data, image1.data};
    }

    /// Resamples a flow from one level to another and scales it by the ratio of their extents.
    void rescale(ConstFlowView<Space> from, Level& to) {
        const std::array ratio{
            static_cast<float>(to.shape.columns) / static_cast<float>(from.extent[2]),
            static_cast<float>(to.shape.rows) / static_cast<float>(from.extent[1])};
        Operations::rescale(executor, from, ratio, to.flow);
    }

    /// Computes the terms and the start of the solution about the current flow.
    void linearise(Level& level) {
        // Windows need no start.
        Planes* const start = level.solver ? &level.solution : nullptr;
        if constexpr (Operations::fuses) {
            if (!stores_warped) {
                const auto scope = stage("warp");
                return Operations::linearise(executor, level.images, parameters.interpolation,
                                             level.flow, solves_for_flow(), level.terms, start);
            }
        }
        {
            const auto scope = stage("warp");
            Operations::warp(executor, level.images[1], level.flow, parameters.interpolation,
                             level.warped);
        }
        const auto scope = stage("derivatives");
        if (parameters.robust) {
            return level.constancy.linearise(executor, level.images[0], level.warped, level.flow,
                                             level.solution);
        }
        Operations::linearise(executor, level.images, level.warped, level.flow, solves_for_flow(),
                              level.terms, start);
    }

    void solve(Level& level, std::vector<double>* watched) {
        if (!level.solver) {
            const auto scope = stage("solve");
            return level.windows.solve(executor, level.terms, level.solution);
        }
        const auto terms = std::as_const(level.terms).view();
        LinearSystem<Space> system;
        system.tensor = terms.slice(0, 0, 3);
        system.right = terms.slice(0, 3, term_planes);
        system.smoothness = static_cast<float>(parameters.alpha * parameters.alpha);
        system.boundary = parameters.boundary;
        system.stencil = parameters.stencil;
        if (parameters.robust) system.coupling = std::as_const(level.coupling).view();
        const int systems = parameters.robust ? parameters.reweightings : 1;
        for (int i = 0; i < systems; ++i) {
            if (parameters.robust) {
                const auto scope = stage("derivatives");
                level.constancy.weigh(executor, level.flow, level.solution, level.images[0],
                                      parameters, level.terms, level.coupling);
            }
            const auto scope = stage("solve");
            level.solver->solve(system, level.solution.view(), i == 0 ? watched : nullptr);
        }
    }

    /// Adds the limited change to the flow and stores the result, filtered by the median, in `to`.
    void update_flow(Level& level, FlowView<Space> to) {
        const bool whole = solves_for_flow();
        const float most = parameters.largest_update > 0
                               ? static_cast<float>(parameters.largest_update)
                               : std::numeric_limits<float>::infinity();
        const auto scope = stage("median");
        const auto filter = [&](const auto& from) {
            if (parameters.median == 0) return Operations::copy(executor, from, to);
            Operations::median_filter(executor, from, parameters.median, to);
        };
        if constexpr (Operations::fuses) {
            if (fuses_median) {
                return filter(Operations::limited_change(level.flow, level.solution, whole, most));
            }
        }
        Operations::add_limited_change(executor, level.flow, whole, most, level.solution);
        filter(level.solution);
        if (parameters.weighted_median) {
            level.weighted_median.run(executor, level.images[0], level.warped, level.solution, to);
        }
    }

    void run(ImageView<Space> image0, ImageView<Space> image1, FlowView<Space> flow, bool start) {
        if (residuals != nullptr) residuals->clear();
        if (pyramid_of != std::array{image0.data, image1.data}) build_pyramid(image0, image1);
        for (std::size_t l = levels.size(); l-- > 0;) {
            Level& level = levels[l];
            if (l + 1 < levels.size()) {
                rescale(std::as_const(levels[l + 1].flow).view(), level);
            } else if (start) {
                rescale(flow, level);
            } else {
                Operations::set_zero(executor, level.flow);
            }
            for (int warp = 0; warp < parameters.warps; ++warp) {
                linearise(level);
                solve(level, l == 0 && warp == 0 ? residuals : nullptr);
                if (l == 0 && warp + 1 == parameters.warps) {
                    update_flow(level, flow);
                } else {
                    update_flow(level, (fuses_median ? level.next_flow : level.flow).view());
                    if (fuses_median) std::swap(level.flow, level.next_flow);
                }
            }
        }
    }
};

template <class Executor>
Estimator<Executor>::Estimator(Executor& executor, Shape shape, const Parameters& parameters) {
    check_shape(shape);
    validate(parameters);
    state_ = core::owned(std::make_unique<State>(executor, shape, parameters));
}

template <class Executor>
void Estimator<Executor>::set_parameters(const Parameters& parameters) {
    validate(parameters);
    const Shape shape = state_->levels.front().shape;
    if (same_planes(shape, state_->parameters, parameters)) {
        return state_->set_parameters(parameters);
    }
    auto* const residuals = state_->residuals;
    state_ = core::owned(std::make_unique<State>(state_->executor, shape, parameters));
    state_->residuals = residuals;
}

template <class Executor>
void Estimator<Executor>::watch_convergence(std::vector<double>* residuals) {
    state_->residuals = residuals;
}

template <class Executor>
void Estimator<Executor>::run(ImageView<Space> image0, ImageView<Space> image1,
                              FlowView<Space> flow, bool start, core::Timeline* timeline) {
    state_->pyramid_of = {};
    run_again(image0, image1, flow, start, timeline);
}

template <class Executor>
void Estimator<Executor>::run_again(ImageView<Space> image0, ImageView<Space> image1,
                                    FlowView<Space> flow, bool start, core::Timeline* timeline) {
    const auto [rows, columns] = state_->levels.front().shape;
    core::expects_shape("image 0", image0, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("image 1", image1, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("flow", flow, {2, rows, columns}, core::Strides::unit_last);
    state_->timeline = timeline;
    state_->run(image0, image1, flow, start);
}

}  // namespace aperture::flow
