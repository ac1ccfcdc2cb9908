// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ImageCorrelator for every executor.

#include <algorithm>
#include <array>
#include <utility>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/corr/image_correlator.hpp"

namespace aperture::corr {

/// Throws core::InvalidArgument as the constructor of ImageCorrelator does.
Problem problem_of(const Parameters& parameters, const core::Extents<3>& image, bool pair,
                   const std::vector<core::Array<float, 2>>& masks);

template <class Executor>
ImageCorrelator<Executor>::ImageCorrelator(Executor& executor, core::Cpu& cpu,
                                           const Parameters& parameters,
                                           const core::Extents<3>& image, bool pair,
                                           std::vector<core::Array<float, 2>> masks)
    : executor_(executor),
      cpu_(cpu),
      stored_planes_(!parameters.planes),
      pair_(pair),
      pearson_(parameters.estimator == Estimator::pearson),
      planes_on_host_(pearson_ || !masks.empty()),
      problem_(problem_of(parameters, image, pair, masks)),
      estimator_(cpu, parameters.estimator, problem_.lags, problem_.each_plane),
      masks_(std::move(masks)),
      image_(executor),
      planes_{PlanesOfImage{{}, core::Resident<Executor, float, 3>(executor)},
              PlanesOfImage{{}, core::Resident<Executor, float, 3>(executor)}},
      sums_(executor) {
    for (Begun& begun : begun_) {
        begun.surfaces.surface = core::Array<double, 2>({0, 0}, core::pages_for<Executor>);
        begun.surfaces.planes = core::Array<double, 3>({0, 0, 0}, core::pages_for<Executor>);
    }
    if (!parameters.method && !parameters.needs_direct()) {
        if constexpr (core::is_gpu<Executor>) {
            choice_ = choose_gpu_method(problem_, executor.compute_capability(),
                                        executor.multiprocessors(), !pair);
        } else {
            choice_ = choose_method(problem_, executor.threads(), !pair);
        }
        problem_.method = choice_->method;
    }
    for (const core::Array<float, 2>& mask : masks_) {
        resident_masks_.emplace_back(executor).load(mask);
    }
    const auto [rows, columns] = problem_.image;
    // Grey and colour images may alternate.
    image_.reserve({std::max<index_t>(image[0], 3), rows, columns});
    for (Side side : {Side::a, Side::b}) {
        if (side == Side::b && !pair) continue;
        of(side).host.reshape({problem_.planes, rows, columns});
        of(side).resident.attach(of(side).host);
    }
    for (std::size_t i = 0; i < factor_count; ++i) factors_.emplace_back(executor);
    // Values of a grey image are its plane.
    image_planes_.emplace(executor, parameters.planes.value_or(PlaneKind::grey),
                          parameters.normalized());
    correlator_.emplace(executor, problem_);
}

template <class Executor>
ImageCorrelator<Executor>::~ImageCorrelator() {
    try {
        executor_.synchronize();
    } catch (const core::DeviceError&) {
        // Callers that waited for the work have received the error.
    }
}

template <class Executor>
PlanesView<core::Host> ImageCorrelator<Executor>::planes(Side side) {
    PlanesOfImage& image = of(side);
    if (!std::exchange(image.on_host, true)) transfer([&] { image.resident.store(); });
    return std::as_const(image.host).view();
}

template <class Executor>
auto ImageCorrelator<Executor>::resident_planes(Side side) -> PlanesView<Space> {
    return of(side).resident.view();
}

template <class Executor>
template <class Copies>
void ImageCorrelator<Executor>::transfer(const Copies& copies) {
    if constexpr (core::is_gpu<Executor>) {
        const core::Stopwatch watch;
        copies();
        executor_.synchronize();
        transfer_ms_ += watch.ms();
    } else {
        copies();
    }
}

template <class Executor>
void ImageCorrelator<Executor>::derive(Side side) {
    of(side).on_host = false;
    const auto derive_from = [&](core::View<const float, 3, Space> image,
                                 core::View<float, 3, Space> planes) {
        if (masks_.empty()) return image_planes_->derive(image, planes);
        auto& mask = side == Side::a ? resident_masks_.front() : resident_masks_.back();
        image_planes_->derive(image, mask.view(), planes);
    };
    const auto image = image_.view();
    const auto planes = of(side).resident.view();
    if (!stored_planes_) return derive_from(image, planes);
    for (index_t p = 0; p < problem_.planes; ++p) {
        derive_from(image.slice(0, p, p + 1), planes.slice(0, p, p + 1));
    }
}

template <class Executor>
void ImageCorrelator<Executor>::correlate(PlanesView<Space> a, PlanesView<Space> b,
                                          core::View<double, 3, core::Host> sums) {
    sums_.attach(sums);
    correlator_->run(a, b, sums_.view());
    executor_.synchronize();
    transfer([&] { sums_.store(); });
}

template <class Executor>
void ImageCorrelator<Executor>::estimate(Side other, Surfaces& surfaces) {
    // With a GPU, planes centred by the CPU would need a copy to it.
    if (masks_.empty() && (core::is_gpu<Executor> || !pearson_)) {
        const auto sums = estimator_.prepare(problem_.planes, problem_.image, surfaces);
        correlate(resident_planes(Side::a), resident_planes(other), sums);
        if (pearson_) {
            estimator_.finish(planes(Side::a), planes(other), surfaces);
        } else {
            estimator_.finish(problem_.planes, surfaces);
        }
        return;
    }
    std::array<bool, factor_count> loaded{};
    const auto resident = [&](Factor factor) {
        const auto place = static_cast<std::size_t>(factor);
        if (!std::exchange(loaded[place], true)) {
            transfer([&] { factors_[place].load(estimator_.planes(factor)); });
        }
        return factors_[place].view();
    };
    const auto correlate_factors = [&](Factor a, Factor b, core::View<double, 3, core::Host> sums) {
        correlate(resident(a), resident(b), sums);
    };
    if (masks_.empty()) {
        estimator_.run(planes(Side::a), planes(other), correlate_factors, surfaces);
    } else {
        estimator_.run(planes(Side::a), planes(other), masks_.front(), masks_.back(),
                       correlate_factors, surfaces);
    }
}

template <class Executor>
void ImageCorrelator<Executor>::expects_image(const char* name, const Image& image) const {
    const auto [rows, columns] = problem_.image;
    const index_t channels = stored_planes_ ? problem_.planes : image.extent[0];
    core::expects_shape(name, image, {channels, rows, columns}, core::Strides::dense);
}

template <class Executor>
ImageTimes ImageCorrelator<Executor>::run(Image a, Image b) {
    const bool pair = !same_planes(a, b);
    core::expects(pair_ || !pair, "a pair, expected single images");
    expects_image("image a", a);
    expects_image("image b", b);
    transfer_ms_ = 0;
    timeline_.begin_run();
    const core::Stopwatch watch;
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "planes", 0, 0);
        transfer([&] { image_.load(a); });
        derive(Side::a);
        if (pair) {
            transfer([&] { image_.load(b); });
            derive(Side::b);
        }
        executor_.synchronize();
    }
    {
        const auto stage = core::Timeline::stage(&timeline_, cpu_, "correlate", gflop(), 0);
        estimate(pair ? Side::b : Side::a, begun_[current_].surfaces);
    }
    return {timeline_.stages(), watch.ms() - transfer_ms_, transfer_ms_};
}

template <class Executor>
void ImageCorrelator<Executor>::begin(Image image) {
    expects_image("image", image);
    begun_[next_].image = image;
    if (!planes_on_host_) start(begun_[next_]);
    next_ = (next_ + 1) % most_begun;
}

// A GPU runs everything in one stream. An image's copies and kernels follow those of the previous
// image, so images share device arrays and the last stage's end is the end of all work.
template <class Executor>
void ImageCorrelator<Executor>::start(Begun& begun) {
    sums_.attach(estimator_.prepare(problem_.planes, problem_.image, begun.surfaces));
    core::Timeline* const timeline = &begun.timeline;
    core::Timeline* const of_copies = core::is_gpu<Executor> ? timeline : nullptr;
    timeline->begin_run();
    {
        const auto stage = core::Timeline::stage(of_copies, executor_, "upload", 0, 0);
        image_.load(begun.image);
    }
    {
        const auto stage = core::Timeline::stage(timeline, executor_, "planes", 0, 0);
        derive(Side::a);
    }
    {
        const auto stage = core::Timeline::stage(timeline, executor_, "correlate", 0, 0);
        const auto planes = resident_planes(Side::a);
        correlator_->run(planes, planes, sums_.view());
    }
    const auto stage = core::Timeline::stage(of_copies, executor_, "download", 0, 0);
    sums_.store();
}

template <class Executor>
ImageTimes ImageCorrelator<Executor>::finish() {
    current_ = std::exchange(first_, (first_ + 1) % most_begun);
    Begun& begun = begun_[current_];
    if (planes_on_host_) return run(begun.image);
    ImageTimes times;
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
double ImageCorrelator<Executor>::gflop() const {
    if (problem_.method != Method::direct) return 0;
    return 1e-9 * direct_flops(problem_.planes, problem_.image, problem_.lags);
}

}  // namespace aperture::corr
