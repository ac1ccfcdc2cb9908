// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "apps/bgsub/options.hpp"

namespace aperture::apps {

/// Finds the background of frames on some device, from and to the host's memory.
class Separator {
  public:
    using Observer = std::function<bool(const rpca::Progress&)>;
    virtual ~Separator() = default;

    /// [frame][value], of the extents that it was made for, or of any number of frames that follow
    /// those of the call before with --online. Of the median, and of frames that follow, the
    /// outcome says only that it converged.
    virtual rpca::Outcome run(rpca::FramesView<const float, core::Host> frames,
                              rpca::FramesView<float, core::Host> background,
                              const Observer& observe) = 0;
};

/// `cpu` must outlive it.
std::unique_ptr<Separator> make_separator(core::Cpu& cpu, index_t frames, index_t values,
                                          const BgsubOptions& options);

/// Bytes that it takes for each value of a frame, its own copies included.
index_t separator_bytes(const BgsubOptions& options);

}  // namespace aperture::apps
