// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/registration.hpp"

#include <iomanip>
#include <sstream>

#include "aperture/signal/grey.hpp"
#include "apps/common/report.hpp"
#include "apps/common/resident.hpp"
#include "apps/corr/image_source.hpp"
#include "apps/corr/output_files.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using signal::Alignment;
using signal::Motion;

/// Pictures that correlate by less are hardly of one scene.
constexpr double least_correlation = 0.2;

struct RegisteredImage {
    std::filesystem::path file;
    core::Array<float, 3> planes;
    core::Array<float, 2> luma;

    RegisteredImage(core::Cpu& cpu, const std::filesystem::path& path)
        : file(path), planes(media::read_image(path).planes) {
        luma.reshape({planes.extent()[1], planes.extent()[2]});
        signal::to_grey(cpu, planes.view(), luma.view());
    }
};

/// The second image moved onto the first one, black beside.
core::Array<float, 3> moved_image(core::Cpu& cpu, const RegisteredImage& b,
                                  const Alignment& alignment) {
    core::Array<float, 3> moved(b.planes.extent());
    for (index_t i = 0; i < moved.extent()[0]; ++i) {
        signal::warp(cpu, b.planes.view()[i], pixel_map(alignment, b.luma.extent()), 0,
                     moved.view()[i]);
    }
    return moved;
}

/// Half of the first luma less the moved second one, about the middle grey, which is also beside.
core::Array<float, 3> difference_image(core::Cpu& cpu, const RegisteredImage& a,
                                       const RegisteredImage& b, const Alignment& alignment) {
    constexpr float middle = 127.5F;
    const auto [rows, columns] = a.luma.extent();
    core::Array<float, 3> difference({1, rows, columns});
    const auto to = difference.view()[0];
    constexpr float outside = -1e9F;
    signal::warp(cpu, b.luma.view(), pixel_map(alignment, b.luma.extent()), outside, to);
    for (index_t y = 0; y < rows; ++y) {
        for (index_t x = 0; x < columns; ++x) {
            to(y, x) = to(y, x) == outside ? middle : middle + 0.5F * (a.luma(y, x) - to(y, x));
        }
    }
    return difference;
}

ReportValues values_of(Motion motion, const Alignment& alignment) {
    ReportValues values{{"found", alignment.found}};
    if (!alignment.found) return values;
    values["dy"] = alignment.dy;
    values["dx"] = alignment.dx;
    values["dy_deviation"] = alignment.dy_deviation;
    values["dx_deviation"] = alignment.dx_deviation;
    values["registered_correlation"] = alignment.correlation;
    if (motion == Motion::similarity) {
        values["rotation"] = alignment.rotation;
        values["scale"] = alignment.scale;
        values["rotation_deviation"] = alignment.rotation_deviation;
        values["scale_deviation"] = alignment.scale_deviation;
    }
    return values;
}

std::string summary(const CorrOptions& options, const RegisteredImage& a, const RegisteredImage& b,
                    const Alignment& alignment, const Report& report) {
    std::ostringstream lines;
    lines << "images      " << a.file.string() << ", " << b.file.string() << ": "
          << a.luma.extent()[1] << 'x' << a.luma.extent()[0] << " pixels\n"
          << "device      " << report.device.name << '\n'
          << report.stage_line();
    if (!alignment.found) {
        lines << "shift       none found\n";
    } else {
        lines << std::fixed << std::setprecision(4) << "shift       dy " << alignment.dy << " +- "
              << alignment.dy_deviation << ", dx " << alignment.dx << " +- "
              << alignment.dx_deviation << " pixels\n";
        if (options.registered == Motion::similarity) {
            lines << "rotation    " << alignment.rotation << " +- " << alignment.rotation_deviation
                  << " degrees counterclockwise, scale " << std::setprecision(5) << alignment.scale
                  << " +- " << alignment.scale_deviation << '\n';
        }
        lines << "correlation " << std::setprecision(4) << alignment.correlation
              << " of what the images have in common\n";
    }
    const char* separator = "result      ";
    for (const NamedFile& file : report.outputs) {
        lines << separator << file.path.string();
        separator = ", ";
    }
    if (!report.outputs.empty()) lines << '\n';
    return lines.str();
}

template <class Executor>
void run_on(Executor& executor, core::Cpu& cpu, const CorrOptions& options, Console& console) {
    core::Stopwatch watch;
    console.phase("reading");
    const RegisteredImage a(cpu, options.inputs[0]);
    const RegisteredImage b(cpu, options.inputs[1]);
    const double read_ms = watch.ms();
    console.done();
    const corr::Shape shape{a.luma.extent()[0], a.luma.extent()[1]};
    const corr::Shape of_b{b.luma.extent()[0], b.luma.extent()[1]};
    core::expects(of_b == shape, size_mismatch(b.file.string(), of_b, a.file.string(), shape));
    check_outputs(options, options.inputs);

    signal::Registration<Executor> registration(executor, a.luma.extent(), *options.registered);
    Resident<Executor, const float, 2> on_a(executor);
    Resident<Executor, const float, 2> on_b(executor);
    Alignment alignment;
    const RunTimes times = repeat_runs(options.common.repeat, console, [&] {
        watch.reset();
        on_a.load(a.luma.view());
        on_b.load(b.luma.view());
        executor.synchronize();
        const double load_ms = watch.ms();
        watch.reset();
        alignment = registration.run(on_a.view(), on_b.view());
        const double ms = watch.ms();
        return RunTimes{{{"register", ms, 0, 0}}, ms, is_gpu<Executor> ? load_ms : 0};
    });
    const std::string names = a.file.string() + ", " + b.file.string();
    if (!alignment.found) {
        console.warn_incomplete(names +
                                ": the images do not tell how they lie on one another: "
                                "they have no contrast, or nothing in common");
    } else if (alignment.correlation < least_correlation) {
        console.warn_incomplete(core::text(names, ": the registered images correlate by only ",
                                           alignment.correlation,
                                           "; they may not be of one scene"));
    }

    watch.reset();
    media::OutputSet outputs;
    Report report =
        begin_report(executor, options, times,
                     {{"width", integer(shape.columns)},
                      {"height", integer(shape.rows)},
                      {"register", choice_name(signal::motion_choices, *options.registered)}});
    if (!alignment.found) report.outputs.clear();
    for (const NamedFile& file : report.outputs) {
        const auto picture = file.path == options.common.out
                                 ? moved_image(cpu, b, alignment)
                                 : difference_image(cpu, a, b, alignment);
        outputs.add(media::new_picture(file.path, media::to_picture(picture)));
    }
    report.results = values_of(*options.registered, alignment);
    report.add_first_stage("read", read_ms);
    if (!report.outputs.empty()) report.add_stage("write", watch.ms());
    commit_outputs(options.common, report, console, outputs,
                   summary(options, a, b, alignment, report));
}

}  // namespace

void run_registration(const CorrOptions& options, core::Cpu& cpu, Console& console) {
    with_executor(options.common.device, cpu, console,
                  [&](auto& executor) { run_on(executor, cpu, options, console); });
}

}  // namespace aperture::apps
