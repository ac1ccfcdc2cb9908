// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "apps/bgsub/options.hpp"
#include "apps/common/console.hpp"

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
    /// What copies to and from the device took of the last run.
    virtual double transfer_ms() const { return 0; }
};

/// Where backgrounds are found.
class SeparationDevice {
  public:
    /// Takes the GPU, or `cpu`, and says which where that was left open. Throws core::DeviceError
    /// where the GPU that was asked for cannot be used, and core::InvalidArgument where a CPU has
    /// to do what was asked for.
    SeparationDevice(core::Cpu& cpu, const BgsubOptions& options, Console& console);
    ~SeparationDevice();
    SeparationDevice(const SeparationDevice&) = delete;
    SeparationDevice& operator=(const SeparationDevice&) = delete;

    /// What the host does, whatever the device.
    core::Cpu& cpu() const { return cpu_; }
    std::string name() const;
    /// 0 where it is a GPU.
    int threads() const { return gpu_ ? 0 : cpu_.threads(); }
    /// Bytes of main memory that a separator takes for so many frames, its own copies included.
    index_t host_bytes(index_t frames, index_t values) const;
    /// The device must outlive it. Throws core::UnfitDevice where a GPU's memory does not suffice.
    std::unique_ptr<Separator> separator(index_t frames, index_t values);

  private:
    core::Cpu& cpu_;
    const BgsubOptions& options_;
    struct StartedGpu;
    std::unique_ptr<StartedGpu> gpu_;
};

}  // namespace aperture::apps
