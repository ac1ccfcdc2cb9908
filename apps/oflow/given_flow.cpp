// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/given_flow.hpp"

#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/picture.hpp"
#include "aperture/media/flow_figure.hpp"
#include "aperture/media/flow_file.hpp"
#include "apps/oflow/output_files.hpp"
#include "apps/oflow/summary.hpp"

namespace aperture::apps {

void draw_given_flow(const OflowOptions& options, core::Cpu& cpu, Console& console) {
    const std::filesystem::path& file = options.inputs.front();
    core::Stopwatch watch;
    console.phase("reading " + file.string());
    const core::Array<float, 3> flow = media::read_flow(file);
    const flow::Shape shape{flow.extent()[1], flow.extent()[2]};
    expects_drawable(options, file.string(), shape);
    core::Array<float, 3> truth;
    if (options.truth) {
        truth = media::read_flow(*options.truth);
        const flow::Shape of_truth{truth.extent()[1], truth.extent()[2]};
        core::expects(of_truth == shape,
                      size_mismatch(options.truth->string(), of_truth, file.string(), shape));
    }
    check_outputs(options);
    const double read_ms = watch.ms();

    watch.reset();
    GivenFlow given{shape, flow::largest_motion(flow), {}};
    if (options.truth) given.accuracy = flow::compare(cpu, flow, truth);
    console.phase("writing " + options.common.out.string());
    media::OutputSet outputs;
    const double max_motion = options.max_motion.value_or(given.largest_motion);
    outputs.add(media::new_figure(options.common.out, media::flow_figure(flow, max_motion)));
    if (options.error_map) {
        outputs.add(media::new_figure(*options.error_map,
                                      media::error_figure(flow, truth, options.max_error)));
    }
    console.done();

    Report report = begin_report(cpu, options, {},
                                 {{"width", integer(shape.columns)},
                                  {"height", integer(shape.rows)},
                                  {"max_motion", max_motion}});
    report.add_stage("read", read_ms);
    report.add_stage("write", watch.ms());
    report.results = {{"largest_motion", given.largest_motion}};
    if (given.accuracy) report.accuracy = accuracy_values(*given.accuracy);
    commit_outputs(options.common, report, console, outputs, summary(options, given, report));
}

}  // namespace aperture::apps
