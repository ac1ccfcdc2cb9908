// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/camera_motion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "aperture/core/array.hpp"
#include "aperture/rpca/temporal_median.hpp"
#include "aperture/signal/global_motion.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::rpca {
namespace {

using core::Cpu;
using core::Host;
using core::index_t;
using signal::GlobalMotion;
using signal::MotionModel;
using signal::PixelMap;
using Image = core::View<const float, 2, Host>;
using Grey = core::Array<float, 3>;  // [frame][row][column]

constexpr index_t most_sampled = 33;
constexpr float unseen = std::numeric_limits<float>::quiet_NaN();

struct Place {
    double y, x;
};
Place mapped(const PixelMap& map, double y, double x) {
    const auto row = [&](int i) { return map.at[i][0] * y + map.at[i][1] * x + map.at[i][2]; };
    return {row(0) / row(2), row(1) / row(2)};
}

/// By the adjugate: the scale of a map does not matter, but its sign does.
PixelMap inverse(const PixelMap& map) {
    const auto& m = map.at;
    PixelMap result;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            result.at[i][j] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
        }
    }
    const double scale = result.at[2][2];
    for (auto& row : result.at) {
        for (double& element : row) element /= scale;
    }
    return result;
}

/// The map of (y + dy, x + dx).
PixelMap after_shift(PixelMap map, double dy, double dx) {
    for (auto& row : map.at) row[2] += row[0] * dy + row[1] * dx;
    return map;
}

/// Means of the channels of every `step`-th frame.
Grey grey_frames(Cpu& cpu, CameraMotion::ConstFrames frames, index_t step) {
    const auto [count, channels, rows, columns] = frames.extent;
    Grey grey({(count + step - 1) / step, rows, columns});
    const index_t pixels = rows * columns;
    core::for_each_task(cpu, grey.extent()[0], 0,
                        [&, channels = channels, pixels = pixels](index_t i, std::byte*) {
                            const float* const from = frames.data + i * step * channels * pixels;
                            float* const to = grey.data() + i * pixels;
                            for (index_t p = 0; p < pixels; ++p) {
                                float sum = 0;
                                for (index_t c = 0; c < channels; ++c) sum += from[c * pixels + p];
                                to[p] = sum / static_cast<float>(channels);
                            }
                        });
    return grey;
}

template <class T>
T median_of(std::vector<T>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Calls work(an executor of one thread, frame) on all threads.
template <class Work>
void for_each_frame(Cpu& cpu, index_t frames, const Work& work) {
    core::for_each_task(cpu, frames, 0, [&](index_t i, std::byte*) {
        Cpu one(1);
        work(one, i);
    });
}

/// Of converged motions; infinite without any.
double usual_deviation(const std::vector<GlobalMotion>& motions) {
    std::vector<double> deviations;
    for (const GlobalMotion& motion : motions) {
        if (motion.converged) deviations.push_back(motion.deviation);
    }
    return deviations.empty() ? std::numeric_limits<double>::infinity() : median_of(deviations);
}

/// From no motion on, and where that does not lead to residuals like those of the other frames,
/// from the best of all shifts, too: where an object is large, that may be the object's.
std::vector<GlobalMotion> fit(Cpu& cpu, Image reference, const Grey& frames, MotionModel model) {
    signal::MotionFit<Cpu> fits(cpu, reference.extent, model);
    fits.set_reference(reference);
    const index_t count = frames.extent()[0];
    std::vector<GlobalMotion> motions =
        fits.run(frames, std::vector<PixelMap>(static_cast<std::size_t>(count)));
    const double usual = usual_deviation(motions);
    std::vector<index_t> doubtful;
    for (index_t i = 0; i < count; ++i) {
        const GlobalMotion& motion = motions[static_cast<std::size_t>(i)];
        if (!motion.converged || motion.deviation > 1.5 * usual) doubtful.push_back(i);
    }
    Grey again({static_cast<index_t>(doubtful.size()), reference.extent[0], reference.extent[1]});
    for (index_t i = 0; i < again.extent()[0]; ++i) {
        const auto frame = frames.view()[doubtful[static_cast<std::size_t>(i)]];
        std::copy_n(frame.data, frame.size(), again.view()[i].data);
    }
    const std::vector<GlobalMotion> others = fits.run(again, {});
    for (std::size_t i = 0; i < doubtful.size(); ++i) {
        GlobalMotion& motion = motions[static_cast<std::size_t>(doubtful[i])];
        const GlobalMotion& other = others[i];
        const bool better = !motion.converged || other.deviation < motion.deviation;
        if (other.converged && better) motion = other;
    }
    return motions;
}

/// Sums of differences from a reference, where `image` shows something. Large differences, which
/// objects make, count as 20 grey levels.
double difference(Image image, Image reference) {
    double sum = 0;
    for (index_t p = 0; p < image.size(); ++p) {
        if (std::isnan(image.data[p])) continue;
        sum += static_cast<double>(std::min(std::abs(image.data[p] - reference.data[p]), 20.0F));
    }
    return sum;
}

/// Replaces what is unseen of [frame][pixel] by the median of the frames that show it.
void fill_unseen(Cpu& cpu, core::View<float, 2, Host> frames) {
    const auto [count, pixels] = frames.extent;
    constexpr index_t at_once = 1024;
    core::for_each_task(cpu, (pixels + at_once - 1) / at_once, 0,
                        [&, count = count, pixels = pixels](index_t task, std::byte*) {
                            std::vector<float> seen;
                            for (index_t p = task * at_once;
                                 p < std::min(pixels, (task + 1) * at_once); ++p) {
                                seen.clear();
                                for (index_t i = 0; i < count; ++i) {
                                    if (!std::isnan(frames(i, p))) seen.push_back(frames(i, p));
                                }
                                if (static_cast<index_t>(seen.size()) == count) continue;
                                const float value = seen.empty() ? 0 : median_of(seen);
                                for (index_t i = 0; i < count; ++i) {
                                    if (std::isnan(frames(i, p))) frames(i, p) = value;
                                }
                            }
                        });
}

}  // namespace

CameraMotion::CameraMotion(Cpu& cpu, ConstFrames frames, Stabilise how)
    : cpu_(cpu), size_{frames.extent[2], frames.extent[3]} {
    core::expects(how != Stabilise::off, "camera motion: not to be found");
    core::expects(frames.extent[0] > 0, "camera motion: no frame");
    maps_.resize(static_cast<std::size_t>(frames.extent[0]));
    shifts_.resize(maps_.size());
    if (how == Stabilise::automatic && std::min(size_[0], size_[1]) < 16) return;
    find(frames, how);
    if (moves_) frame_all();
}

void CameraMotion::find(ConstFrames frames, Stabilise how) {
    const auto [rows, columns] = size_;
    const index_t pixels = rows * columns;
    Grey sample = grey_frames(cpu_, frames, (frames.extent[0] + most_sampled - 1) / most_sampled);
    const index_t sampled = sample.extent()[0];
    core::Array<float, 2> reference(size_);
    const auto take_median = [&] {
        temporal_median(cpu_, {sample.data(), {sampled, pixels}}, {reference.data(), {pixels}});
    };
    take_median();
    const auto shifts = fit(cpu_, reference, sample, MotionModel::shift);
    if (how == Stabilise::automatic) {
        std::vector<double> y, x;
        for (const GlobalMotion& shift : shifts) {
            if (!shift.converged) continue;
            y.push_back(shift.map.at[0][2]);
            x.push_back(shift.map.at[1][2]);
        }
        if (2 * static_cast<index_t>(y.size()) < sampled) return;
        std::vector<double> sorted_y = y, sorted_x = x, distances(y.size());
        const double middle_y = median_of(sorted_y);
        const double middle_x = median_of(sorted_x);
        for (std::size_t i = 0; i < y.size(); ++i) {
            distances[i] = std::hypot(y[i] - middle_y, x[i] - middle_x);
        }
        const auto fifth = distances.begin() + static_cast<std::ptrdiff_t>(4 * y.size() / 5);
        std::nth_element(distances.begin(), fifth, distances.end());
        if (*fifth < 0.3) return;
    }
    std::vector<double> before(static_cast<std::size_t>(sampled));
    for_each_frame(cpu_, sampled, [&](Cpu& one, index_t i) {
        const GlobalMotion& shift = shifts[static_cast<std::size_t>(i)];
        const auto image = sample.view()[i];
        core::Array<float, 2> moved(size_);
        std::fill(moved.begin(), moved.end(), unseen);
        if (shift.converged) {
            signal::warp(one, std::as_const(sample).view()[i], shift.map, unseen, moved);
        }
        for (index_t p = 0; p < pixels; ++p) {
            if (std::isnan(moved.data()[p])) image.data[p] = unseen;
        }
        before[static_cast<std::size_t>(i)] = difference(image, reference);
        std::copy(moved.begin(), moved.end(), image.data);
    });
    fill_unseen(cpu_, {sample.data(), {sampled, pixels}});
    take_median();
    if (how == Stabilise::automatic) {
        double after = 0;
        for (index_t i = 0; i < sampled; ++i) {
            after += difference(std::as_const(sample).view()[i], reference);
        }
        if (!(after < 0.9 * std::accumulate(before.begin(), before.end(), 0.0))) return;
    }

    const MotionModel model = how == Stabilise::shift        ? MotionModel::shift
                              : how == Stabilise::homography ? MotionModel::homography
                                                             : MotionModel::affine;
    const auto motions = fit(cpu_, reference, grey_frames(cpu_, frames, 1), model);
    const double usual = usual_deviation(motions);
    double squares = 0;
    for (std::size_t i = 0; i < motions.size(); ++i) {
        const auto last_y = static_cast<double>(rows - 1);
        const auto last_x = static_cast<double>(columns - 1);
        bool near = motions[i].converged && motions[i].gain > 0.5 && motions[i].gain < 2 &&
                    motions[i].deviation <= 5 * usual;
        for (const double y : {0.0, last_y}) {
            for (const double x : {0.0, last_x}) {
                const Place to = mapped(motions[i].map, y, x);
                near = near && std::abs(to.y - y) <= 0.25 * static_cast<double>(rows) &&
                       std::abs(to.x - x) <= 0.25 * static_cast<double>(columns);
            }
        }
        if (!near) continue;
        maps_[i] = motions[i].map;
        const Place middle = mapped(motions[i].map, last_y / 2, last_x / 2);
        const double dy = middle.y - last_y / 2;
        const double dx = middle.x - last_x / 2;
        shifts_[i] = {dy, dx};
        squares += dy * dy + dx * dx;
    }
    const auto found = static_cast<index_t>(maps_.size()) - lost();
    moves_ = found > 0 && (how != Stabilise::automatic || lost() <= found);
    if (moves_) shake_ = std::sqrt(squares / static_cast<double>(found));
}

void CameraMotion::frame_all() {
    double first[2] = {0, 0};
    double last[2] = {static_cast<double>(size_[0] - 1), static_cast<double>(size_[1] - 1)};
    const double corners[2][2] = {{0, last[0]}, {0, last[1]}};
    for (const Map& map : maps_) {
        if (!map) continue;
        const PixelMap back = inverse(*map);
        for (const double y : corners[0]) {
            for (const double x : corners[1]) {
                const Place at = mapped(back, y, x);
                first[0] = std::min(first[0], std::floor(at.y));
                first[1] = std::min(first[1], std::floor(at.x));
                last[0] = std::max(last[0], std::ceil(at.y));
                last[1] = std::max(last[1], std::ceil(at.x));
            }
        }
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const double margin = std::floor(0.25 * static_cast<double>(size_[i]));
        first[i] = std::max(first[i], -margin);
        last[i] = std::min(last[i], static_cast<double>(size_[i] - 1) + margin);
        extent_[i] = static_cast<index_t>(last[i] - first[i]) + 1;
    }
    for (Map& map : maps_) {
        if (map) map = after_shift(*map, first[0], first[1]);
    }
}

index_t CameraMotion::lost() const { return std::count(maps_.begin(), maps_.end(), std::nullopt); }

void CameraMotion::to_common(ConstFrames frames, Frames common) const {
    const auto [count, channels, rows, columns] = common.extent;
    const core::Extents<2> all{count, channels * rows * columns};
    for_each_frame(cpu_, count, [&](Cpu& one, index_t i) {
        const Map& map = maps_[static_cast<std::size_t>(i)];
        if (!map) std::fill_n(common[i].data, all[1], unseen);
        for (index_t c = 0; map && c < common.extent[1]; ++c) {
            signal::warp(one, frames[i][c], *map, unseen, common[i][c]);
        }
    });
    fill_unseen(cpu_, {common.data, all});
}

void CameraMotion::from_common(ConstFrames common, ConstFrames frames, Frames backgrounds) const {
    for_each_frame(cpu_, frames.extent[0], [&](Cpu& one, index_t i) {
        const Map& map = maps_[static_cast<std::size_t>(i)];
        for (index_t c = 0; c < frames.extent[1]; ++c) {
            const auto own = frames[i][c];
            const auto to = backgrounds[i][c];
            if (map) {
                signal::warp(one, common[i][c], inverse(*map), unseen, to);
            } else {
                std::fill_n(to.data, to.size(), unseen);
            }
            for (index_t p = 0; p < to.size(); ++p) {
                if (std::isnan(to.data[p])) to.data[p] = own.data[p];
            }
        }
    });
}

}  // namespace aperture::rpca
