// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/parameter_flags.hpp"

#include "apps/common/command_line.hpp"

namespace aperture::apps {
namespace {

constexpr int max_count = 1'000'000;
constexpr int multigrid_iterations = 1;

void add_count(CommandLine& line, const std::string& option, std::optional<int>& value, int least,
               const std::string& description) {
    line.whole_number(option, "N", value, least, max_count, description);
}

template <class Value>
void apply(const std::optional<Value>& flag, Value& value) {
    if (flag) value = *flag;
}

/// Rejects a flag without effect, since it shows a misunderstanding.
template <class Value>
void refuse(const std::optional<Value>& flag, std::string_view name, std::string_view reason) {
    core::expects(!flag, name, ' ', reason);
}

void refuse_idle_flags(const ParameterFlags& flags, const flow::Parameters& parameters) {
    if (flags.method == flow::Method::lucas_kanade) {
        constexpr std::string_view reason = "requires --method hs";
        refuse(flags.alpha, "--alpha", reason);
        refuse(flags.solver, "--solver", reason);
        refuse(flags.s_step, "--s-step", reason);
        refuse(flags.basis, "--basis", reason);
        refuse(flags.iterations, "--iterations", reason);
        refuse(flags.tolerance, "--tolerance", reason);
        refuse(flags.relaxation, "--omega", reason);
        refuse(flags.precondition, "--precondition", reason);
        refuse(flags.boundary, "--boundary", reason);
        refuse(flags.stencil, "--stencil", reason);
        return;
    }
    refuse(flags.window, "--window", "requires --method lk");
    refuse(flags.regularisation, "--regularisation", "requires --method lk");
    if (parameters.solver.solver != flow::Solver::redblack) {
        refuse(flags.relaxation, "--omega", "requires --solver redblack");
    }
    const bool avoiding = parameters.solver.solver == flow::Solver::cacg;
    if (!avoiding) {
        refuse(flags.s_step, "--s-step", "requires --solver cacg");
        refuse(flags.basis, "--basis", "requires --solver cacg");
    }
    if (!avoiding && parameters.solver.solver != flow::Solver::cg) {
        refuse(flags.precondition, "--precondition", "requires --solver cg or cacg");
    }
}

}  // namespace

void add_parameter_options(CommandLine& line, ParameterFlags& flags) {
    line.choice("--method", method_choices, flags.method, "Horn-Schunck (default) or Lucas-Kanade");
    line.choice("--preset", preset_choices, flags.preset,
                "Parameters that the other options override (default fast)");
    line.number("--alpha", "A", flags.alpha, {0, 1e6, true},
                "hs: smoothness weight, in grey levels of 0..255");
    add_count(line, "--window", flags.window, 3, "lk: odd width of the window, pixels");
    line.number("--regularisation", "R", flags.regularisation, {0, 1e9},
                "lk: term added to the diagonal of the normal equations, per pixel of the window");
    add_count(line, "--levels", flags.levels, 0, "Pyramid levels; 0: as many as fit");
    line.number("--scale", "S", flags.scale, {0.3, 0.95},
                "Size of a level relative to the finer one");
    add_count(line, "--warps", flags.warps, 1, "Linearisations per level");
    add_count(line, "--median", flags.median, 0, "Window of the median filter: 0 (none), 3, 5, 7");
    line.number("--blur", "S", flags.blur, {0, 1000},
                "Standard deviation of the initial blur of the images, pixels; 0: none");
    line.number("--texture", "T", flags.texture, {0, 1},
                "Share of the images' smooth part to subtract first, 0 to 1");
    line.choice("--interpolation", interpolation_choices, flags.interpolation,
                "Interpolation of image 1");
    line.choice("--solver", flow_solver_choices, flags.solver, "hs: solver of the linear systems");
    add_count(line, "--iterations", flags.iterations, 1,
              "hs: maximum iterations of the solver; V-cycles of multigrid");
    line.number("--tolerance", "T", flags.tolerance, {0, 1},
                "hs: relative residual at which the solver stops; 0: never");
    line.number("--omega", "W", flags.relaxation, {0, 2, true},
                "hs: over-relaxation of redblack, above 0 and below 2");
    line.choice("--precondition", precondition_choices, flags.precondition,
                "hs: preconditioner of cg and cacg: inverse 2x2 blocks or none");
    add_count(line, "--s-step", flags.s_step, 1,
              "hs: iterations of cacg per reduction, 1 to 16 (default 4)");
    line.choice("--basis", basis_choices, flags.basis,
                "hs: polynomial basis of cacg (default newton)");
    line.choice("--boundary", boundary_choices, flags.boundary, "hs: the flow outside the image");
    line.choice("--stencil", stencil_choices, flags.stencil, "hs: points of the Laplacian");
    line.choice("--impl", flow_implementation_choices, flags.implementation,
                "gpu: as much as fits in a kernel (default), or one operator in each");
}

flow::Parameters choose_parameters(const ParameterFlags& flags) {
    flow::Parameters p = flow::preset(flags.preset, flags.method);
    if (flags.solver && *flags.solver != p.solver.solver) {
        // A preset's choices for its own solver are wrong for other solvers.
        const flow::SolverParameters general;
        p.solver.iterations = flags.solver == flow::Solver::multigrid
                                  ? multigrid_iterations
                                  : std::max(p.solver.iterations, general.iterations);
        p.solver.relaxation = general.relaxation;
        p.solver.solver = *flags.solver;
    }
    refuse_idle_flags(flags, p);
    apply(flags.alpha, p.alpha);
    apply(flags.window, p.window);
    apply(flags.regularisation, p.regularisation);
    apply(flags.levels, p.levels);
    apply(flags.scale, p.scale);
    apply(flags.warps, p.warps);
    apply(flags.median, p.median);
    apply(flags.blur, p.blur);
    apply(flags.texture, p.texture);
    apply(flags.interpolation, p.interpolation);
    apply(flags.iterations, p.solver.iterations);
    apply(flags.tolerance, p.solver.tolerance);
    apply(flags.relaxation, p.solver.relaxation);
    apply(flags.precondition, p.solver.precondition);
    apply(flags.s_step, p.solver.s_step);
    apply(flags.basis, p.solver.basis);
    apply(flags.boundary, p.boundary);
    apply(flags.stencil, p.stencil);
    apply(flags.implementation, p.solver.implementation);
    flow::validate(p);
    return p;
}

}  // namespace aperture::apps
