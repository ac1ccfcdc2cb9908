// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "aperture/rpca/temporal_median.hpp"
#include "aperture/signal/global_motion.hpp"
#include "aperture/signal/registration.hpp"
#include "aperture/signal/resample.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "librpca/frame_pixels.hpp"
#include "librpca/medians.hpp"

namespace aperture::rpca {

template <>
class FramePixels<core::Cpu> {
    using Frames = core::View<float, 4, core::Host>;
    using ConstFrames = core::View<const float, 4, core::Host>;
    using ConstImages = core::View<const float, 3, core::Host>;

  public:
    explicit FramePixels(core::Cpu& cpu) : cpu_(cpu) {}

    void means(ConstFrames frames, const std::vector<index_t>& which,
               core::View<float, 3, core::Host> to) {
        core::for_each_task(cpu_, to.extent[0], 0, [&](index_t i, std::byte*) {
            const auto frame = frames[which[static_cast<std::size_t>(i)]];
            float* const mean = to[i].data;
            const index_t pixels = to[i].size();
            for (index_t p = 0; p < pixels; ++p) {
                float sum = 0;
                for (index_t c = 0; c < frames.extent[1]; ++c) sum += frame[c].data[p];
                mean[p] = sum / static_cast<float>(frames.extent[1]);
            }
        });
    }

    void median(core::View<const float, 2, core::Host> frames,
                core::View<float, 1, core::Host> to) {
        temporal_median(cpu_, frames, to);
    }

    void halve(ConstImages images, core::View<float, 3, core::Host> to) {
        core::for_each_task(cpu_, to.extent[0], 0, [&](index_t i, std::byte*) {
            core::Cpu one(1);
            signal::downsample(one, images[i], to[i]);
        });
    }

    void move(ConstFrames frames, const std::vector<signal::PixelMap>& maps, ConstFrames instead,
              Frames to) {
        core::for_each_task(cpu_, to.extent[0], 0, [&](index_t i, std::byte*) {
            core::Cpu one(1);
            for (index_t c = 0; c < to.extent[1]; ++c) {
                const auto image = to[i][c];
                signal::warp(one, frames[i][c], maps[static_cast<std::size_t>(i)], unseen, image);
                if (instead.empty()) continue;
                const float* const other = instead[i][c].data;
                for (index_t p = 0; p < image.size(); ++p) {
                    if (std::isnan(image.data[p])) image.data[p] = other[p];
                }
            }
        });
    }

    void fill_unseen(core::View<float, 2, core::Host> frames) {
        const auto [count, values] = frames.extent;
        constexpr index_t at_once = 1024;
        const auto fill_some = [&, count = count, values = values](index_t task, std::byte*) {
            std::vector<float> seen;
            for (index_t v = task * at_once; v < std::min(values, (task + 1) * at_once); ++v) {
                seen.clear();
                for (index_t i = 0; i < count; ++i) {
                    if (!std::isnan(frames(i, v))) seen.push_back(frames(i, v));
                }
                if (static_cast<index_t>(seen.size()) == count) continue;
                const float value =
                    seen.empty()
                        ? 0.0F
                        : static_cast<float>(upper_median(seen.data(), seen.data() + seen.size()));
                for (index_t i = 0; i < count; ++i) {
                    if (std::isnan(frames(i, v))) frames(i, v) = value;
                }
            }
        };
        core::for_each_task(cpu_, (values + at_once - 1) / at_once, 0, fill_some);
    }

    double difference(ConstImages frames, ConstImages shown,
                      core::View<const float, 2, core::Host> reference) {
        std::vector<double> sums(static_cast<std::size_t>(frames.extent[0]));
        core::for_each_task(cpu_, frames.extent[0], 0, [&](index_t i, std::byte*) {
            double sum = 0;
            for (index_t p = 0; p < reference.size(); ++p) {
                if (std::isnan(shown[i].data[p])) continue;
                sum +=
                    static_cast<double>(counted_difference(frames[i].data[p], reference.data[p]));
            }
            sums[static_cast<std::size_t>(i)] = sum;
        });
        return std::accumulate(sums.begin(), sums.end(), 0.0);
    }

    void replace(core::View<const std::uint8_t, 1, core::Host> which,
                 core::View<const float, 2, core::Host> ground,
                 core::View<float, 3, core::Host> frames) {
        const auto [count, channels, pixels] = frames.extent;
        core::for_each_task(cpu_, count * channels, 0,
                            [&, channels = channels, pixels = pixels](index_t task, std::byte*) {
                                const float* const from = ground[task % channels].data;
                                float* const to = frames[task / channels][task % channels].data;
                                for (index_t p = 0; p < pixels; ++p)
                                    to[p] = which.data[p] != 0 ? from[p] : to[p];
                            });
    }

  private:
    core::Cpu& cpu_;
};

}  // namespace aperture::rpca
