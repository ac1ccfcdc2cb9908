// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/separator.hpp"

#include <algorithm>
#include <concepts>
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

/// T: the solver's precision.
template <class Executor, class T>
class LowRankBackground final : public Separator {
    using Pca = rpca::RobustPca<T, Executor>;
    static constexpr bool on_gpu = is_gpu<Executor>;
    static constexpr bool converts = !std::same_as<T, float>;

  public:
    LowRankBackground(Executor& executor, index_t frames, index_t values,
                      const rpca::Parameters& parameters)
        : executor_(executor), pursuit_(executor, frames, values, parameters) {
        if constexpr (converts) converted_ = core::Array<T, 2>({frames, values});
        if constexpr (on_gpu) resident_ = core::Array<T, 2, core::Device>({frames, values});
    }

    static rpca::WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values,
                                      const rpca::Parameters& parameters) {
        rpca::WorkspaceBytes bytes = Pca::workspace_bytes(executor, frames, values, parameters);
        const index_t of_frames = frames * values * static_cast<index_t>(sizeof(T));
        if constexpr (converts) bytes.host += of_frames;
        if constexpr (on_gpu) bytes.device += of_frames;
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
    double transfer_ms() const override { return transfer_ms_; }

  private:
    rpca::Outcome solve(rpca::FramesView<const T, Host> frames,
                        rpca::FramesView<T, Host> background, const Observer& observe) {
        if constexpr (on_gpu) {
            const auto resident = std::as_const(resident_).view();
            const core::Stopwatch there;
            core::copy<T, 2, core::Strided>(executor_, frames, resident_.view());
            executor_.synchronize();
            transfer_ms_ = there.ms();
            const rpca::Outcome outcome = pursuit_.run(resident, resident_.view(), {}, observe);
            const core::Stopwatch back;
            core::copy<T, 2, core::Strided>(executor_, resident, background);
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
