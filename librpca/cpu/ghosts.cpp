// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/cpu/ghosts.hpp"

#include <algorithm>

namespace aperture::rpca::cpu {

void Ghosts::forget() {
    wide_frames_ = 0;
    std::fill(counts_.begin(), counts_.end(), std::uint8_t{0});
}

void Ghosts::find(const ConstPicture& frame, const ConstPicture& background,
                  const ConstMask& foreground, const std::function<void(index_t)>& replace) {
    /// An object before a background with edges of its own is no ghost.
    constexpr float factor = 1.5F;
    const index_t columns = foreground.extent[1];
    const index_t pixels = foreground.size();
    if (counts_.size() != pixels) {
        counts_.reshape({pixels});
        forget();
    }
    edges_.find(foreground, background, frame, factor);
    index_t moving = 0;
    for (index_t i = 0; i < pixels; ++i) moving += foreground(i / columns, i % columns) != 0;
    wide_frames_ = 2 * moving > pixels ? wide_frames_ + 1 : 0;
    const bool new_scene = wide_frames_ > wait_;
    for (index_t i = 0; i < pixels; ++i) {
        std::uint8_t& count = counts_(i);
        if (edges_.stronger(i)) {
            ++count;
        } else if (count > 0) {
            --count;
        }
        if (count > wait_ || (new_scene && foreground(i / columns, i % columns) != 0)) {
            replace(i);
            count = 0;
        }
    }
    if (new_scene) wide_frames_ = 0;
}

}  // namespace aperture::rpca::cpu
