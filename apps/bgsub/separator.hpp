// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "aperture/rpca/clip_background.hpp"
#include "aperture/rpca/mask.hpp"
#include "apps/bgsub/options.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// Finds masks on an executor that still has frames and backgrounds.
class MaskFinder {
  public:
    virtual ~MaskFinder() = default;

    /// Masks of the frames of the separator's last background. Scales are those of these frames.
    /// Stores the differences [frame][channel][row][column] unless they are empty. Returns the
    /// threshold as rpca::find_masks does.
    virtual double find(const rpca::MaskParameters& parameters,
                        core::View<float, 4, core::Host> differences,
                        rpca::MasksView<core::Host> masks) = 0;
    /// Time of the copies from the executor in the last call.
    virtual double transfer_ms() const = 0;
};

/// Parts of the time of a call.
struct SeparatorTimes {
    double transfer_ms = 0;   ///< copies to and from the executor
    double stabilise_ms = 0;  ///< finding the camera's motion and moving frames
};

/// Computes the background of frames on an executor, in a common frame if their camera moves. Input
/// and output are in host memory, [frame][channel][row][column].
class Separator {
  public:
    using Observer = std::function<bool(const rpca::Progress&)>;
    virtual ~Separator() = default;

    /// Takes the frames of a window, which must outlive their use, and finds the motion of their
    /// camera unless the options have none. Throws core::UnfitDevice if the GPU has too little
    /// memory.
    virtual void take(core::View<const float, 4, core::Host> frames) = 0;
    /// The camera of these frames; nullptr if it does not move.
    virtual const rpca::CameraPath* camera() const = 0;
    /// Finds their background, which is to be in `background` after `finish`. Where there is a mask
    /// finder, it may be empty: nothing is copied then. For the median, only `converged` of the
    /// outcome is set.
    virtual rpca::Outcome run(core::View<float, 4, core::Host> background,
                              const Observer& observe) = 0;
    /// Makes the background what each frame sees of it, corrected by that of the clip: this one
    /// unless it is nullptr, or if its camera moves one of the first frames and the samples.
    virtual void finish(const rpca::ClipBackground* clip) = 0;
    /// Changes rpca::Parameters::lambda of the runs that follow; the median has none.
    virtual void set_lambda(double lambda) = 0;
    /// nullptr where masks are to be found on the host.
    virtual MaskFinder* mask_finder() = 0;
    /// Of the last `take`, `run` or `finish`.
    virtual SeparatorTimes times() const = 0;
};

/// Separators of one executor for --method rpca and median.
struct Separators {
    /// Bytes of main memory that a separator allocates, including its own copies.
    std::function<index_t(index_t frames, index_t values)> host_bytes;
    std::function<std::unique_ptr<Separator>()> make;
};

/// The executors, the options and the samples of the whole clip, if there are some, must outlive
/// the result and its separators. `cpu` has the work that is not the executor's.
template <class Executor>
Separators separators_on(Executor& executor, core::Cpu& cpu, const BgsubOptions& options,
                         core::View<const float, 4, core::Host> samples = {});

/// The choice of --device, or the CPU for a method that only the CPU supports. Throws
/// core::InvalidArgument if the GPU was requested for such a method.
DeviceChoice device_for(const BgsubOptions& options, Console& console);

}  // namespace aperture::apps
