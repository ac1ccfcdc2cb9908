// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "apps/bgsub/options.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// Computes the background of frames on an executor; input and output are in host memory.
class Separator {
  public:
    using Observer = std::function<bool(const rpca::Progress&)>;
    virtual ~Separator() = default;

    /// Frames and background are [frame][value], of the extents given to the constructor. For the
    /// median, only `converged` of the outcome is set.
    virtual rpca::Outcome run(rpca::FramesView<const float, core::Host> frames,
                              rpca::FramesView<float, core::Host> background,
                              const Observer& observe) = 0;
    /// Time of the copies to and from the executor in the last run.
    virtual double transfer_ms() const { return 0; }
};

/// Separators of one executor for --method rpca and median.
struct Separators {
    /// Bytes of main memory that a separator allocates, including its own copies.
    std::function<index_t(index_t frames, index_t values)> host_bytes;
    /// Throws core::UnfitDevice if the GPU has too little memory.
    std::function<std::unique_ptr<Separator>(index_t frames, index_t values)> make;
};

/// The executor and the options must outlive the result and its separators.
template <class Executor>
Separators separators_on(Executor& executor, const BgsubOptions& options);

/// The choice of --device, or the CPU for a method that only the CPU supports. Throws
/// core::InvalidArgument if the GPU was requested for such a method.
DeviceChoice device_for(const BgsubOptions& options, Console& console);

}  // namespace aperture::apps
