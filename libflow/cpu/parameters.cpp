// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "aperture/core/error.hpp"

namespace aperture::flow {
namespace {

/// Minimum extent of a coarser level of a pyramid.
constexpr index_t smallest_extent = 16;
constexpr int multigrid_iterations = 1;

Parameters preset_with_its_solver(Preset which, Method method) {
    Parameters p;
    p.method = method;
    if (which == Preset::thesis) {
        p.alpha = 4;
        p.levels = 4;
        p.warps = method == Method::lucas_kanade ? 3 : 1;
        p.median = 5;
        p.blur = 0;
        p.smooth_increment = true;
        p.solver = {.solver = Solver::block2x2, .iterations = 400};
    }
    if (which == Preset::accurate) {
        p.scale = 0.8;
        p.warps = 5;
        p.blur = 0.6;
        p.weighted_median = true;
        if (method == Method::lucas_kanade) {
            p.regularisation = 2;
            p.texture = 0.95;
            return p;
        }
        p.robust = true;
        p.alpha = 1;
        p.median = 5;
        p.solver = {.solver = Solver::redblack, .iterations = 10, .relaxation = 1.7};
    }
    return p;
}

}  // namespace

Parameters preset(Preset which, Method method, std::optional<Solver> solver) {
    Parameters p = preset_with_its_solver(which, method);
    if (!solver || *solver == p.solver.solver) return p;
    const SolverParameters general;
    p.solver.iterations = solver == Solver::multigrid
                              ? multigrid_iterations
                              : std::max(p.solver.iterations, general.iterations);
    p.solver.relaxation = general.relaxation;
    p.solver.solver = *solver;
    return p;
}

void validate(const SolverParameters& p) {
    using core::expects;
    expects(p.iterations >= 0, "iterations is ", p.iterations, ", expected 0 or more");
    expects(p.tolerance >= 0, "tolerance is ", p.tolerance, ", expected 0 or more");
    expects(p.relaxation > 0 && p.relaxation < 2, "relaxation is ", p.relaxation,
            ", expected more than 0 and less than 2");
    expects(p.s_step >= 1 && p.s_step <= 16, "s-step is ", p.s_step, ", expected 1 to 16");
}

void validate(const Parameters& p) {
    using core::expects;
    validate(p.solver);
    expects(p.alpha > 0 && std::isfinite(p.alpha), "alpha is ", p.alpha, ", expected more than 0");
    expects(p.window >= 3 && p.window % 2 == 1, "window is ", p.window,
            ", expected an odd number of at least 3");
    expects(p.regularisation >= 0 && std::isfinite(p.regularisation), "regularisation is ",
            p.regularisation, ", expected 0 or more");
    expects(p.brightness >= 0 && std::isfinite(p.brightness), "brightness is ", p.brightness,
            ", expected 0 or more");
    expects(p.reweightings >= 1, "reweightings is ", p.reweightings, ", expected 1 or more");
    expects(p.contrast >= 0 && std::isfinite(p.contrast), "contrast is ", p.contrast,
            ", expected 0 (none) or more");
    expects(!p.robust || (p.method == Method::horn_schunck && !p.smooth_increment &&
                          p.boundary == Boundary::replicate && p.stencil == Stencil::five),
            "a robust estimate requires Horn-Schunck on the whole flow, the five-point stencil and "
            "replicated borders");
    expects(p.levels >= 0, "levels is ", p.levels, ", expected 0 (as many as fit) or more");
    expects(p.scale >= 0.3 && p.scale <= 0.95, "scale is ", p.scale, ", expected 0.3 to 0.95");
    expects(p.warps >= 1, "warps is ", p.warps, ", expected 1 or more");
    expects(p.median == 0 || p.median == 3 || p.median == 5 || p.median == 7, "median is ",
            p.median, ", expected 0 (none), 3, 5 or 7");
    expects(p.largest_update >= 0, "largest update is ", p.largest_update,
            ", expected 0 (no limit) or more");
    expects(p.blur >= 0 && p.blur <= 1000, "blur is ", p.blur, ", expected 0 to 1000");
    expects(p.texture >= 0 && p.texture <= 1, "texture is ", p.texture, ", expected 0 to 1");
}

std::vector<Shape> pyramid_shapes(Shape shape, const Parameters& p) {
    std::vector<Shape> shapes{shape};
    const auto scaled = [](index_t extent, double factor) {
        return std::max<index_t>(1, std::llround(static_cast<double>(extent) * factor));
    };
    while (p.levels == 0 || static_cast<int>(shapes.size()) < p.levels) {
        // From the image itself, so that rounding does not accumulate over the levels.
        const double factor = std::pow(p.scale, static_cast<double>(shapes.size()));
        const Shape next{scaled(shape.rows, factor), scaled(shape.columns, factor)};
        if (std::min(next.rows, next.columns) < smallest_extent || next == shapes.back()) break;
        shapes.push_back(next);
    }
    return shapes;
}

}  // namespace aperture::flow
