// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Records the residuals of the Horn-Schunck system of one pair of images for all solvers from the
// same start. Writes pictures and a table to a folder.
//   flow_convergence [--alpha A] [--iterations N] --out FOLDER IMAGE0 IMAGE1
// Figures after Anderson 2014, Figures 7.3 (solvers) and 7.10 (communication-avoiding conjugate
// gradients for several s), here for each basis.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "aperture/flow/words.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/media/plot.hpp"
#include "aperture/signal/grey.hpp"
#include "apps/common/command_line.hpp"
#include "bench/flow_system.hpp"

namespace aperture::bench {
namespace {

struct Run {
    std::string label;
    flow::SolverParameters parameters;
};

struct Figure {
    std::string name;
    std::string title;
    std::string x_label;
    std::vector<Run> runs;
};

Run run_of(std::string label, flow::Solver solver, int iterations) {
    Run run{std::move(label), {}};
    run.parameters.solver = solver;
    run.parameters.iterations = iterations;
    return run;
}

Figure solvers(int iterations) {
    Figure figure{
        "solvers", "Solvers of Horn-Schunck's system", "iterations (multigrid: work units)", {}};
    const auto add = [&](const std::string& label, flow::Solver solver) -> flow::SolverParameters& {
        figure.runs.push_back(run_of(label, solver, iterations));
        return figure.runs.back().parameters;
    };
    add("Jacobi", flow::Solver::jacobi);
    add("Horn-Schunck (2x2)", flow::Solver::block2x2);
    add("red-black", flow::Solver::redblack);
    add("red-black, omega 1.9", flow::Solver::redblack).relaxation = 1.9;
    add("CG", flow::Solver::cg).precondition = false;
    add("CG, 2x2 blocks", flow::Solver::cg);
    add("CA-CG, s 4, 2x2 blocks", flow::Solver::cacg);
    // A cycle costs about seven work units.
    add("multigrid", flow::Solver::multigrid).iterations = std::max(1, iterations / 8);
    return figure;
}

Figure avoiding(const core::Choice<flow::Basis>& basis, int iterations) {
    const std::string name(basis.name);
    Figure figure{"cacg_" + name, "CA-CG, " + name + " basis, against CG", "iterations", {}};
    figure.runs.push_back(run_of("CG", flow::Solver::cg, iterations));
    for (const int s : {1, 2, 4, 6, 8, 12, 16}) {
        figure.runs.push_back(run_of(core::text("s = ", s), flow::Solver::cacg, iterations));
        figure.runs.back().parameters.s_step = s;
        figure.runs.back().parameters.basis = basis.value;
    }
    // As in the thesis.
    for (Run& run : figure.runs) run.parameters.precondition = false;
    return figure;
}

media::Curve solve(core::Cpu& cpu, const FlowSystem& system, const Run& run) {
    const flow::Shape shape = system.shape();
    core::Array<float, 3> flow({2, shape.rows, shape.columns});
    media::Curve curve{run.label, {}, {}};
    const auto work = [&](int iterations, std::vector<double>* residuals) {
        flow::SolverParameters parameters = run.parameters;
        parameters.iterations = iterations;
        std::fill(flow.begin(), flow.end(), 0.0F);
        return flow::SystemSolver<core::Cpu>(cpu, shape, parameters)
            .solve(system.system(), flow, residuals)
            .work_units;
    };
    const double all = work(run.parameters.iterations, &curve.y);
    double first = 1;
    double other = 1;
    if (run.parameters.solver == flow::Solver::multigrid && curve.y.size() > 2) {
        first = work(1, nullptr);
        other = (all - first) / static_cast<double>(curve.y.size() - 2);
    }
    for (std::size_t i = 0; i < curve.y.size(); ++i) {
        curve.x.push_back(i == 0 ? 0 : first + other * static_cast<double>(i - 1));
    }
    return curve;
}

int run(int argc, char** argv) {
    constexpr int most = 1'000'000;
    double alpha = 4;
    int iterations = 400;
    int threads = 0;
    std::filesystem::path out;
    std::vector<std::filesystem::path> images;
    apps::CommandLine line("flow_convergence", "Convergence of every solver on one pair of images");
    line.number("--alpha", "A", alpha, {0, 1e6, true},
                "Weight of smoothness, grey levels of 0..255 (default 4)");
    line.whole_number("--iterations", "N", iterations, 1, most, "Of each solver (default 400)");
    line.whole_number("--threads", "N", threads, 1, most, "CPU threads (default: all)");
    line.file("--out", "FOLDER", out, "Folder for the figures and convergence.csv").required();
    line.files("images", "FILE", 2, 2, images, "Two images").required();
    if (!line.parse(argc, argv)) return 0;

    core::Cpu cpu(threads);
    const auto image0 = signal::to_grey(media::read_image(images[0]).planes);
    const auto image1 = signal::to_grey(media::read_image(images[1]).planes);
    core::expects(image0.extent() == image1.extent(), "the images have different sizes");
    const FlowSystem system(cpu, image0, image1, alpha);
    std::filesystem::create_directories(out);

    std::vector<Figure> figures{solvers(iterations)};
    for (const auto& basis : flow::basis_choices) figures.push_back(avoiding(basis, iterations));
    std::ostringstream table;
    table.precision(9);
    table << "figure,curve,iteration,residual\n";
    for (const Figure& figure : figures) {
        media::CurvePlot plot{
            figure.title, "iterations (multigrid: work units)", "|b - A x| / |b|", {}};
        for (const Run& one : figure.runs) {
            plot.curves.push_back(solve(cpu, system, one));
            const media::Curve& curve = plot.curves.back();
            for (std::size_t i = 0; i < curve.x.size(); ++i) {
                // Labels contain commas.
                table << figure.name << ",\"" << curve.label << "\"," << curve.x[i] << ','
                      << curve.y[i] << '\n';
            }
        }
        const auto file = out / (figure.name + ".png");
        media::write_figure(file, media::plot(plot));
        std::cout << file.string() << '\n';
    }
    media::write_file(out / "convergence.csv", table.str());
    std::cout << (out / "convergence.csv").string() << '\n';
    return 0;
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::apps::run_program("flow_convergence",
                                       [&] { return aperture::bench::run(argc, argv); });
}
