// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/output_files.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string>

#include "aperture/flow/warp.hpp"
#include "aperture/media/flow_figure.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/plot.hpp"
#include "apps/common/file_names.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using std::filesystem::path;

constexpr int arrows_across = 24;  // along the shorter side of the image
constexpr int smallest_spacing = 12;
constexpr int largest_arrow_scale = 64;

media::Picture warped_image(core::Cpu& cpu, const OflowOptions& options, const media::Image& image,
                            const core::Array<float, 3>& flow) {
    core::Array<float, 3> warped(image.planes.extent());
    for (index_t i = 0; i < warped.extent()[0]; ++i) {
        flow::warp(cpu, image.planes.view()[i], flow, options.parameters.interpolation,
                   warped.view()[i]);
    }
    return media::to_picture(warped);
}

std::string convergence_table(const std::vector<double>& residuals) {
    std::ostringstream table;
    table.precision(9);
    table << "iteration,residual\n";
    for (std::size_t i = 0; i < residuals.size(); ++i) table << i << ',' << residuals[i] << '\n';
    return table.str();
}

media::Figure convergence_plot(const OflowOptions& options, const std::vector<double>& residuals) {
    const flow::SolverParameters& solver = options.parameters.solver;
    media::CurvePlot plot;
    plot.title = choice_name(flow::solver_choices, solver.solver);
    plot.x_label = solver.solver == flow::Solver::multigrid ? "cycle" : "iteration";
    plot.y_label = "|b - A x| / |b|";
    plot.curves.push_back({plot.title, std::vector<double>(residuals.size()), residuals});
    std::iota(plot.curves[0].x.begin(), plot.curves[0].x.end(), 0.0);
    return media::plot(plot);
}

}  // namespace

void check_outputs(const OflowOptions& options) {
    check_output_files(input_files(options), output_files(options), options.common);
}

void expects_drawable(const OflowOptions& options, const std::string& file, flow::Shape shape) {
    const bool drawn = options.picture || options.arrows || options.error_map || options.given_flow;
    const index_t columns = shape.columns + media::flow_key_columns;
    core::expects(
        !drawn || (columns <= media::largest_figure && shape.rows <= media::largest_figure), file,
        ": ", size_text(shape), " pixels are too many for a figure of up to ",
        media::largest_figure, " a side (--no-picture)");
}

void check_folders(const OflowOptions& options, const FrameReader& frames) {
    check_output_files(named_files("frame", frames.files()), {}, options.common);
    check_output_folders(output_files(options), frames.images());
}

ArrowLayout arrow_layout(const OflowOptions& options, flow::Shape shape, double largest_motion) {
    ArrowLayout layout;
    layout.spacing = options.arrow_spacing.value_or(std::max(
        smallest_spacing, static_cast<int>(std::min(shape.rows, shape.columns) / arrows_across)));
    if (largest_motion > 0) {
        const double fitting = std::floor(layout.spacing / largest_motion);
        layout.scale = static_cast<int>(std::clamp(fitting, 1.0, double(largest_arrow_scale)));
    }
    return layout;
}

void write_outputs(core::Cpu& cpu, const OflowOptions& options, const OflowInputs& inputs,
                   const OflowResults& results, Console& console, media::OutputSet& outputs) {
    const auto write_picture = [&](const path& file, const media::Picture& picture) {
        console.phase("writing " + file.string());
        outputs.add(media::new_picture(file, picture));
    };
    const auto write_figure = [&](const path& file, const media::Figure& figure) {
        console.phase("writing " + file.string());
        outputs.add(media::new_figure(file, figure));
    };
    console.phase("writing " + options.common.out.string());
    outputs.add(media::new_flow(options.common.out, results.flow));
    if (options.picture) {
        write_figure(
            *options.picture,
            media::flow_figure(results.flow, options.max_motion.value_or(results.largest_motion)));
    }
    if (options.error_map) {
        write_figure(*options.error_map,
                     media::error_figure(results.flow, inputs.truth, options.max_error));
    }
    if (options.warped) {
        write_picture(*options.warped, warped_image(cpu, options, inputs.image1, results.flow));
    }
    if (options.arrows) {
        const ArrowLayout layout = arrow_layout(options, inputs.shape(), results.largest_motion);
        write_figure(*options.arrows, media::arrow_figure(inputs.image0.planes, results.flow,
                                                          layout.spacing, layout.scale));
    }
    if (options.consistency) {
        write_picture(*options.consistency, media::to_picture(results.consistent));
    }
    for (const path& file : options.convergence) {
        if (is_figure_name(file)) {
            write_figure(file, convergence_plot(options, results.residuals));
        } else {
            outputs.add(media::new_file(file, convergence_table(results.residuals)));
        }
    }
    console.done();
}

}  // namespace aperture::apps
