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
void take(const std::optional<Value>& flag, Value& value) {
    if (flag) value = *flag;
}

/// Rejects a flag without effect, since it shows a misunderstanding.
template <class Value>
void refuse(const std::optional<Value>& flag, std::string_view name, std::string_view reason) {
    core::expects(!flag, name, ' ', reason);
}

void refuse_idle_flags(const ParameterFlags& flags, const flow::Parameters& parameters) {
    if (flags.method == flow::Method::lucas_kanade) {
        constexpr std::string_view reason = "has no meaning with --method lk";
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
    refuse(flags.window, "--window", "needs --method lk");
    refuse(flags.regularisation, "--regularisation", "needs --method lk");
    if (parameters.solver.solver != flow::Solver::redblack) {
        refuse(flags.relaxation, "--omega", "needs --solver redblack");
    }
    const bool avoiding = parameters.solver.solver == flow::Solver::cacg;
    if (!avoiding) {
        refuse(flags.s_step, "--s-step", "needs --solver cacg");
        refuse(flags.basis, "--basis", "needs --solver cacg");
    }
    if (!avoiding && parameters.solver.solver != flow::Solver::cg) {
        refuse(flags.precondition, "--precondition", "needs --solver cg or cacg");
    }
}

}  // namespace

void add_parameter_options(CommandLine& line, ParameterFlags& flags) {
    line.choice("--method", method_choices, flags.method, "Horn-Schunck (default) or Lucas-Kanade");
    line.choice("--preset", preset_choices, flags.preset,
                "Set of parameters that the others change (default fast)");
    line.number("--alpha", "A", flags.alpha, {0, 1e6, true},
                "hs: weight of smoothness, grey levels of 0..255");
    add_count(line, "--window", flags.window, 3, "lk: odd width of the window, pixels");
    line.number("--regularisation", "R", flags.regularisation, {0, 1e9},
                "lk: added to the diagonal of the normal equations, for each pixel of the window");
    add_count(line, "--levels", flags.levels, 0, "Levels of the pyramid; 0: as many as fit");
    line.number("--scale", "S", flags.scale, {0.3, 0.95},
                "Size of a level over that of the finer one");
    add_count(line, "--warps", flags.warps, 1, "Linearisations on each level");
    add_count(line, "--median", flags.median, 0, "Window of the median filter: 0 (none), 3, 5, 7");
    line.number("--blur", "S", flags.blur, {0, 1000},
                "Standard deviation that the images are blurred with first, pixels; 0: none");
    line.number("--texture", "T", flags.texture, {0, 1},
                "Share of the images' smooth part that is taken out first, 0 to 1");
    line.choice("--interpolation", interpolation_choices, flags.interpolation,
                "How image 1 is sampled");
    line.choice("--solver", flow_solver_choices, flags.solver, "hs: of the linear systems");
    add_count(line, "--iterations", flags.iterations, 1,
              "hs: of the solver, at most; V-cycles of multigrid");
    line.number("--tolerance", "T", flags.tolerance, {0, 1},
                "hs: relative residual at which the solver stops; 0: never");
    line.number("--omega", "W", flags.relaxation, {0, 2, true},
                "hs: over-relaxation of redblack, above 0 and below 2");
    line.choice("--precondition", precondition_choices, flags.precondition,
                "hs: of cg and cacg, by the inverse 2x2 blocks or not");
    add_count(line, "--s-step", flags.s_step, 1,
              "hs: iterations of cacg for each round of sums, 1 to 16 (default 4)");
    line.choice("--basis", basis_choices, flags.basis, "hs: polynomials of cacg (default newton)");
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
    take(flags.alpha, p.alpha);
    take(flags.window, p.window);
    take(flags.regularisation, p.regularisation);
    take(flags.levels, p.levels);
    take(flags.scale, p.scale);
    take(flags.warps, p.warps);
    take(flags.median, p.median);
    take(flags.blur, p.blur);
    take(flags.texture, p.texture);
    take(flags.interpolation, p.interpolation);
    take(flags.iterations, p.solver.iterations);
    take(flags.tolerance, p.solver.tolerance);
    take(flags.relaxation, p.solver.relaxation);
    take(flags.precondition, p.solver.precondition);
    take(flags.s_step, p.solver.s_step);
    take(flags.basis, p.solver.basis);
    take(flags.boundary, p.boundary);
    take(flags.stencil, p.stencil);
    take(flags.implementation, p.solver.implementation);
    flow::validate(p);
    return p;
}

}  // namespace aperture::apps
