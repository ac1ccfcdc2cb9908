// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apps/bgsub/clip.hpp"
#include "apps/bgsub/method.hpp"
#include "apps/bgsub/separator.hpp"

namespace aperture::apps {

/// "1.23 GB"
std::string gigabytes(double bytes);

/// Memory for frames and their results, in bytes.
class MemoryNeed {
  public:
    /// On a Cpu of `threads` threads. The separators must outlive it.
    MemoryNeed(const BgsubOptions& options, const FrameShape& shape, const Separators& separators,
               const Samples& samples, int threads);

    /// Of `frames` solved together, with `kept_frames` in memory, while results of `written_frames`
    /// before are being written.
    double of(index_t frames, index_t kept_frames, index_t written_frames = 0) const;
    /// The maximum number of frames that fit in `bytes`.
    index_t fitting(double bytes) const;

  private:
    const Separators& separators_;
    index_t values_;           ///< per frame
    index_t clip_bytes_;       ///< per frame, without results
    index_t work_bytes_;       ///< results of a frame
    index_t saved_bytes_ = 0;  ///< of a frame that is being written, where another is computed
    index_t fixed_bytes_;      ///< of any number of frames
};

}  // namespace aperture::apps
