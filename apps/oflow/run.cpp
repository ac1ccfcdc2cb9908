// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/run.hpp"

#include "aperture/flow/consistency.hpp"
#include "aperture/media/flow_picture.hpp"

namespace aperture::apps {

OflowResults run_on(core::Cpu& cpu, const OflowOptions& options, const OflowInputs& inputs,
                    Console& console) {
    const auto [rows, columns] = inputs.shape();
    flow::Estimator<core::Cpu> estimator(cpu, inputs.shape(), options.parameters);
    OflowResults results;
    results.flow = core::Array<float, 3>({2, rows, columns});
    core::Timeline timeline;
    results.times = repeat_runs(options.run.repeat, console, [&]() -> RunTimes {
        timeline.begin_run();
        const core::Stopwatch watch;
        estimator.run(inputs.grey0, inputs.grey1, results.flow, false, &timeline);
        const double compute_ms = watch.ms();
        return {timeline.stages(), compute_ms, 0};
    });
    if (!options.convergence.empty()) {
        // A run of its own: residuals cost time that the estimation does not need.
        console.phase("watching the convergence");
        estimator.watch_convergence(&results.residuals);
        estimator.run(inputs.grey0, inputs.grey1, results.flow, false, nullptr);
        estimator.watch_convergence(nullptr);
    }
    if (options.consistency) {
        console.phase("estimating the way back");
        check_way_back(cpu, estimator, inputs, results);
    }
    if (options.truth) results.accuracy = flow::compare(cpu, results.flow, inputs.truth);
    results.largest_motion = media::largest_motion(results.flow);
    console.done();
    return results;
}

void check_way_back(core::Cpu& cpu, flow::Estimator<core::Cpu>& estimator,
                    const OflowInputs& inputs, OflowResults& results) {
    const core::Stopwatch watch;
    core::Array<float, 3> backward(results.flow.extent());
    estimator.run(inputs.grey1, inputs.grey0, backward, false, nullptr);
    results.consistent.reshape({backward.extent()[1], backward.extent()[2]});
    results.consistent_pixels =
        flow::check_consistency(cpu, results.flow, backward, results.consistent);
    results.backward_ms = watch.ms();
}

}  // namespace aperture::apps
