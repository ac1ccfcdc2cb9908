// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "apps/bgsub/options.hpp"
#include "apps/common/executor_choice.hpp"

namespace aperture::apps {

/// Finds the background of frames on an executor, from and to the host's memory.
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
    /// Time of the copies to and from the executor in the last run.
    virtual double transfer_ms() const { return 0; }
};

/// Separators of one executor, by the method of the options.
struct Separators {
    /// Bytes of main memory that a separator of so many frames allocates, its own copies included.
    std::function<index_t(index_t frames, index_t values)> host_bytes;
    /// Throws core::UnfitDevice if a GPU's memory does not suffice.
    std::function<std::unique_ptr<Separator>(index_t frames, index_t values)> make;
};

/// The executor and the options must outlive the result and the separators that it makes.
template <class Executor>
Separators separators_on(Executor& executor, const BgsubOptions& options);

/// --device, or the CPU for a method that only a CPU runs, which the console says. Throws
/// core::InvalidArgument if such a method shall run on a GPU.
DeviceChoice device_for(const BgsubOptions& options, Console& console);

}  // namespace aperture::apps
