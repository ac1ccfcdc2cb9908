// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/separator.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

#include "aperture/core/error.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/rpca/temporal_median.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using ConstFrames = rpca::FramesView<const float, Host>;
using Frames = rpca::FramesView<float, Host>;

class MedianBackground final : public Separator {
  public:
    explicit MedianBackground(core::Cpu& cpu) : cpu_(cpu) {}

    rpca::Outcome run(ConstFrames frames, Frames background, const Observer&) override {
        const auto [count, values] = background.extent;
        rpca::temporal_median(cpu_, frames, {background.data, {values}});
        for (index_t i = 1; i < count; ++i) {
            std::copy(background.data, background.data + values, background.data + i * values);
        }
        rpca::Outcome outcome;
        outcome.converged = true;
        return outcome;
    }

  private:
    core::Cpu& cpu_;
};

class LowRankBackground final : public Separator {
  public:
    LowRankBackground(core::Cpu& cpu, index_t frames, index_t values,
                      const rpca::Parameters& parameters)
        : pursuit_(cpu, frames, values, parameters) {}

    rpca::Outcome run(ConstFrames frames, Frames background, const Observer& observe) override {
        return pursuit_.run(frames, background, {}, observe);
    }

  private:
    rpca::RobustPca<float, core::Cpu> pursuit_;
};

class PreciseLowRankBackground final : public Separator {
  public:
    PreciseLowRankBackground(core::Cpu& cpu, index_t frames, index_t values,
                             const rpca::Parameters& parameters)
        : pursuit_(cpu, frames, values, parameters),
          frames_({frames, values}),
          background_({frames, values}) {}

    rpca::Outcome run(ConstFrames frames, Frames background, const Observer& observe) override {
        std::copy(frames.data, frames.data + frames.size(), frames_.begin());
        const rpca::Outcome outcome =
            pursuit_.run(std::as_const(frames_).view(), background_.view(), {}, observe);
        std::transform(background_.begin(), background_.end(), background.data,
                       [](double value) { return static_cast<float>(value); });
        return outcome;
    }

  private:
    rpca::RobustPca<double, core::Cpu> pursuit_;
    core::Array<double, 2> frames_;
    core::Array<double, 2> background_;
};

/// The first frames together, those of later calls one by one.
class FollowedBackground final : public Separator {
  public:
    FollowedBackground(core::Cpu& cpu, index_t values, const rpca::OnlineParameters& parameters)
        : pca_(cpu, values, parameters) {}

    rpca::Outcome run(ConstFrames frames, Frames background, const Observer&) override {
        if (!begun_) {
            begun_ = true;
            return pca_.begin(frames, background);
        }
        const auto [count, values] = background.extent;
        for (index_t i = 0; i < count; ++i) {
            pca_.next({frames.data + i * values, {values}},
                      {background.data + i * values, {values}}, {});
        }
        rpca::Outcome outcome;
        outcome.converged = true;
        return outcome;
    }

  private:
    rpca::OnlinePca pca_;
    bool begun_ = false;
};

#if APERTURE_CUDA
template <class T>
class GpuLowRankBackground final : public Separator {
  public:
    GpuLowRankBackground(core::Gpu& gpu, index_t frames, index_t values,
                         const rpca::Parameters& parameters)
        : gpu_(gpu), pursuit_(gpu, frames, values, parameters), on_device_({frames, values}) {
        if constexpr (!std::is_same_v<T, float>) converted_ = core::Array<T, 2>({frames, values});
    }

    /// Of the GPU's memory.
    static index_t bytes(core::Gpu& gpu, index_t frames, index_t values,
                         const rpca::Parameters& parameters) {
        using Pca = rpca::RobustPca<T, core::Gpu>;
        return Pca::workspace_bytes(gpu, frames, values, parameters).device +
               frames * values * static_cast<index_t>(sizeof(T));
    }

    rpca::Outcome run(ConstFrames frames, Frames background, const Observer& observe) override {
        const core::Stopwatch there;
        if constexpr (std::is_same_v<T, float>) {
            core::copy<T, 2, core::Strided>(gpu_, frames, on_device_.view());
        } else {
            std::copy(frames.data, frames.data + frames.size(), converted_.begin());
            core::copy<T, 2, core::Strided>(gpu_, std::as_const(converted_).view(),
                                            on_device_.view());
        }
        gpu_.synchronize();
        transfer_ms_ = there.ms();
        const rpca::Outcome outcome =
            pursuit_.run(std::as_const(on_device_).view(), on_device_.view(), {}, observe);
        const core::Stopwatch back;
        if constexpr (std::is_same_v<T, float>) {
            core::copy<T, 2, core::Strided>(gpu_, std::as_const(on_device_).view(), background);
            gpu_.synchronize();
        } else {
            core::copy<T, 2, core::Strided>(gpu_, std::as_const(on_device_).view(),
                                            converted_.view());
            gpu_.synchronize();
            std::transform(converted_.begin(), converted_.end(), background.data,
                           [](T value) { return static_cast<float>(value); });
        }
        transfer_ms_ += back.ms();
        return outcome;
    }
    double transfer_ms() const override { return transfer_ms_; }

  private:
    core::Gpu& gpu_;
    rpca::RobustPca<T, core::Gpu> pursuit_;
    core::Array<T, 2, core::Device> on_device_;
    core::Array<T, 2> converted_;  ///< where T is not that of frames
    double transfer_ms_ = 0;
};

template <class T>
std::unique_ptr<Separator> gpu_separator(core::Gpu& gpu, index_t frames, index_t values,
                                         const rpca::Parameters& parameters) {
    const auto needed =
        static_cast<double>(GpuLowRankBackground<T>::bytes(gpu, frames, values, parameters));
    const auto free = static_cast<double>(gpu.free_memory());
    std::ostringstream words;
    words << std::setprecision(3) << frames << " frames of " << values << " values need "
          << needed / 1e9 << " GB of the GPU's memory, but " << free / 1e9
          << " are free; try --window, --scale or --device cpu";
    if (needed > free) throw core::UnfitDevice(words.str());
    return std::make_unique<GpuLowRankBackground<T>>(gpu, frames, values, parameters);
}
#endif

/// What a GPU cannot do; empty where there is none.
std::string for_cpu_only(const BgsubOptions& options) {
    if (options.method == BackgroundMethod::median) return "--method median";
    if (options.online) return "--online";
    return "";
}

bool chooses_gpu(const BgsubOptions& options, Console& console) {
    const std::string reason = for_cpu_only(options);
    if (reason.empty()) return use_gpu(options.run.device, console);
    core::expects(options.run.device != DeviceChoice::gpu, "--device gpu: ", reason,
                  " is done by a CPU alone");
    if (options.run.device == DeviceChoice::automatic) {
        console.note("device: CPU (" + reason + " is done there alone)");
    }
    return false;
}

}  // namespace

struct SeparationDevice::StartedGpu {
#if APERTURE_CUDA
    core::Gpu gpu;
#endif
};

SeparationDevice::SeparationDevice(core::Cpu& cpu, const BgsubOptions& options, Console& console)
    : cpu_(cpu), options_(options) {
    if (chooses_gpu(options, console)) gpu_ = std::make_unique<StartedGpu>();
}
SeparationDevice::~SeparationDevice() = default;

std::string SeparationDevice::name() const {
#if APERTURE_CUDA
    if (gpu_) return gpu_->gpu.name();
#endif
    return cpu_.name();
}

std::unique_ptr<Separator> SeparationDevice::separator(index_t frames, index_t values) {
    const bool precise = options_.precision == SolvePrecision::fp64;
#if APERTURE_CUDA
    if (gpu_) {
        return precise ? gpu_separator<double>(gpu_->gpu, frames, values, options_.parameters)
                       : gpu_separator<float>(gpu_->gpu, frames, values, options_.parameters);
    }
#endif
    if (options_.method == BackgroundMethod::median) {
        return std::make_unique<MedianBackground>(cpu_);
    }
    if (options_.online) {
        return std::make_unique<FollowedBackground>(cpu_, values, options_.following);
    }
    if (precise) {
        return std::make_unique<PreciseLowRankBackground>(cpu_, frames, values,
                                                          options_.parameters);
    }
    return std::make_unique<LowRankBackground>(cpu_, frames, values, options_.parameters);
}

index_t SeparationDevice::host_bytes(index_t frames, index_t values) const {
    if (options_.method == BackgroundMethod::median) return 0;
    const bool precise = options_.precision == SolvePrecision::fp64;
    const index_t converted = frames * values * static_cast<index_t>(sizeof(double));
    // What the solver needs of main memory beside a GPU's is little.
    if (gpu_) return precise ? converted : 0;
    rpca::Parameters parameters = options_.parameters;
    if (options_.online) {
        parameters.solver = rpca::Solver::accaltproj;
        parameters.rank = options_.following.rank;
    }
    const auto workspace = precise ? rpca::RobustPca<double, core::Cpu>::workspace_bytes
                                   : rpca::RobustPca<float, core::Cpu>::workspace_bytes;
    return workspace(cpu_, frames, values, parameters).host + (precise ? 2 * converted : 0);
}

}  // namespace aperture::apps
