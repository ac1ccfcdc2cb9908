// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/correlation.hpp"

namespace aperture::apps {
namespace {

corr::Problem problem_of(const CorrOptions& options, corr::Shape shape) {
    corr::Problem problem;
    problem.planes = corr::plane_count(options.planes);
    problem.image = shape;
    problem.lags = options.lags(shape);
    problem.each_plane = true;
    corr::validate(problem);
    return problem;
}

}  // namespace

void expect_cpu(DeviceChoice choice, Console& console) {
    constexpr auto reason = "there is no GPU version yet";
    if (choice == DeviceChoice::gpu) {
        throw core::DeviceError(core::text("--device gpu: ", reason));
    }
    if (choice == DeviceChoice::automatic) console.note(core::text("device: CPU (", reason, ")"));
}

ImageCorrelation::ImageCorrelation(core::Cpu& cpu, const CorrOptions& options, corr::Shape shape)
    : cpu_(cpu),
      problem_(problem_of(options, shape)),
      planes_(cpu, options.planes, options.normalization),
      planes_a_({problem_.planes, shape.rows, shape.columns}),
      estimator_(cpu, options.estimator, problem_.lags) {
    if (!options.method) choice_ = corr::choose_method(problem_, cpu.threads(), !options.pair());
    problem_.method = options.method ? *options.method : choice_->method;
    if (options.pair()) planes_b_ = core::Array<float, 3>(planes_a_.extent());
    correlator_ = std::make_unique<corr::Correlator<core::Cpu>>(cpu, problem_);
}

RunTimes ImageCorrelation::run(const media::Image& a, const media::Image& b) {
    const bool pair = &a != &b;
    timeline_.begin_run();
    const core::Stopwatch watch;
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "planes", 0, 0);
        planes_.derive(a.planes, planes_a_);
        if (pair) planes_.derive(b.planes, planes_b_);
    }
    {
        const double flops = problem_.method == corr::Method::direct
                                 ? direct_flops(problem_.planes, problem_.image, problem_.lags)
                                 : 0;
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "correlate", flops * 1e-9, 0);
        estimator_.run(
            planes_a_.view(), pair ? planes_b_.view() : planes_a_.view(),
            [&](corr::PlanesView<core::Host> of_a, corr::PlanesView<core::Host> of_b,
                core::View<double, 3, core::Host> sums) { correlator_->run(of_a, of_b, sums); },
            surfaces_);
    }
    return {timeline_.stages(), watch.ms(), 0};
}

SurfaceFindings find_out(corr::SurfaceView surface, const corr::Lags& lags, bool pair) {
    return {
        corr::correlation_lengths(surface, lags),
        corr::strongest_peak(surface, lags, pair ? corr::Centre::counts : corr::Centre::excluded)};
}

}  // namespace aperture::apps
