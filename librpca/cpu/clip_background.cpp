// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/clip_background.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "aperture/core/shape.hpp"
#include "aperture/rpca/temporal_median.hpp"
#include "librpca/clip_correction.hpp"
#include "librpca/cpu/border_edges.hpp"
#include "librpca/cpu/frame_pixels.hpp"
#include "librpca/medians.hpp"

namespace aperture::rpca {
namespace {

using core::Host;
using Frames = DifferencesView<Host>;

FramesView<const float, Host> as_rows(const Frames& frames) {
    return {frames.data,
            {frames.extent[0], frames.extent[1] * frames.extent[2] * frames.extent[3]}};
}

core::Array<float, 3> median_of(core::Cpu& cpu, const Frames& frames) {
    core::Array<float, 3> median({frames.extent[1], frames.extent[2], frames.extent[3]});
    temporal_median(cpu, as_rows(frames), {median.data(), {median.size()}});
    return median;
}

/// Of the differences of frames from one background.
core::Array<float, 2> scales_of(core::Cpu& cpu, const Frames& frames,
                                const core::Array<float, 3>& ground) {
    core::Array<float, 4> differences(frames.extent);
    const auto rows = as_rows(frames);
    subtract_backgrounds(cpu, rows, {ground.data(), rows.extent, {0, 1}},
                         {differences.data(), rows.extent});
    core::Array<float, 2> scales({frames.extent[2], frames.extent[3]});
    pixel_scales(cpu, std::as_const(differences).view(), scales.view());
    return scales;
}

/// The median ratio of `one` to `other`, by which light has changed.
float light_between(const core::Array<float, 3>& one, const core::Array<float, 3>& other) {
    // Of black pixels the ratio is 1.
    constexpr float dark = 1;
    std::vector<float> ratios;
    ratios.reserve(static_cast<std::size_t>(one.size()));
    for (index_t v = 0; v < one.size(); ++v) {
        const float ratio = (one.data()[v] + dark) / (other.data()[v] + dark);
        if (!std::isnan(ratio)) ratios.push_back(ratio);
    }
    if (ratios.empty()) return 1;
    return static_cast<float>(upper_median(ratios.data(), ratios.data() + ratios.size()));
}

/// Calls replace(pixel) where `ground` has an object and `other` has not.
template <class Replace>
void find_objects(core::Cpu& cpu, const core::Array<float, 3>& ground,
                  const core::Array<float, 3>& other, const core::Array<float, 2>& scales,
                  const Replace& replace) {
    constexpr MaskParameters regions{
        .clean = 0, .hysteresis = 0.5, .fill_holes = false, .remove_shadows = false};
    const auto [channels, rows, columns] = ground.extent();
    core::Array<float, 4> difference({1, channels, rows, columns});
    std::transform(ground.begin(), ground.end(), other.begin(), difference.begin(),
                   [](float a, float b) { return std::abs(a - b); });
    core::Array<std::uint8_t, 3> mask({1, rows, columns});
    find_masks(cpu, {std::as_const(difference).view(), scales.view()}, regions, mask.view());
    cpu::BorderEdges edges;
    edges.find(std::as_const(mask).view()[0], ground.view(), other.view(), 1);
    for (index_t pixel = 0; pixel < rows * columns; ++pixel) {
        if (edges.stronger()[pixel] != 0) replace(pixel);
    }
}

}  // namespace

ClipBackground clip_background(core::Cpu& cpu, Frames first, Frames sampled) {
    core::expects(first.extent[0] > 0 && sampled.extent[0] > 0,
                  "the background of a clip requires at least 1 frame");
    core::expects_shape("sampled", sampled,
                        {sampled.extent[0], first.extent[1], first.extent[2], first.extent[3]});
    ClipBackground clip{median_of(cpu, first), {}};
    core::Array<float, 3> other = median_of(cpu, sampled);
    clip.scales = scales_of(cpu, first, clip.ground);
    const core::Array<float, 2> of_sampled = scales_of(cpu, sampled, other);
    std::transform(clip.scales.begin(), clip.scales.end(), of_sampled.begin(), clip.scales.begin(),
                   [](float a, float b) { return std::min(a, b); });
    const float light = light_between(clip.ground, other);
    for (float& value : other) value *= light;
    const index_t pixels = clip.scales.size();
    find_objects(cpu, clip.ground, other, clip.scales, [&](index_t pixel) {
        for (index_t v = pixel; v < other.size(); v += pixels) {
            clip.ground.data()[v] = other.data()[v];
        }
    });
    return clip;
}

ClipCorrection clip_correction(core::Cpu& cpu, const ClipBackground& clip,
                               const core::Array<float, 3>& median) {
    const float light = light_between(median, clip.ground);
    core::Array<float, 3> other(clip.ground.extent());
    std::transform(
        clip.ground.begin(), clip.ground.end(), median.begin(), other.begin(),
        [light](float value, float here) { return std::isnan(value) ? here : light * value; });
    const index_t pixels = clip.scales.size();
    ClipCorrection found{core::Array<std::uint8_t, 1>({pixels}), {}};
    std::fill(found.replaced.begin(), found.replaced.end(), std::uint8_t{0});
    find_objects(cpu, median, other, clip.scales,
                 [&](index_t pixel) { found.replaced.data()[pixel] = 1; });
    found.ground = core::Array<float, 2>({other.size() / pixels, pixels});
    std::copy(other.begin(), other.end(), found.ground.begin());
    return found;
}

template class MovingClip<core::Cpu>;

void correct_backgrounds(core::Cpu& cpu, const ClipBackground& clip,
                         core::View<float, 4, Host> backgrounds) {
    correct_by_clip(cpu, cpu, clip, backgrounds);
}

}  // namespace aperture::rpca
