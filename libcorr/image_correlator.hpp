// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ImageCorrelator for every executor.

#include <algorithm>
#include <utility>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/corr/image_correlator.hpp"

namespace aperture::corr {

/// Throws core::InvalidArgument as the constructor of ImageCorrelator does.
Problem problem_of(const Parameters& parameters, const core::Extents<3>& image, bool pair,
                   const std::vector<core::Extents<2>>& masks);

template <class Space>
std::vector<core::Extents<2>> extents_of(const std::vector<core::Array<float, 2, Space>>& masks) {
    std::vector<core::Extents<2>> extents;
    for (const auto& mask : masks) extents.push_back(mask.extent());
    return extents;
}

template <class Executor>
ImageCorrelator<Executor>::ImageCorrelator(Executor& executor, const Parameters& parameters,
                                           const core::Extents<3>& image, bool pair,
                                           std::vector<core::Array<float, 2, Space>> masks)
    : executor_(executor),
      stored_planes_(!parameters.planes),
      as_they_are_(stored_planes_ && parameters.normalized() == Normalization::none),
      pair_(pair),
      problem_(problem_of(parameters, image, pair, extents_of(masks))),
      masks_(std::move(masks)),
      images_{OfImage(executor), OfImage(executor)},
      surface_(executor),
      planes_(executor),
      counts_(executor) {
    if (!parameters.method && !parameters.needs_direct()) {
        if constexpr (core::is_gpu<Executor>) {
            choice_ = choose_gpu_method(problem_, executor.compute_capability(),
                                        executor.multiprocessors(), !pair);
        } else {
            choice_ = choose_method(problem_, executor.threads(), !pair);
        }
        problem_.method = choice_->method;
    }
    // Values of a grey image are its plane.
    image_planes_.emplace(executor, parameters.planes.value_or(PlaneKind::grey),
                          parameters.normalized(), parameters.orientation_sigma);
    estimator_.emplace(executor, problem_, parameters.estimator);
}

template <class Executor>
ImageCorrelator<Executor>::~ImageCorrelator() {
    executor_.finish();
}

template <class Executor>
PlanesView<core::Host> ImageCorrelator<Executor>::planes(Side side) {
    OfImage& image = of(side);
    if constexpr (core::is_gpu<Executor>) {
        if (!std::exchange(image.is_on_host, true)) {
            image.on_host.reshape(image.planes.extent);
            core::copy(executor_, image.planes, image.on_host.view());
            executor_.synchronize();
        }
        return std::as_const(image.on_host).view();
    } else {
        return image.planes;
    }
}

template <class Executor>
void ImageCorrelator<Executor>::derive(Side side, PlanesView<Space> image) {
    OfImage& of_image = of(side);
    of_image.is_on_host = false;
    of_image.planes = image;
    if (as_they_are_) return;
    of_image.derived.reshape({problem_.planes, problem_.image.rows, problem_.image.columns});
    const core::View<float, 3, Space> planes = of_image.derived;
    of_image.planes = planes;
    const auto derive_from = [&](const PlanesView<Space>& from,
                                 const core::View<float, 3, Space>& to) {
        if (masks_.empty()) return image_planes_->derive(from, to);
        image_planes_->derive(from, side == Side::a ? masks_.front() : masks_.back(), to);
    };
    if (!stored_planes_) return derive_from(image, planes);
    for (index_t p = 0; p < problem_.planes; ++p) {
        derive_from(image.slice(0, p, p + 1), planes.slice(0, p, p + 1));
    }
}

template <class Executor>
void ImageCorrelator<Executor>::estimate(bool pair, const SurfaceViews<Space>& results) {
    const auto a = resident_planes(Side::a);
    const auto b = resident_planes(pair ? Side::b : Side::a);
    if (masks_.empty()) {
        estimator_->run(a, b, results);
    } else {
        estimator_->run(a, b, masks_.front(), masks_.back(), results);
    }
}

template <class Executor>
void ImageCorrelator<Executor>::expects_images(const PlanesView<Space>& a,
                                               const PlanesView<Space>& b) const {
    core::expects(pair_ || same_planes(a, b), "a pair, expected single images");
    const auto expects_image = [&](const char* name, const PlanesView<Space>& image) {
        const index_t channels = stored_planes_ ? problem_.planes : image.extent[0];
        core::expects_shape(name, image, {channels, problem_.image.rows, problem_.image.columns},
                            core::Strides::unit_last);
    };
    expects_image("image a", a);
    expects_image("image b", b);
}

template <class Executor>
void ImageCorrelator<Executor>::correlate(PlanesView<Space> a, PlanesView<Space> b,
                                          const SurfaceViews<Space>& results) {
    expects_images(a, b);
    const bool pair = !same_planes(a, b);
    derive(Side::a, a);
    if (pair) derive(Side::b, b);
    estimate(pair, results);
}

template <class Executor>
ImageTimes ImageCorrelator<Executor>::run(Image a, Image b) {
    begin(a, b);
    return finish();
}

// A GPU runs everything in one stream. An image's copies and kernels follow those of the previous
// image, so images share device arrays and the last stage's end is the end of all work.
template <class Executor>
void ImageCorrelator<Executor>::begin(Image a, Image b) {
    expects_images({nullptr, a.extent, a.stride}, {nullptr, b.extent, b.stride});
    Begun& begun = begun_[next_];
    begun.pair = !same_planes(a, b);
    core::expects(pair_ || !begun.pair, "a pair, expected single images");
    begun.surfaces.reshape(problem_);
    const SurfaceViews<core::Host> surfaces = begun.surfaces.views();
    surface_.attach(surfaces.surface);
    planes_.attach(surfaces.planes);
    counts_.attach(surfaces.counts);
    core::Timeline* const timeline = &begun.timeline;
    core::Timeline* const of_copies = core::is_gpu<Executor> ? timeline : nullptr;
    timeline->begin_run();
    {
        const auto stage = core::Timeline::stage(of_copies, executor_, "upload", 0, 0);
        const auto load = [&](Side side, const Image& image) {
            // Grey and colour images may alternate.
            of(side).image.reserve(
                {std::max<index_t>(image.extent[0], 3), image.extent[1], image.extent[2]});
            of(side).image.load(image);
        };
        load(Side::a, a);
        if (begun.pair) load(Side::b, b);
    }
    {
        const auto stage = core::Timeline::stage(timeline, executor_, "planes", 0, 0);
        derive(Side::a, of(Side::a).image.view());
        if (begun.pair) derive(Side::b, of(Side::b).image.view());
    }
    {
        const auto stage = core::Timeline::stage(timeline, executor_, "correlate", gflop(), 0);
        estimate(begun.pair, {surface_.view(), planes_.view(), counts_.view()});
    }
    {
        const auto stage = core::Timeline::stage(of_copies, executor_, "download", 0, 0);
        surface_.store();
        planes_.store();
        counts_.store();
    }
    next_ = (next_ + 1) % most_begun;
}

template <class Executor>
ImageTimes ImageCorrelator<Executor>::finish() {
    current_ = std::exchange(first_, (first_ + 1) % most_begun);
    ImageTimes times;
    for (core::Stage& stage : begun_[current_].timeline.stages()) {
        if (stage.name == "upload" || stage.name == "download") {
            times.transfer_ms += stage.ms;
        } else {
            times.compute_ms += stage.ms;
            times.stages.push_back(std::move(stage));
        }
    }
    return times;
}

template <class Executor>
double ImageCorrelator<Executor>::gflop() const {
    if (problem_.method != Method::direct) return 0;
    return 1e-9 * direct_flops(problem_.planes, problem_.image, problem_.lags);
}

}  // namespace aperture::corr
