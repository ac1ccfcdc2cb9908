// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/output_files.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "aperture/flow/warp.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/flow_picture.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using std::filesystem::path;

constexpr int arrows_across = 24;  // the shorter side of the image
constexpr int smallest_spacing = 12;
constexpr int largest_arrow_scale = 64;

std::vector<path> outputs_of(const OflowOptions& options) {
    std::vector<path> files{options.common.out};
    for (const auto& file : {options.picture, options.error_map, options.warped, options.arrows,
                             options.consistency, options.convergence, options.run.report}) {
        if (file) files.push_back(*file);
    }
    return files;
}

bool same_file(const path& a, const path& b) {
    std::error_code error;
    return std::filesystem::equivalent(a, b, error) ||
           std::filesystem::weakly_canonical(a, error) ==
               std::filesystem::weakly_canonical(b, error);
}

core::View<const float, 2, core::Host> plane(const core::Array<float, 3>& planes, index_t i) {
    const auto [count, rows, columns] = planes.extent();
    return {planes.data() + i * rows * columns, {rows, columns}};
}

core::View<float, 2, core::Host> plane(core::Array<float, 3>& planes, index_t i) {
    const auto [count, rows, columns] = planes.extent();
    return {planes.data() + i * rows * columns, {rows, columns}};
}

media::Picture warped_image(core::Cpu& cpu, const OflowOptions& options, const media::Image& image,
                            const core::Array<float, 3>& flow) {
    core::Array<float, 3> warped(image.planes.extent());
    for (index_t i = 0; i < warped.extent()[0]; ++i) {
        flow::warp(cpu, plane(image.planes, i), flow, options.parameters.interpolation,
                   plane(warped, i));
    }
    return media::to_picture(warped);
}

media::Picture mask_picture(const core::Array<std::uint8_t, 2>& mask) {
    const auto [rows, columns] = mask.extent();
    media::Picture picture(static_cast<int>(columns), static_cast<int>(rows), {0, 0, 0});
    std::transform(mask.begin(), mask.end(), picture.pixels.begin(),
                   [](std::uint8_t value) -> media::Colour {
                       return {value, value, value};
                   });
    return picture;
}

std::string convergence_table(const std::vector<double>& residuals) {
    std::ostringstream table;
    table.precision(9);
    table << "iteration,residual\n";
    for (std::size_t i = 0; i < residuals.size(); ++i) table << i << ',' << residuals[i] << '\n';
    return table.str();
}

}  // namespace

void check_outputs(const OflowOptions& options) {
    const std::vector<path> outputs = outputs_of(options);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        for (const path& input : {options.image0, options.image1}) {
            media::expects_distinct(input, outputs[i]);
        }
        if (options.truth) media::expects_distinct(*options.truth, outputs[i]);
        for (std::size_t other = 0; other < i; ++other) {
            core::expects(!same_file(outputs[i], outputs[other]), outputs[i].string(),
                          ": named for two outputs");
        }
    }
    // Each is created and taken away again, and so known to be possible.
    for (const path& output : outputs) const media::AtomicFile possible(output);
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
                   const OflowResults& results, Console& console) {
    const auto write_picture = [&](const path& file, const media::Picture& picture) {
        console.phase("writing " + file.string());
        media::write_picture(file, picture);
    };
    console.phase("writing " + options.common.out.string());
    media::write_flow(options.common.out, results.flow);
    if (options.picture) {
        write_picture(
            *options.picture,
            media::draw_flow(results.flow, options.max_motion.value_or(results.largest_motion)));
    }
    if (options.error_map) {
        write_picture(*options.error_map,
                      media::draw_error_map(results.flow, inputs.truth, options.max_error));
    }
    if (options.warped) {
        write_picture(*options.warped, warped_image(cpu, options, inputs.image1, results.flow));
    }
    if (options.arrows) {
        const ArrowLayout layout = arrow_layout(options, inputs.shape(), results.largest_motion);
        write_picture(*options.arrows, media::draw_arrows(inputs.image0.planes, results.flow,
                                                          layout.spacing, layout.scale));
    }
    if (options.consistency) write_picture(*options.consistency, mask_picture(results.consistent));
    if (options.convergence) {
        media::write_file(*options.convergence, convergence_table(results.residuals));
    }
    console.done();
}

}  // namespace aperture::apps
