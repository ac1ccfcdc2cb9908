// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/estimator.hpp"

#include <optional>

#include "aperture/core/shape.hpp"
#include "aperture/signal/median.hpp"
#include "libflow/cpu/constancy.hpp"
#include "libflow/cpu/data_term.hpp"
#include "libflow/cpu/lucas_kanade.hpp"
#include "libflow/cpu/robust_weights.hpp"
#include "libflow/cpu/row_loops.hpp"
#include "libflow/cpu/texture.hpp"
#include "libflow/cpu/weighted_median.hpp"

namespace aperture::flow {
namespace {

core::View<const float, 2, core::Host> plane(const PaddedPlanes& planes, index_t i) {
    const auto all = planes.view();
    return {all.data + i * all.stride[0],
            {all.extent[1], all.extent[2]},
            {all.stride[1], all.stride[2]}};
}
core::View<float, 2, core::Host> plane(PaddedPlanes& planes, index_t i) {
    const auto all = planes.view();
    return {all.data + i * all.stride[0],
            {all.extent[1], all.extent[2]},
            {all.stride[1], all.stride[2]}};
}

core::View<const float, 3, core::Host> planes(const PaddedPlanes& all, index_t first,
                                              index_t last) {
    return all.view().slice(0, first, last);
}

/// One level of the pyramid.
struct Level {
    PaddedPlanes image[2];
    PaddedPlanes flow;
    PaddedPlanes warped;
    PaddedPlanes terms;   ///< J11, J12, J22 and both right-hand sides
    PaddedPlanes change;  ///< the solution, then the median's input
    std::optional<SystemSolver<core::Cpu>> solver;
    WindowedLeastSquares windows;
    // Robust estimates and weighted medians only.
    Constancy constancy;
    PaddedPlanes coupling;
    WeightedMedian weighted_median;

    Level(core::Cpu& cpu, Shape shape, const Parameters& p)
        : image{PaddedPlanes(1, shape), PaddedPlanes(1, shape)},
          flow(2, shape),
          warped(1, shape),
          terms(5, shape),
          change(2, shape) {
        if (p.method == Method::horn_schunck) {
            solver.emplace(cpu, shape, p.solver);
        } else {
            windows = WindowedLeastSquares(cpu, shape, p.window, p.regularisation);
        }
        if (p.robust) {
            constancy = Constancy(shape);
            coupling = PaddedPlanes(2, shape);
        }
        if (p.weighted_median) weighted_median = WeightedMedian(shape);
    }
    Shape shape() const { return flow.shape(); }
};

}  // namespace

template <>
struct Estimator<core::Cpu>::State {
    core::Cpu& cpu;
    Parameters parameters;
    std::vector<Level> levels;
    TextureFilter texture;
    std::vector<double>* residuals = nullptr;
    core::Timeline* timeline = nullptr;

    State(core::Cpu& executor, Shape shape, const Parameters& p) : cpu(executor), parameters(p) {
        for (const Shape& extents : pyramid_shapes(shape, p)) levels.emplace_back(cpu, extents, p);
        if (p.texture > 0) texture = TextureFilter(shape);
    }

    core::Timeline::Scope stage(const char* name) {
        return core::Timeline::stage(timeline, cpu, name, 0, 0);
    }

    void take_first(ImageView<core::Host> from, PaddedPlanes& to) {
        if (parameters.blur > 0) {
            signal::gaussian_blur(cpu, from, static_cast<float>(parameters.blur), plane(to, 0));
            for_rows(cpu, to.shape(),
                     [&](index_t y) { set_image_margins(to.row(0, y), to.shape().columns); });
        } else {
            take_image(cpu, from, to);
        }
        if (parameters.texture > 0) texture.run(cpu, static_cast<float>(parameters.texture), to);
    }

    void build_pyramid(ImageView<core::Host> image0, ImageView<core::Host> image1) {
        const auto scope = stage("pyramid");
        for (int i : {0, 1}) {
            take_first(i == 0 ? image0 : image1, levels.front().image[i]);
            for (std::size_t l = 1; l < levels.size(); ++l) {
                PaddedPlanes& to = levels[l].image[i];
                signal::downsample(cpu, plane(std::as_const(levels[l - 1].image[i]), 0),
                                   plane(to, 0));
                for_rows(cpu, to.shape(),
                         [&](index_t y) { set_image_margins(to.row(0, y), to.shape().columns); });
            }
        }
    }

    /// Resamples a flow from one level to another and scales it by the ratio of their extents.
    void rescale(ConstFlowView<core::Host> from, PaddedPlanes& to) {
        const Shape shape = to.shape();
        const float ratio[2] = {
            static_cast<float>(shape.columns) / static_cast<float>(from.extent[2]),
            static_cast<float>(shape.rows) / static_cast<float>(from.extent[1])};
        for (index_t i : {0, 1}) {
            const core::View<const float, 2, core::Host> source{from.data + i * from.stride[0],
                                                                {from.extent[1], from.extent[2]},
                                                                {from.stride[1], from.stride[2]}};
            signal::resize(cpu, source, signal::Interpolation::bilinear, plane(to, i));
            for_rows(cpu, shape, [&](index_t y) {
                float* const row = to.row(i, y);
                for (index_t x = 0; x < shape.columns; ++x) row[x] *= ratio[i];
            });
        }
    }

    void linearise_level(Level& level) {
        {
            const auto scope = stage("warp");
            warp_padded(cpu, level.image[1], level.flow, parameters.interpolation, level.warped);
        }
        const auto scope = stage("derivatives");
        if (parameters.robust) {
            return level.constancy.linearise(cpu, level.image[0], level.warped, level.flow);
        }
        const bool increment =
            parameters.smooth_increment || parameters.method == Method::lucas_kanade;
        linearise(cpu, level.image[0], level.warped, level.flow, increment, level.terms);
    }

    /// Solves for `change`: the new flow, or an increment.
    void solve_level(Level& level, bool watched) {
        if (parameters.method == Method::lucas_kanade) {
            const auto scope = stage("solve");
            return level.windows.solve(level.terms, level.change);
        }
        for_rows(cpu, level.shape(), [&](index_t y) {
            for (index_t i : {0, 1}) {
                if (parameters.smooth_increment) {
                    std::fill_n(level.change.row(i, y), level.shape().columns, 0.0F);
                } else {
                    std::copy_n(level.flow.row(i, y), level.shape().columns,
                                level.change.row(i, y));
                }
            }
        });
        LinearSystem<core::Host> system;
        system.tensor = planes(level.terms, 0, 3);
        system.right = planes(level.terms, 3, 5);
        system.smoothness = static_cast<float>(parameters.alpha * parameters.alpha);
        system.boundary = parameters.boundary;
        system.stencil = parameters.stencil;
        if (parameters.robust) system.coupling = planes(level.coupling, 0, 2);
        const int systems = parameters.robust ? parameters.reweightings : 1;
        for (int i = 0; i < systems; ++i) {
            if (parameters.robust) weigh(level);
            const auto scope = stage("solve");
            level.solver->solve(system, level.change.view(),
                                watched && i == 0 ? residuals : nullptr);
        }
    }

    /// Computes the robust system at the current `change`.
    void weigh(Level& level) {
        const auto scope = stage("derivatives");
        weigh_data(cpu, level.constancy.constraints(), level.flow, level.change,
                   static_cast<float>(parameters.brightness), level.terms);
        weigh_smoothness(cpu, level.image[0], level.change, static_cast<float>(parameters.contrast),
                         level.coupling);
    }

    /// Adds the limited change to the flow and filters the result by the median.
    void take_change(Level& level) {
        const bool whole =
            parameters.method == Method::horn_schunck && !parameters.smooth_increment;
        const float most = parameters.largest_update > 0
                               ? static_cast<float>(parameters.largest_update)
                               : std::numeric_limits<float>::infinity();
        const auto scope = stage("median");
        for_rows(cpu, level.shape(), [&](index_t y) {
            for (index_t i : {0, 1}) {
                const float* before = level.flow.row(i, y);
                float* const now = level.change.row(i, y);
                for (index_t x = 0; x < level.shape().columns; ++x) {
                    const float change = whole ? now[x] - before[x] : now[x];
                    now[x] = before[x] + std::min(std::max(change, -most), most);
                }
                set_margins(now, level.shape().columns, Boundary::replicate);
            }
        });
        if (parameters.median == 0) level.flow.copy(level.change);
        for (index_t i : {0, 1}) {
            if (parameters.median == 0) break;
            signal::median_filter(cpu, plane(std::as_const(level.change), i), parameters.median,
                                  plane(level.flow, i));
        }
        if (parameters.weighted_median) {
            level.weighted_median.run(cpu, level.image[0], level.warped, level.change, level.flow);
        }
    }
};

template <>
Estimator<core::Cpu>::Estimator(core::Cpu& cpu, Shape shape, const Parameters& parameters) {
    core::expects(shape.rows > 0 && shape.columns > 0, "image of ", shape.rows, " x ",
                  shape.columns, " pixels");
    validate(parameters);
    state_ = std::make_unique<State>(cpu, shape, parameters);
}
template <>
Estimator<core::Cpu>::~Estimator() = default;
template <>
Estimator<core::Cpu>::Estimator(Estimator&&) noexcept = default;
template <>
Estimator<core::Cpu>& Estimator<core::Cpu>::operator=(Estimator&&) noexcept = default;

template <>
void Estimator<core::Cpu>::watch_convergence(std::vector<double>* residuals) {
    state_->residuals = residuals;
}

template <>
void Estimator<core::Cpu>::run(ImageView<core::Host> image0, ImageView<core::Host> image1,
                               FlowView<core::Host> flow, bool start, core::Timeline* timeline) {
    State& s = *state_;
    const index_t rows = s.levels.front().shape().rows;
    const index_t columns = s.levels.front().shape().columns;
    core::expects_shape("image 0", image0, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("image 1", image1, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("flow", flow, {2, rows, columns}, core::Strides::unit_last);
    s.timeline = timeline;
    if (s.residuals != nullptr) s.residuals->clear();
    s.build_pyramid(image0, image1);
    for (std::size_t l = s.levels.size(); l-- > 0;) {
        Level& level = s.levels[l];
        if (l + 1 < s.levels.size()) {
            s.rescale(std::as_const(s.levels[l + 1].flow).view(), level.flow);
        } else if (start) {
            s.rescale(flow, level.flow);
        } else {
            for_rows(s.cpu, level.shape(), [&](index_t y) {
                for (index_t i : {0, 1})
                    std::fill_n(level.flow.row(i, y), level.shape().columns, 0.0F);
            });
        }
        for (int warp = 0; warp < s.parameters.warps; ++warp) {
            s.linearise_level(level);
            s.solve_level(level, l == 0 && warp == 0);
            s.take_change(level);
        }
    }
    const PaddedPlanes& found = s.levels.front().flow;
    for_rows(s.cpu, Shape{rows, columns}, [&](index_t y) {
        for (index_t i : {0, 1}) std::copy_n(found.row(i, y), columns, &flow(i, y, 0));
    });
}

}  // namespace aperture::flow
