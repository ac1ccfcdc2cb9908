// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/run.hpp"

#include "aperture/flow/consistency.hpp"
#include "aperture/flow/picture.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/signal/grey.hpp"
#include "apps/oflow/output_files.hpp"

namespace aperture::apps {

ImageForm form_of(const media::Image& image) { return {image.bits, image.planes.extent()[0]}; }

OflowInputs read_inputs(const OflowOptions& options, Console& console) {
    OflowInputs inputs;
    const auto read = [&](const std::filesystem::path& file, bool keep, media::Image& kept,
                          ImageForm& form) {
        console.phase("reading " + file.string());
        media::Image image = media::read_image(file);
        form = form_of(image);
        core::Array<float, 2> grey = signal::to_grey(image.planes);
        if (keep) kept = std::move(image);
        return grey;
    };
    inputs.grey0 = read(options.image0(), options.arrows.has_value(), inputs.image0, inputs.form0);
    inputs.grey1 = read(options.image1(), options.warped.has_value(), inputs.image1, inputs.form1);
    const auto expect_size = [&](const std::filesystem::path& file, flow::Shape shape) {
        core::expects(
            shape == inputs.shape(),
            size_mismatch(file.string(), shape, options.image0().string(), inputs.shape()));
    };
    expect_size(options.image1(), {inputs.grey1.extent()[0], inputs.grey1.extent()[1]});
    expects_drawable(options, options.image0().string(), inputs.shape());
    if (options.truth) {
        console.phase("reading " + options.truth->string());
        inputs.truth = media::read_flow(*options.truth);
        expect_size(*options.truth, {inputs.truth.extent()[1], inputs.truth.extent()[2]});
    }
    console.done();
    return inputs;
}

template <class Executor>
OflowResults run_on(PairEstimator<Executor>& estimator, core::Cpu& cpu, const OflowOptions& options,
                    const OflowInputs& inputs, bool unchanged, Console& console) {
    const auto [rows, columns] = inputs.shape();
    OflowResults results;
    results.flow = core::Array<float, 3>({2, rows, columns});
    results.times = repeat_runs(options.common.repeat, console, [&] {
        return estimator.run(inputs.grey0, inputs.grey1, results.flow, false, unchanged);
    });
    if (!options.convergence.empty()) {
        // A separate run, since computing residuals would slow down the timed ones.
        console.phase("recording the convergence");
        estimator.watch_convergence(&results.residuals);
        estimator.run(inputs.grey0, inputs.grey1, results.flow, false);
        estimator.watch_convergence(nullptr);
    }
    if (options.consistency) {
        console.phase("estimating the backward flow");
        check_backward_flow(cpu, estimator, inputs, results);
    }
    if (options.truth) results.accuracy = flow::compare(cpu, results.flow, inputs.truth);
    results.largest_motion = flow::largest_motion(results.flow);
    console.done();
    return results;
}

template <class Executor>
void check_backward_flow(core::Cpu& cpu, PairEstimator<Executor>& estimator,
                         const OflowInputs& inputs, OflowResults& results) {
    const core::Stopwatch watch;
    core::Array<float, 3> backward(results.flow.extent());
    estimator.run(inputs.grey1, inputs.grey0, backward, false);
    results.consistent.reshape({backward.extent()[1], backward.extent()[2]});
    results.consistent_pixels =
        flow::check_consistency(cpu, results.flow, backward, results.consistent);
    results.backward_ms = watch.ms();
}

template OflowResults run_on(PairEstimator<core::Cpu>&, core::Cpu&, const OflowOptions&,
                             const OflowInputs&, bool, Console&);
template void check_backward_flow(core::Cpu&, PairEstimator<core::Cpu>&, const OflowInputs&,
                                  OflowResults&);
#if APERTURE_CUDA
template OflowResults run_on(PairEstimator<core::Gpu>&, core::Cpu&, const OflowOptions&,
                             const OflowInputs&, bool, Console&);
template void check_backward_flow(core::Cpu&, PairEstimator<core::Gpu>&, const OflowInputs&,
                                  OflowResults&);
#endif

}  // namespace aperture::apps
