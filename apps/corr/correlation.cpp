// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/correlation.hpp"

#include <algorithm>
#include <utility>

namespace aperture::apps {
namespace {

corr::Problem problem_of(const CorrOptions& options, const LoadedImage& image) {
    corr::Problem problem;
    problem.planes =
        options.planes ? corr::plane_count(*options.planes) : image.image.planes.extent()[0];
    problem.image = image.shape();
    problem.lags = options.lags(problem.image);
    problem.each_plane = options.each_plane();
    problem.direct = options.direct;
    problem.method =
        options.method.value_or(options.needs_direct() ? corr::Method::direct : corr::Method::fft);
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

ImageCorrelation::ImageCorrelation(CorrelationDevice& device, const CorrOptions& options,
                                   const LoadedImage& first)
    : cpu_(device.cpu()),
      stored_planes_(!options.planes),
      planes_on_host_(options.estimator == corr::Estimator::pearson || !options.masks.empty()),
      problem_(problem_of(options, first)),
      estimator_(device.is_gpu() && options.ensemble && !planes_on_host_ ? consumer_ : cpu_,
                 options.estimator, problem_.lags, problem_.each_plane) {
    for (Begun& begun : begun_) {
        begun.surfaces.surface = core::Array<double, 2>({0, 0}, device.pages());
        begun.surfaces.planes = core::Array<double, 3>({0, 0, 0}, device.pages());
    }
    if (!options.method && !options.needs_direct()) {
        choice_ = device.choose_method(problem_, !options.pair());
        problem_.method = choice_->method;
    }
    for (const auto& file : options.masks) {
        masks_.push_back(read_mask(file, options, problem_.image));
    }
    // Values of a grey image are its plane.
    correlation_ = device.correlation(problem_, options.planes.value_or(corr::PlaneKind::grey),
                                      options.normalization);
}

corr::PlanesView<core::Host> ImageCorrelation::planes(Operand operand) const {
    return correlation_->planes(operand);
}

void ImageCorrelation::derive(Operand operand, const media::Image& image) {
    std::optional<MaskView> mask;
    if (!masks_.empty()) {
        mask = operand == Operand::a ? masks_.front().view() : masks_.back().view();
    }
    const MaskView* const used = mask ? &*mask : nullptr;
    const ImageView shown = image.planes;
    if (!stored_planes_) return correlation_->derive(operand, 0, problem_.planes, shown, used);
    for (core::index_t p = 0; p < problem_.planes; ++p) {
        correlation_->derive(operand, p, p + 1, shown.slice(0, p, p + 1), used);
    }
}

RunTimes ImageCorrelation::run(const media::Image& a, const media::Image& b) {
    const bool pair = &a != &b;
    const Operand other = pair ? Operand::b : Operand::a;
    corr::Surfaces& surfaces = begun_[current_].surfaces;
    timeline_.begin_run();
    const core::Stopwatch watch;
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "planes", 0, 0);
        derive(Operand::a, a);
        if (pair) derive(Operand::b, b);
    }
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "correlate", gflop(), 0);
        const auto correlate = [&](corr::PlanesView<core::Host> first,
                                   corr::PlanesView<core::Host> second,
                                   core::View<double, 3, core::Host> sums) {
            correlation_->correlate(first, second, sums);
        };
        if (!planes_on_host_) {
            const auto sums = estimator_.prepare(problem_.planes, problem_.image, surfaces);
            correlation_->correlate(Operand::a, other, sums);
            estimator_.finish(problem_.planes, surfaces);
        } else if (masks_.empty()) {
            estimator_.run(planes(Operand::a), planes(other), correlate, surfaces);
        } else {
            estimator_.run(planes(Operand::a), planes(other), masks_.front(), masks_.back(),
                           correlate, surfaces);
        }
    }
    const double transfer_ms = correlation_->take_transfer_ms();
    return {timeline_.stages(), watch.ms() - transfer_ms, transfer_ms};
}

void ImageCorrelation::begin(const media::Image& image) {
    Begun& begun = begun_[next_];
    begun.image = &image;
    if (!planes_on_host_) {
        const auto sums = estimator_.prepare(problem_.planes, problem_.image, begun.surfaces);
        correlation_->begin(next_, image.planes, sums);
    }
    next_ = (next_ + 1) % most_begun;
}

RunTimes ImageCorrelation::finish() {
    current_ = std::exchange(first_, (first_ + 1) % most_begun);
    Begun& begun = begun_[current_];
    if (planes_on_host_) return run(*begun.image, *begun.image);
    RunTimes times = correlation_->finish(current_);
    const core::Stopwatch watch;
    estimator_.finish(problem_.planes, begun.surfaces);
    core::Stage& correlate = times.stages.back();
    correlate.gflop = gflop();
    const double ms = watch.ms();
    correlate.ms += ms;
    times.compute_ms += ms;
    return times;
}

double ImageCorrelation::gflop() const {
    if (problem_.method != corr::Method::direct) return 0;
    return 1e-9 * corr::direct_flops(problem_.planes, problem_.image, problem_.lags);
}

SurfaceFindings find_out(const CorrOptions& options, corr::SurfaceView surface,
                         const corr::Lags& lags) {
    SurfaceFindings found;
    const bool pair = options.pair();
    found.peak =
        corr::strongest_peak(surface, lags, pair ? corr::Centre::counts : corr::Centre::excluded);
    // A parabola through values of r may rise above all of r.
    if (found.peak && options.estimator == corr::Estimator::pearson) {
        found.peak->value = std::min(found.peak->value, 1.0);
    }
    if (!pair) {
        found.lengths = corr::correlation_lengths(surface, lags);
    } else {
        if (found.peak) found.lengths = corr::correlation_lengths(surface, lags, *found.peak);
        found.on_border = corr::largest_on_border(surface, lags);
    }
    return found;
}

}  // namespace aperture::apps
