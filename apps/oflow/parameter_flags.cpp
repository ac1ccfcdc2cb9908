// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/parameter_flags.hpp"

namespace aperture::apps {
namespace {

constexpr int max_count = 1'000'000;

}  // namespace

void add_parameter_options(CommandLine& line, PresetChoice& choice, flow::Parameters& p) {
    const auto count = [&](const char* option, int& value, int least, const char* description) {
        line.whole_number(option, "N", value, least, max_count, description);
        line.sweeps({option, SweptValues::whole_numbers});
    };
    line.choice("--method", flow::method_choices, choice.method,
                "Horn-Schunck (default) or Lucas-Kanade");
    line.choice("--preset", flow::preset_choices, choice.preset,
                "Parameters that the other options override (default fast)");
    line.number("--alpha", "A", p.alpha, {0, 1e6, true},
                "hs: smoothness weight, in grey levels of 0..255");
    count("--lk-window", p.window, 3, "lk: odd width of the window, pixels");
    line.number("--regularisation", "R", p.regularisation, {0, 1e9},
                "lk: term added to the diagonal of the normal equations, per pixel of the window");
    count("--levels", p.levels, 0, "Pyramid levels; 0: as many as fit");
    line.number("--level-scale", "S", p.scale, {0.3, 0.95},
                "Size of a level relative to the finer one");
    count("--warps", p.warps, 1, "Linearisations per level");
    count("--median", p.median, 0, "Window of the median filter: 0 (none), 3, 5, 7");
    line.number("--blur", "S", p.blur, {0, 1000},
                "Standard deviation of the initial blur of the images, pixels; 0: none");
    line.number("--texture", "T", p.texture, {0, 1},
                "Share of the images' smooth part to subtract first, 0 to 1");
    line.choice("--interpolation", flow::interpolation_choices, p.interpolation,
                "Interpolation of image 1");
    line.choice("--solver", flow::solver_choices, choice.solver,
                "hs: solver of the linear systems");
    count("--iterations", p.solver.iterations, 1,
          "hs: maximum iterations of the solver; V-cycles of multigrid");
    line.number("--tolerance", "T", p.solver.tolerance, {0, 1},
                "hs: relative residual at which the solver stops; 0: never");
    line.number("--omega", "W", p.solver.relaxation, {0, 2, true},
                "hs: over-relaxation of redblack, above 0 and below 2");
    line.choice("--precondition", flow::precondition_choices, p.solver.precondition,
                "hs: preconditioner of cg and cacg: inverse 2x2 blocks or none");
    count("--s-step", p.solver.s_step, 1,
          "hs: iterations of cacg per reduction, 1 to 16 (default 4)");
    line.choice("--basis", flow::basis_choices, p.solver.basis,
                "hs: polynomial basis of cacg (default newton)");
    line.choice("--boundary", flow::boundary_choices, p.boundary, "hs: the flow outside the image");
    line.choice("--stencil", flow::stencil_choices, p.stencil, "hs: points of the Laplacian");
    line.choice("--impl", flow::implementation_choices, p.solver.implementation,
                "gpu: as much as fits in a kernel (default), or one operator in each");
    for (const auto* option : {"--alpha", "--regularisation", "--level-scale", "--blur",
                               "--texture", "--tolerance", "--omega"}) {
        line.sweeps({option, SweptValues::numbers});
    }
    for (const auto* option : {"--method", "--preset", "--interpolation", "--solver",
                               "--precondition", "--basis", "--boundary", "--stencil", "--impl"}) {
        line.sweeps({option, SweptValues::words});
    }
}

void check_parameters(const CommandLine& line, const flow::Parameters& p) {
    const bool hs = p.method == flow::Method::horn_schunck;
    for (const auto* flag :
         {"--alpha", "--solver", "--s-step", "--basis", "--iterations", "--tolerance", "--omega",
          "--precondition", "--boundary", "--stencil"}) {
        line.needs(flag, "--method hs", hs);
    }
    line.needs("--lk-window", "--method lk", !hs);
    line.needs("--regularisation", "--method lk", !hs);
    const flow::Solver solver = p.solver.solver;
    const bool avoiding = solver == flow::Solver::cacg;
    line.needs("--omega", "--solver redblack", solver == flow::Solver::redblack);
    line.needs("--s-step", "--solver cacg", avoiding);
    line.needs("--basis", "--solver cacg", avoiding);
    line.needs("--precondition", "--solver cg or cacg", avoiding || solver == flow::Solver::cg);
    flow::validate(p);
}

}  // namespace aperture::apps
