// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the motion of a camera is found, on every executor.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/rpca/camera_motion.hpp"
#include "librpca/frame_pixels.hpp"

namespace aperture::rpca {

/// The deviation of the median frame; infinite if no motion converged.
double usual_deviation(const std::vector<signal::GlobalMotion>& motions);
/// A camera that moves by less, in pixels, is still.
inline constexpr double least_shake = 0.3;
/// From this extent on images of half of it show whether a camera moves.
inline constexpr index_t least_halved = 128;
/// Whether a fifth of the frames are `least` pixels or more from their median position, and most of
/// them have a shift.
bool shakes(const std::vector<signal::GlobalMotion>& shifts, double least);
/// Their maps; where a motion did not converge one that leads nowhere.
std::vector<signal::PixelMap> maps_of(const std::vector<signal::GlobalMotion>& motions);

/// From no motion on, and where that does not lead to residuals like those of the other frames,
/// from the best of all shifts, too: where an object is large, that may be the object's.
template <class Executor>
std::vector<signal::GlobalMotion> fit_frames(Executor& executor,
                                             typename signal::MotionFit<Executor>::Image reference,
                                             typename signal::MotionFit<Executor>::Frames frames,
                                             signal::MotionModel model) {
    signal::MotionFit<Executor> fits(executor, reference.extent, model);
    fits.set_reference(reference);
    const auto [count, rows, columns] = frames.extent;
    std::vector<signal::GlobalMotion> motions =
        fits.run(frames, std::vector<signal::PixelMap>(static_cast<std::size_t>(count)));
    const double usual = usual_deviation(motions);
    std::vector<index_t> doubtful;
    for (std::size_t i = 0; i < motions.size(); ++i) {
        if (!motions[i].converged || motions[i].deviation > 1.5 * usual) {
            doubtful.push_back(static_cast<index_t>(i));
        }
    }
    if (doubtful.empty()) return motions;
    core::Array<float, 3, typename Executor::Space> again(
        {static_cast<index_t>(doubtful.size()), rows, columns});
    FramePixels<Executor>(executor).means({frames.data, {count, 1, rows, columns}}, doubtful,
                                          again.view());
    const auto others = fits.run(std::as_const(again).view(), {});
    for (std::size_t i = 0; i < doubtful.size(); ++i) {
        signal::GlobalMotion& motion = motions[static_cast<std::size_t>(doubtful[i])];
        const signal::GlobalMotion& other = others[i];
        const bool better = !motion.converged || other.deviation < motion.deviation;
        if (other.converged && better) motion = other;
    }
    return motions;
}

/// Every `step`-th of `count` frames.
inline std::vector<index_t> every(index_t step, index_t count) {
    std::vector<index_t> which;
    for (index_t i = 0; i < count; i += step) which.push_back(i);
    return which;
}

template <class Executor>
struct CameraMotion<Executor>::Found {
    CameraPath path;
    signal::MotionModel model;
    core::Array<float, 2, typename Executor::Space> median;
};

template <class Executor>
typename CameraMotion<Executor>::Found CameraMotion<Executor>::find(Executor& executor,
                                                                    ConstFrames frames,
                                                                    Stabilise how) {
    using Space = typename Executor::Space;
    core::expects(how != Stabilise::off, "camera motion: not to be found");
    const auto [count, channels, rows, columns] = frames.extent;
    core::expects(count > 0, "camera motion: no frame");
    const core::Extents<2> size{rows, columns};
    const bool automatic = how == Stabilise::automatic;
    const signal::MotionModel model = how == Stabilise::shift ? signal::MotionModel::shift
                                      : how == Stabilise::homography
                                          ? signal::MotionModel::homography
                                          : signal::MotionModel::affine;
    const auto still = [&] {
        const std::vector<signal::GlobalMotion> none(static_cast<std::size_t>(frames.extent[0]));
        return Found{CameraPath(size, none, how), model, {}};
    };
    if (automatic && std::min(rows, columns) < 16) return still();

    using Images = core::Array<float, 3, Space>;
    FramePixels<Executor> pixels(executor);
    const auto sampled = every(frame_step(count), count);
    const core::Extents<3> extent{static_cast<index_t>(sampled.size()), rows, columns};
    core::Array<float, 2, Space> reference;
    const auto find_median = [&](const Images& images) {
        reference.reshape({images.extent()[1], images.extent()[2]});
        const index_t values = reference.size();
        pixels.median({images.data(), {extent[0], values}}, {reference.data(), {values}});
    };
    const auto shifts_of = [&](const Images& images) {
        find_median(images);
        return fit_frames(executor, reference, images, signal::MotionModel::shift);
    };
    Images sample(extent);
    pixels.means(frames, sampled, sample.view());
    if (automatic && std::min(rows, columns) >= least_halved) {
        Images halves({extent[0], rows / 2, columns / 2});
        pixels.halve(std::as_const(sample).view(), halves.view());
        if (!shakes(shifts_of(halves), least_shake / 2)) return still();
    }
    const auto shifts = shifts_of(sample);
    if (automatic && !shakes(shifts, least_shake)) return still();

    Images moved(extent);
    const core::Extents<4> planes{extent[0], 1, rows, columns};
    pixels.move({sample.data(), planes}, maps_of(shifts), {}, {moved.data(), planes});
    const double before = automatic ? pixels.difference(sample, moved, reference) : 0;
    pixels.fill_unseen({moved.data(), {extent[0], rows * columns}});
    find_median(moved);
    if (automatic && !(pixels.difference(moved, moved, reference) < 0.9 * before)) return still();

    core::Array<float, 3, Space> grey({count, rows, columns});
    pixels.means(frames, every(1, count), grey.view());
    CameraPath path(size, fit_frames(executor, reference, grey, model), how);
    return {std::move(path), model, std::move(reference)};
}

template <class Executor>
CameraMotion<Executor>::CameraMotion(Executor& executor, ConstFrames frames, Stabilise how)
    : CameraMotion(executor, find(executor, frames, how)) {}

template <class Executor>
CameraMotion<Executor>::CameraMotion(Executor& executor, Found found)
    : CameraPath(std::move(found.path)),
      executor_(executor),
      model_(found.model),
      median_(std::move(found.median)) {}

template <class Executor>
void CameraMotion<Executor>::to_common(ConstFrames frames, Frames common) const {
    FramePixels<Executor> pixels(executor_);
    pixels.move(frames, maps(), {}, common);
    const auto [count, channels, rows, columns] = common.extent;
    pixels.fill_unseen({common.data, {count, channels * rows * columns}});
}

template <class Executor>
std::optional<signal::PixelMap> CameraMotion<Executor>::map_to(const CameraMotion& other) const {
    core::expects(moves() && other.moves(), "camera motion: there is no common frame");
    const auto [rows, columns] = median_.extent();
    core::expects_shape("median of the other frames", other.median_.view(), {rows, columns});
    const auto motions =
        fit_frames(executor_, median_.view(), {other.median_.data(), {1, rows, columns}}, model_);
    return map_between(motions.front(), other);
}

template <class Executor>
void CameraMotion<Executor>::from_common(ConstFrames common, ConstFrames frames,
                                         Frames backgrounds) const {
    FramePixels<Executor>(executor_).move(common, inverse_maps(), frames, backgrounds);
}

}  // namespace aperture::rpca
