// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "aperture/rpca/mask.hpp"
#include "apps/bgsub/options.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// Computes the background of frames on an executor; input and output are in host memory.
class Separator {
  public:
    using Observer = std::function<bool(const rpca::Progress&)>;
    virtual ~Separator() = default;

    /// Frames and background are [frame][value], of the extents given to the constructor. For the
    /// median, only `converged` of the outcome is set. Where `finds_masks`, the background may be
    /// empty: it is not copied then.
    virtual rpca::Outcome run(rpca::FramesView<const float, core::Host> frames,
                              rpca::FramesView<float, core::Host> background,
                              const Observer& observe) = 0;
    /// Whether `find_masks` may be called: frames and background of the last run are still there.
    virtual bool finds_masks() const { return false; }
    /// Masks of the frames of the last run. Scales are those of these frames. Stores the
    /// differences [frame][channel][row][column] unless they are empty. Returns the threshold as
    /// rpca::find_masks does.
    virtual double find_masks(const rpca::MaskParameters& /*parameters*/,
                              core::View<float, 4, core::Host> /*differences*/,
                              rpca::MasksView<core::Host> /*masks*/) {
        return 0;
    }
    /// Time of the copies to and from the executor in the last call.
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
