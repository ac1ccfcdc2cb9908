// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// Foreground masks: 0 or 255. [frame][row][column]
template <class Space>
using MasksView = core::View<std::uint8_t, 3, Space>;
/// |frame - background|, or frames or backgrounds: [frame][channel][row][column]
template <class Space>
using DifferencesView = core::View<const float, 4, Space>;
/// Typical size of a pixel's differences: [row][column]
template <class Space, class T = float>
using ScalesView = core::View<T, 2, Space>;

/// How differences become a mask.
struct MaskParameters {
    /// A pixel is foreground if any channel differs by more than this, in units of the frames. If
    /// absent, the threshold follows the pixel (`pixel_threshold`).
    std::optional<double> threshold = std::nullopt;
    /// If positive, replaces `threshold`: a multiple of the noise standard deviation that is
    /// estimated from all differences (`noise_deviation`).
    double noise_multiple = 0;
    int clean = 5;         ///< side of the median window over the mask, odd; 0 for none
    index_t min_area = 0;  ///< in pixels: smaller 8-connected regions are removed
    /// Where thresholds follow the pixels: what is 8-connected with foreground is foreground, too,
    /// above this share of the threshold (Canny 1986). 1 for none.
    double hysteresis = 0.7;
    bool fill_holes = true;  ///< background that foreground encloses becomes foreground
    /// Pixels are background where a multiple of the background, from 0.4 to 0.95 of it, fits the
    /// 3 x 3 pixels around in all channels, to a third of the threshold in the root mean square.
    /// Where the background is darker than 4 thresholds, a shadow cannot be told from an object.
    bool remove_shadows = true;
    /// Where thresholds follow the pixels: pixels are background where a lamp lights it. There it
    /// is darker than 50 of 255, the 7 x 7 pixels around are brighter, and their steps to the next
    /// pixels are those of the background with a correlation above 0.3, in proportion to the
    /// brightness within a factor of 2. Ground without texture cannot be told from an object.
    bool remove_light = true;

    /// Whether thresholds are computed from scales.
    bool follows_pixels() const { return !threshold && noise_multiple == 0; }
    /// Whether a mask is a comparison with `threshold`, without further steps.
    bool only_compares() const {
        return threshold && noise_multiple == 0 && clean <= 1 && min_area <= 1 && !fill_holes &&
               !remove_shadows;
    }
};

/// The threshold of a pixel whose differences have the typical size `scale`, for frames of 0 to
/// 255. It has an upper bound: where objects cover a place in most of the frames, differences are
/// those of the objects.
inline constexpr float pixel_threshold(float scale) {
    constexpr float least = 8;
    constexpr float per_scale = 3;
    constexpr float most = 40;
    // A product that is added to would be rounded on one machine and not on another.
    const float threshold = per_scale * (scale + least / per_scale);
    return threshold < most ? threshold : most;
}

/// Throws core::InvalidArgument for a negative threshold or area, an even or negative window, and a
/// hysteresis outside 0 to 1.
void validate(const MaskParameters& parameters);

/// differences = |frames - backgrounds|. A frame stride of 0 makes one background that of all
/// frames. `differences` may alias one of the others. Throws core::InvalidArgument if extents
/// differ or values are not contiguous. Asynchronous on a Gpu.
void subtract_backgrounds(core::Cpu& cpu, FramesView<const float, core::Host> frames,
                          FramesView<const float, core::Host> backgrounds,
                          FramesView<float, core::Host> differences);
void subtract_backgrounds(core::Gpu& gpu, FramesView<const float, core::Device> frames,
                          FramesView<const float, core::Device> backgrounds,
                          FramesView<float, core::Device> differences);

/// Standard deviation of normal noise with the same median of |difference|: median / 0.6745. Sparse
/// outliers hardly change it. Samples 10^6 to 2 10^6 values of larger inputs. On a Gpu it waits for
/// the samples, which are sorted on the host.
double noise_deviation(DifferencesView<core::Host> differences);
double noise_deviation(core::Gpu& gpu, DifferencesView<core::Device> differences);

/// Each pixel's median over the frames of its largest |difference| in a channel; of long inputs,
/// over 33 to 64 frames at equal distances. With fewer than 10 frames, all pixels have the median
/// of all. Throws core::InvalidArgument if extents differ, rows are not contiguous, or there is no
/// frame. Asynchronous on a Gpu, with 10 frames or more. Sizes are counted, not sorted: the
/// median's bits are found one after the other.
void pixel_scales(core::Cpu& cpu, DifferencesView<core::Host> differences,
                  ScalesView<core::Host> scales);
void pixel_scales(core::Gpu& gpu, DifferencesView<core::Device> differences,
                  ScalesView<core::Device> scales);

/// Continues `pixel_scales` for later frames: a scale grows or shrinks by 2 % a frame towards the
/// pixel's largest |difference|, by 0.02 % where `masks` (with light) show foreground. Throws as
/// `pixel_scales`. Asynchronous on a Gpu.
void follow_scales(core::Cpu& cpu, DifferencesView<core::Host> differences,
                   MasksView<core::Host> masks, ScalesView<core::Host> scales);
void follow_scales(core::Gpu& gpu, DifferencesView<core::Device> differences,
                   MasksView<core::Device> masks, ScalesView<core::Device> scales);

/// What masks are found from.
template <class Space>
struct MaskInputs {
    DifferencesView<Space> differences;
    /// For thresholds that follow the pixel; each is averaged with those of 5 x 5 pixels. Not used
    /// otherwise.
    ScalesView<Space, const float> scales{};
    /// Of the extents of `differences`. If empty, no shadow or light is removed. The stride of the
    /// backgrounds' frames may be 0.
    DifferencesView<Space> frames{};
    DifferencesView<Space> backgrounds{};
};

/// Finds masks frame by frame: differences above the threshold and their median; with hysteresis
/// the median of what they are connected with; without shadows and lit background, and where there
/// were some the median again; with holes filled; without small regions. The window of the median
/// is clipped at the picture's edge. Returns the threshold used, or the mean of those that follow
/// the pixels. Throws core::InvalidArgument as `validate` does, if the inputs or the masks have
/// other sizes, if rows are not contiguous, and for frames of 2^31 pixels. All executors find the
/// same masks. On a Gpu it waits for a mean of thresholds and for `noise_deviation`, and is
/// asynchronous otherwise.
/// `with_light`, if not empty, has the extents of `masks` and is the masks with the shadows and the
/// lit background that were removed: what a background that follows the frames does not learn.
double find_masks(core::Cpu& cpu, const MaskInputs<core::Host>& inputs,
                  const MaskParameters& parameters, MasksView<core::Host> masks,
                  MasksView<core::Host> with_light = {});
double find_masks(core::Gpu& gpu, const MaskInputs<core::Device>& inputs,
                  const MaskParameters& parameters, MasksView<core::Device> masks);

/// Bytes of main memory that `find_masks` takes for each thread of a Cpu.
index_t mask_scratch_bytes(const MaskParameters& parameters, index_t rows, index_t columns);

}  // namespace aperture::rpca
