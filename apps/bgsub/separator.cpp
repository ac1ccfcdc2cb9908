// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/separator.hpp"

#include <algorithm>
#include <concepts>
#include <iomanip>
#include <sstream>
#include <type_traits>
#include <utility>
#include <variant>

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

/// Masks of frames and backgrounds that are in a GPU's memory.
class ResidentMasks {
    using Device = core::Device;

  public:
    ResidentMasks() = default;
    ResidentMasks(index_t frames, index_t values)
        : frames_({frames, values}), differences_({frames, values}) {}

    static index_t bytes(index_t frames, index_t values) {
        // Masks have a value a pixel, of which there are as many as values at most.
        constexpr index_t of_value = 2 * sizeof(float) + sizeof(std::uint8_t);
        return frames * values * of_value;
    }

    core::Array<float, 2, Device>& frames() { return frames_; }

    double find(core::Gpu& gpu, rpca::FramesView<const float, Device> backgrounds,
                const rpca::MaskParameters& parameters, index_t rows, index_t columns) {
        const auto [count, values] = backgrounds.extent;
        const core::Extents<4> extent{count, values / (rows * columns), rows, columns};
        masks_.reshape({count, rows, columns});
        rpca::subtract_backgrounds(gpu, std::as_const(frames_).view(), backgrounds,
                                   differences_.view());
        const rpca::DifferencesView<Device> differences(differences_.data(), extent);
        if (parameters.follows_pixels()) {
            scales_.reshape({rows, columns});
            rpca::pixel_scales(gpu, differences, scales_.view());
        }
        return rpca::find_masks(gpu,
                                {differences,
                                 std::as_const(scales_).view(),
                                 {frames_.data(), extent},
                                 {backgrounds.data, extent}},
                                parameters, masks_.view());
    }
    /// Of the last call of `find`.
    void copy(core::Gpu& gpu, core::View<float, 4, Host> differences,
              rpca::MasksView<Host> masks) const {
        if (!differences.empty()) {
            core::copy<float, 4, core::Strided>(gpu, {differences_.data(), differences.extent},
                                                differences);
        }
        core::copy<std::uint8_t, 3, core::Strided>(gpu, masks_.view(), masks);
        gpu.synchronize();
    }

  private:
    core::Array<float, 2, Device> frames_;
    core::Array<float, 2, Device> differences_;
    core::Array<float, 2, Device> scales_;
    core::Array<std::uint8_t, 3, Device> masks_;
};

/// T: the solver's precision.
template <class Executor, class T>
class LowRankBackground final : public Separator {
    using Pca = rpca::RobustPca<T, Executor>;
    static constexpr bool on_gpu = is_gpu<Executor>;
    static constexpr bool converts = !std::same_as<T, float>;
    static constexpr bool masks_on_gpu = on_gpu && !converts;

  public:
    LowRankBackground(Executor& executor, index_t frames, index_t values,
                      const rpca::Parameters& parameters)
        : executor_(executor), pursuit_(executor, frames, values, parameters) {
        if constexpr (converts) converted_ = core::Array<T, 2>({frames, values});
        if constexpr (on_gpu) resident_ = core::Array<T, 2, core::Device>({frames, values});
        if constexpr (masks_on_gpu) masks_ = ResidentMasks(frames, values);
    }

    static rpca::WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values,
                                      const rpca::Parameters& parameters) {
        rpca::WorkspaceBytes bytes = Pca::workspace_bytes(executor, frames, values, parameters);
        const index_t of_frames = frames * values * static_cast<index_t>(sizeof(T));
        if constexpr (converts) bytes.host += of_frames;
        if constexpr (on_gpu) bytes.device += of_frames;
        if constexpr (masks_on_gpu) bytes.device += ResidentMasks::bytes(frames, values);
        return bytes;
    }

    rpca::Outcome run(ConstFrames frames, Frames background, const Observer& observe) override {
        if constexpr (converts) {
            std::copy(frames.data, frames.data + frames.size(), converted_.begin());
            const rpca::Outcome outcome = solve(converted_, converted_, observe);
            std::transform(converted_.begin(), converted_.end(), background.data,
                           [](T value) { return static_cast<float>(value); });
            return outcome;
        } else {
            return solve(frames, background, observe);
        }
    }
    bool finds_masks() const override { return masks_on_gpu; }
    double find_masks(const rpca::MaskParameters& parameters,
                      core::View<float, 4, Host> differences,
                      rpca::MasksView<Host> masks) override {
        if constexpr (masks_on_gpu) {
            const double threshold = masks_.find(executor_, std::as_const(resident_).view(),
                                                 parameters, masks.extent[1], masks.extent[2]);
            executor_.synchronize();
            const core::Stopwatch back;
            masks_.copy(executor_, differences, masks);
            transfer_ms_ = back.ms();
            return threshold;
        }
        return Separator::find_masks(parameters, differences, masks);
    }
    double transfer_ms() const override { return transfer_ms_; }

  private:
    rpca::Outcome solve(rpca::FramesView<const T, Host> frames,
                        rpca::FramesView<T, Host> background, const Observer& observe) {
        if constexpr (on_gpu) {
            // Masks need the frames afterwards.
            auto& loaded = [&]() -> core::Array<T, 2, core::Device>& {
                if constexpr (masks_on_gpu) return masks_.frames();
                return resident_;
            }();
            const core::Stopwatch there;
            core::copy<T, 2, core::Strided>(executor_, frames, loaded.view());
            executor_.synchronize();
            transfer_ms_ = there.ms();
            const rpca::Outcome outcome =
                pursuit_.run(std::as_const(loaded).view(), resident_.view(), {}, observe);
            if (background.empty()) return outcome;
            const core::Stopwatch back;
            core::copy<T, 2, core::Strided>(executor_, std::as_const(resident_).view(), background);
            executor_.synchronize();
            transfer_ms_ += back.ms();
            return outcome;
        } else {
            return pursuit_.run(frames, background, {}, observe);
        }
    }

    Executor& executor_;
    Pca pursuit_;
    core::Array<T, 2> converted_;                           ///< empty if T is float
    core::Array<T, 2, typename Executor::Space> resident_;  ///< empty on the CPU
    std::conditional_t<masks_on_gpu, ResidentMasks, std::monostate> masks_;
    double transfer_ms_ = 0;
};

template <class Executor, class T>
std::unique_ptr<Separator> low_rank_background(Executor& executor, index_t frames, index_t values,
                                               const rpca::Parameters& parameters) {
    using Background = LowRankBackground<Executor, T>;
    if constexpr (is_gpu<Executor>) {
        const auto needed =
            static_cast<double>(Background::bytes(executor, frames, values, parameters).device);
        const auto free = static_cast<double>(executor.free_memory());
        std::ostringstream words;
        words << std::setprecision(3) << frames << " frames of " << values << " values need "
              << needed / 1e9 << " GB of GPU memory, but " << free / 1e9
              << " are free; try --window, --scale or --device cpu";
        if (needed > free) throw core::UnfitDevice(words.str());
    }
    return std::make_unique<Background>(executor, frames, values, parameters);
}

}  // namespace

template <class Executor>
Separators separators_on(Executor& executor, const BgsubOptions& options) {
    const auto host_bytes = [&](index_t frames, index_t values) -> index_t {
        if (options.method != BackgroundMethod::rpca) return 0;
        const auto bytes = options.precision == SolvePrecision::fp64
                               ? LowRankBackground<Executor, double>::bytes
                               : LowRankBackground<Executor, float>::bytes;
        return bytes(executor, frames, values, options.parameters).host;
    };
    const auto make = [&](index_t frames, index_t values) -> std::unique_ptr<Separator> {
        if constexpr (!is_gpu<Executor>) {
            if (options.method == BackgroundMethod::median) {
                return std::make_unique<MedianBackground>(executor);
            }
        }
        return options.precision == SolvePrecision::fp64
                   ? low_rank_background<Executor, double>(executor, frames, values,
                                                           options.parameters)
                   : low_rank_background<Executor, float>(executor, frames, values,
                                                          options.parameters);
    };
    return {host_bytes, make};
}
template Separators separators_on(core::Cpu&, const BgsubOptions&);
#if APERTURE_CUDA
template Separators separators_on(core::Gpu&, const BgsubOptions&);
#endif

DeviceChoice device_for(const BgsubOptions& options, Console& console) {
    if (options.method == BackgroundMethod::rpca) return options.common.device;
    const std::string reason =
        core::text("--method ", choice_name(background_choices, options.method));
    core::expects(options.common.device.kind != DeviceKind::gpu, "--device gpu: ", reason,
                  " runs only on the CPU");
    if (options.common.device.kind == DeviceKind::automatic) {
        console.detail("device: CPU (" + reason + " runs only there)");
    }
    return {DeviceKind::cpu};
}

}  // namespace aperture::apps
