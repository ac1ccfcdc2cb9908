// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "librpca/cpu/border_edges.hpp"

namespace aperture::rpca::cpu {

/// Finds foreground that is no object: places that objects have left, and new scenes.
class Ghosts {
  public:
    explicit Ghosts(int wait) : wait_(wait) {}
    /// Forgets all frames.
    void forget();
    /// Calls replace(pixel) for foreground whose region was a ghost in more than `wait` frames,
    /// those in which it was none deducted, and for all foreground once it has covered more than
    /// half of the picture in more than `wait` consecutive frames.
    void find(const ConstPicture& frame, const ConstPicture& background,
              const ConstMask& foreground, const std::function<void(index_t)>& replace);

    /// Whether foreground covered more than half of the last picture.
    bool wide() const { return wide_frames_ > 0; }

  private:
    int wait_;
    int wide_frames_ = 0;                  ///< consecutive, with more than half foreground
    core::Array<std::uint8_t, 1> counts_;  ///< [pixel]
    BorderEdges edges_;
};

}  // namespace aperture::rpca::cpu
