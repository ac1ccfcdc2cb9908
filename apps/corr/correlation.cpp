// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/correlation.hpp"

#include <algorithm>
#include <array>
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
    problem.precision = options.precision;
    problem.method =
        options.method.value_or(options.needs_direct() ? corr::Method::direct : corr::Method::fft);
    corr::validate(problem);
    return problem;
}

/// 1 for the pixels that count.
core::Array<float, 2> read_mask(const std::filesystem::path& file, const CorrOptions& options,
                                corr::Shape shape) {
    const media::Image image = media::read_image(file);
    const auto [channels, rows, columns] = image.planes.extent();
    const corr::Shape size{rows, columns};
    core::expects(size == shape,
                  size_mismatch(file.string(), size, options.inputs.front().string(), shape));
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

template <class Executor>
ImageCorrelation<Executor>::ImageCorrelation(Executor& executor, core::Cpu& cpu,
                                             const CorrOptions& options, const LoadedImage& first)
    : executor_(executor),
      cpu_(cpu),
      stored_planes_(!options.planes),
      pearson_(options.estimator == corr::Estimator::pearson),
      planes_on_host_(pearson_ || !options.masks.empty()),
      problem_(problem_of(options, first)),
      estimator_(is_gpu<Executor> && options.ensemble && !planes_on_host_ ? consumer_ : cpu_,
                 options.estimator, problem_.lags, problem_.each_plane),
      image_(executor),
      planes_{PlanesOfImage{{}, Resident<Executor, float, 3>(executor)},
              PlanesOfImage{{}, Resident<Executor, float, 3>(executor)}},
      sums_(executor) {
    for (Begun& begun : begun_) {
        begun.surfaces.surface = core::Array<double, 2>({0, 0}, pages_for<Executor>);
        begun.surfaces.planes = core::Array<double, 3>({0, 0, 0}, pages_for<Executor>);
    }
    if (!options.method && !options.needs_direct()) {
        if constexpr (is_gpu<Executor>) {
            choice_ = corr::choose_gpu_method(problem_, executor.compute_capability(),
                                              executor.multiprocessors(), !options.pair());
        } else {
            choice_ = corr::choose_method(problem_, executor.threads(), !options.pair());
        }
        problem_.method = choice_->method;
    }
    for (const auto& file : options.masks) {
        masks_.push_back(read_mask(file, options, problem_.image));
        resident_masks_.emplace_back(executor).load(masks_.back());
    }
    const auto [rows, columns] = problem_.image;
    // Grey and colour images may alternate.
    image_.reserve({std::max<core::index_t>(first.image.planes.extent()[0], 3), rows, columns});
    for (Operand operand : {Operand::a, Operand::b}) {
        if (operand == Operand::b && !options.pair()) continue;
        of(operand).host.reshape({problem_.planes, rows, columns});
        of(operand).resident.attach(of(operand).host);
    }
    for (std::size_t i = 0; i < corr::factor_count; ++i) factors_.emplace_back(executor);
    // Values of a grey image are its plane.
    image_planes_.emplace(executor, options.planes.value_or(corr::PlaneKind::grey),
                          options.normalization);
    correlator_.emplace(executor, problem_);
}

template <class Executor>
ImageCorrelation<Executor>::~ImageCorrelation() {
    try {
        executor_.synchronize();
    } catch (const core::DeviceError&) {
        // Callers that waited for the work have received the error.
    }
}
template <class Executor>
corr::PlanesView<core::Host> ImageCorrelation<Executor>::planes(Operand operand) {
    PlanesOfImage& image = of(operand);
    if (!std::exchange(image.on_host, true)) transfer([&] { image.resident.store(); });
    return std::as_const(image.host).view();
}

template <class Executor>
auto ImageCorrelation<Executor>::resident_planes(Operand operand) -> corr::PlanesView<Space> {
    return of(operand).resident.view();
}

template <class Executor>
template <class Copies>
void ImageCorrelation<Executor>::transfer(const Copies& copies) {
    if constexpr (is_gpu<Executor>) {
        const core::Stopwatch watch;
        copies();
        executor_.synchronize();
        transfer_ms_ += watch.ms();
    } else {
        copies();
    }
}

template <class Executor>
void ImageCorrelation<Executor>::derive(Operand operand) {
    of(operand).on_host = false;
    const auto derive_from = [&](core::View<const float, 3, Space> image,
                                 core::View<float, 3, Space> planes) {
        if (masks_.empty()) return image_planes_->derive(image, planes);
        auto& mask = operand == Operand::a ? resident_masks_.front() : resident_masks_.back();
        image_planes_->derive(image, mask.view(), planes);
    };
    const auto image = image_.view();
    const auto planes = of(operand).resident.view();
    if (!stored_planes_) return derive_from(image, planes);
    for (core::index_t p = 0; p < problem_.planes; ++p) {
        derive_from(image.slice(0, p, p + 1), planes.slice(0, p, p + 1));
    }
}

template <class Executor>
void ImageCorrelation<Executor>::correlate(corr::PlanesView<Space> a, corr::PlanesView<Space> b,
                                           core::View<double, 3, core::Host> sums) {
    sums_.attach(sums);
    correlator_->run(a, b, sums_.view());
    executor_.synchronize();
    transfer([&] { sums_.store(); });
}

template <class Executor>
void ImageCorrelation<Executor>::estimate(Operand other, corr::Surfaces& surfaces) {
    // With a GPU, planes centred by the CPU would need a copy to it.
    if (masks_.empty() && (is_gpu<Executor> || !pearson_)) {
        const auto sums = estimator_.prepare(problem_.planes, problem_.image, surfaces);
        correlate(resident_planes(Operand::a), resident_planes(other), sums);
        if (pearson_) {
            estimator_.finish(planes(Operand::a), planes(other), surfaces);
        } else {
            estimator_.finish(problem_.planes, surfaces);
        }
        return;
    }
    std::array<bool, corr::factor_count> loaded{};
    const auto resident = [&](corr::Factor factor) {
        const auto place = static_cast<std::size_t>(factor);
        if (!std::exchange(loaded[place], true)) {
            transfer([&] { factors_[place].load(estimator_.planes(factor)); });
        }
        return factors_[place].view();
    };
    const auto correlate_factors = [&](corr::Factor a, corr::Factor b,
                                       core::View<double, 3, core::Host> sums) {
        correlate(resident(a), resident(b), sums);
    };
    if (masks_.empty()) {
        estimator_.run(planes(Operand::a), planes(other), correlate_factors, surfaces);
    } else {
        estimator_.run(planes(Operand::a), planes(other), masks_.front(), masks_.back(),
                       correlate_factors, surfaces);
    }
}

template <class Executor>
RunTimes ImageCorrelation<Executor>::run(const media::Image& a, const media::Image& b) {
    const bool pair = &a != &b;
    transfer_ms_ = 0;
    timeline_.begin_run();
    const core::Stopwatch watch;
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "planes", 0, 0);
        transfer([&] { image_.load(a.planes); });
        derive(Operand::a);
        if (pair) {
            transfer([&] { image_.load(b.planes); });
            derive(Operand::b);
        }
        executor_.synchronize();
    }
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "correlate", gflop(), 0);
        estimate(pair ? Operand::b : Operand::a, begun_[current_].surfaces);
    }
    return {timeline_.stages(), watch.ms() - transfer_ms_, transfer_ms_};
}

// A GPU runs everything in one stream. An image's copies and kernels follow those of the previous
// image, so images share device arrays and the last stage's end is the end of all work.
template <class Executor>
void ImageCorrelation<Executor>::begin(const media::Image& image) {
    Begun& begun = begun_[next_];
    next_ = (next_ + 1) % most_begun;
    begun.image = &image;
    if (planes_on_host_) return;
    sums_.attach(estimator_.prepare(problem_.planes, problem_.image, begun.surfaces));
    core::Timeline* const timeline = &begun.timeline;
    core::Timeline* const of_copies = is_gpu<Executor> ? timeline : nullptr;
    timeline->begin_run();
    {
        const auto stage = core::Timeline::stage(of_copies, executor_, "upload", 0, 0);
        image_.load(image.planes);
    }
    {
        const auto stage = core::Timeline::stage(timeline, executor_, "planes", 0, 0);
        derive(Operand::a);
    }
    {
        const auto stage = core::Timeline::stage(timeline, executor_, "correlate", 0, 0);
        const auto planes = resident_planes(Operand::a);
        correlator_->run(planes, planes, sums_.view());
    }
    const auto stage = core::Timeline::stage(of_copies, executor_, "download", 0, 0);
    sums_.store();
}

template <class Executor>
RunTimes ImageCorrelation<Executor>::finish() {
    current_ = std::exchange(first_, (first_ + 1) % most_begun);
    Begun& begun = begun_[current_];
    if (planes_on_host_) return run(*begun.image, *begun.image);
    RunTimes times;
    for (core::Stage& stage : begun.timeline.stages()) {
        if (stage.name == "upload" || stage.name == "download") {
            times.transfer_ms += stage.ms;
        } else {
            times.compute_ms += stage.ms;
            times.stages.push_back(std::move(stage));
        }
    }
    const core::Stopwatch watch;
    estimator_.finish(problem_.planes, begun.surfaces);
    core::Stage& correlate = times.stages.back();
    correlate.gflop = gflop();
    const double ms = watch.ms();
    correlate.ms += ms;
    times.compute_ms += ms;
    return times;
}

template <class Executor>
double ImageCorrelation<Executor>::gflop() const {
    if (problem_.method != corr::Method::direct) return 0;
    return 1e-9 * corr::direct_flops(problem_.planes, problem_.image, problem_.lags);
}

template class ImageCorrelation<core::Cpu>;
#if APERTURE_CUDA
template class ImageCorrelation<core::Gpu>;
#endif

SurfaceFindings find_out(const CorrOptions& options, corr::SurfaceView surface,
                         const corr::Lags& lags) {
    SurfaceFindings found;
    const bool pair = options.pair();
    found.peak =
        corr::strongest_peak(surface, lags, pair ? corr::Centre::counts : corr::Centre::excluded);
    // The interpolating parabola may exceed all values of r.
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
