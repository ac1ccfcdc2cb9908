// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/correlation.hpp"

#include <algorithm>

namespace aperture::apps {
namespace {

corr::Problem problem_of(const CorrOptions& options, const LoadedImage& image) {
    corr::Problem problem;
    problem.planes =
        options.planes ? corr::plane_count(*options.planes) : image.image.planes.extent()[0];
    problem.image = image.shape();
    problem.lags = options.lags(problem.image);
    problem.each_plane = options.each_plane();
    corr::validate(problem);
    return problem;
}

/// 1 where the pixels of an image count.
core::Array<float, 2> read_mask(const std::filesystem::path& file, const CorrOptions& options,
                                corr::Shape shape) {
    const media::Image image = media::read_image(file);
    const auto [channels, rows, columns] = image.planes.extent();
    core::expects(corr::Shape{rows, columns} == shape, file.string(), ": ",
                  size_text({rows, columns}), " pixels, but ", options.inputs.front().string(),
                  " has ", size_text(shape));
    core::Array<float, 2> mask({rows, columns});
    for (core::index_t i = 0; i < rows * columns; ++i) {
        bool counts = false;
        for (core::index_t c = 0; c < channels; ++c) {
            counts = counts || image.planes.data()[c * rows * columns + i] > 0;
        }
        mask.data()[i] = counts ? 1.0F : 0.0F;
    }
    return mask;
}

}  // namespace

void expect_cpu(DeviceChoice choice, Console& console) {
    constexpr auto reason = "there is no GPU version yet";
    if (choice == DeviceChoice::gpu) {
        throw core::DeviceError(core::text("--device gpu: ", reason));
    }
    if (choice == DeviceChoice::automatic) console.note(core::text("device: CPU (", reason, ")"));
}

ImageCorrelation::ImageCorrelation(core::Cpu& cpu, const CorrOptions& options,
                                   const LoadedImage& first)
    : cpu_(cpu),
      stored_planes_(!options.planes),
      problem_(problem_of(options, first)),
      // Values of a grey image are its plane.
      planes_(cpu, options.planes.value_or(corr::PlaneKind::grey), options.normalization),
      planes_a_({problem_.planes, problem_.image.rows, problem_.image.columns}),
      estimator_(cpu, options.estimator, problem_.lags, problem_.each_plane) {
    if (!options.method) choice_ = corr::choose_method(problem_, cpu.threads(), !options.pair());
    problem_.method = options.method ? *options.method : choice_->method;
    if (options.pair()) planes_b_ = core::Array<float, 3>(planes_a_.extent());
    for (const auto& file : options.masks)
        masks_.push_back(read_mask(file, options, problem_.image));
    correlator_ = std::make_unique<corr::Correlator<core::Cpu>>(cpu, problem_);
}

void ImageCorrelation::derive(const media::Image& image, std::size_t mask,
                              core::Array<float, 3>& planes) {
    const auto derive_from = [&](corr::PlanesView<core::Host> from,
                                 core::View<float, 3, core::Host> to) {
        if (masks_.empty()) {
            planes_.derive(from, to);
        } else {
            planes_.derive(from, masks_[std::min(mask, masks_.size() - 1)], to);
        }
    };
    if (!stored_planes_) return derive_from(image.planes, planes);
    for (core::index_t p = 0; p < problem_.planes; ++p) {
        derive_from(image.planes.view().slice(0, p, p + 1), planes.view().slice(0, p, p + 1));
    }
}

RunTimes ImageCorrelation::run(const media::Image& a, const media::Image& b) {
    const bool pair = &a != &b;
    timeline_.begin_run();
    const core::Stopwatch watch;
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "planes", 0, 0);
        derive(a, 0, planes_a_);
        if (pair) derive(b, 1, planes_b_);
    }
    {
        const double flops = problem_.method == corr::Method::direct
                                 ? direct_flops(problem_.planes, problem_.image, problem_.lags)
                                 : 0;
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "correlate", flops * 1e-9, 0);
        const corr::PlanesView<core::Host> of_a = planes_a_;
        const corr::PlanesView<core::Host> of_b = pair ? planes_b_ : planes_a_;
        const auto correlate =
            [&](corr::PlanesView<core::Host> first, corr::PlanesView<core::Host> second,
                core::View<double, 3, core::Host> sums) { correlator_->run(first, second, sums); };
        if (masks_.empty()) {
            estimator_.run(of_a, of_b, correlate, surfaces_);
        } else {
            estimator_.run(of_a, of_b, masks_.front(), masks_.back(), correlate, surfaces_);
        }
    }
    return {timeline_.stages(), watch.ms(), 0};
}

SurfaceFindings find_out(corr::SurfaceView surface, const corr::Lags& lags, bool pair) {
    return {
        corr::correlation_lengths(surface, lags),
        corr::strongest_peak(surface, lags, pair ? corr::Centre::counts : corr::Centre::excluded)};
}

}  // namespace aperture::apps
