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
    const auto [rows, columns] = foreground.extent;
    const index_t pixels = foreground.size();
    if (counts_.size() != pixels) {
        counts_.reshape({pixels});
        forget();
    }
    edges_.find(foreground, background, frame, factor);
    index_t moving = 0;
    for (index_t row = 0; row < rows; ++row) {
        const std::uint8_t* const moves = &foreground(row, 0);
        moving += columns - std::count(moves, moves + columns, 0);
    }
    wide_frames_ = 2 * moving > pixels ? wide_frames_ + 1 : 0;
    const bool new_scene = wide_frames_ > wait_;
    std::uint8_t* const counts = counts_.data();
    const std::uint8_t* const stronger = edges_.stronger();
    int most = 0;
    for (index_t i = 0; i < pixels; ++i) {
        const int still_counted = counts[i] > 0 ? 1 : 0;
        const int count = counts[i] + (stronger[i] != 0 ? 1 : -still_counted);
        counts[i] = static_cast<std::uint8_t>(count);
        most = std::max(most, count);
    }
    if (!new_scene && most <= wait_) return;
    for (index_t i = 0; i < pixels; ++i) {
        if (counts[i] > wait_ || (new_scene && foreground(i / columns, i % columns) != 0)) {
            replace(i);
            counts[i] = 0;
        }
    }
    if (new_scene) wide_frames_ = 0;
}

}  // namespace aperture::rpca::cpu
