// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/separator.hpp"

#include <algorithm>
#include <concepts>
#include <iomanip>
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>
#include <variant>

#include "aperture/core/error.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/rpca/temporal_median.hpp"
#include "apps/bgsub/steady_frames.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using ConstFrames = core::View<const float, 4, Host>;
using Frames = core::View<float, 4, Host>;

class MedianBackground final : public Separator {
  public:
    MedianBackground(core::Cpu& cpu, const BgsubOptions& options, ConstFrames samples)
        : cpu_(cpu), frames_(cpu, cpu, options.stabilise, samples) {}

    void take(ConstFrames frames) override { frames_.load(frames); }
    const rpca::CameraPath* camera() const override { return frames_.camera(); }
    rpca::Outcome run(Frames background, const Observer&) override {
        return frames_.run(background, [&](auto frames, auto to) {
            const auto [count, values] = to.extent;
            rpca::temporal_median(cpu_, frames, {to.data, {values}});
            for (index_t i = 1; i < count; ++i) std::copy_n(to.data, values, to.data + i * values);
            rpca::Outcome outcome;
            outcome.converged = true;
            return outcome;
        });
    }
    void finish(const rpca::ClipBackground* clip) override { frames_.finish(clip); }
    void set_lambda(double /*lambda*/) override {}
    MaskFinder* mask_finder() override { return nullptr; }
    SeparatorTimes times() const override { return frames_.times(); }

  private:
    core::Cpu& cpu_;
    SteadyFrames<core::Cpu> frames_;
};

/// Masks of frames and backgrounds that are in a GPU's memory.
class ResidentMasks final : public MaskFinder {
    using Device = core::Device;

  public:
    ResidentMasks(core::Gpu& gpu, SteadyFrames<core::Gpu>& frames) : gpu_(gpu), frames_(frames) {}

    double find(const rpca::MaskParameters& parameters, Frames differences,
                rpca::MasksView<Host> masks) override {
        const auto frames = frames_.frames();
        const auto backgrounds = frames_.backgrounds();
        differences_.reshape(frames.extent);
        masks_.reshape(masks.extent);
        const auto values_of = [](const auto& all) {
            return SteadyFrames<core::Gpu>::values_of(all);
        };
        rpca::subtract_backgrounds(gpu_, values_of(frames), values_of(backgrounds),
                                   values_of(differences_.view()));
        const rpca::DifferencesView<Device> found = std::as_const(differences_).view();
        if (parameters.follows_pixels()) {
            scales_.reshape({masks.extent[1], masks.extent[2]});
            rpca::pixel_scales(gpu_, found, scales_.view());
        }
        const double threshold =
            rpca::find_masks(gpu_, {found, std::as_const(scales_).view(), frames, backgrounds},
                             parameters, masks_.view());
        gpu_.synchronize();
        const core::Stopwatch back;
        if (!differences.empty()) {
            core::copy<float, 4, core::Strided>(gpu_, differences_.view(), differences);
        }
        core::copy<std::uint8_t, 3, core::Strided>(gpu_, masks_.view(), masks);
        gpu_.synchronize();
        transfer_ms_ = back.ms();
        return threshold;
    }
    double transfer_ms() const override { return transfer_ms_; }

  private:
    core::Gpu& gpu_;
    SteadyFrames<core::Gpu>& frames_;
    core::Array<float, 4, Device> differences_;
    core::Array<float, 2, Device> scales_;
    core::Array<std::uint8_t, 3, Device> masks_;
    double transfer_ms_ = 0;
};

/// T: the solver's precision. Frames are moved, and masks found, in fp32: where the solver has
/// another precision, on the CPU.
template <class Executor, class T>
class LowRankBackground final : public Separator {
    using Pca = rpca::RobustPca<T, Executor>;
    static constexpr bool on_gpu = is_gpu<Executor>;
    static constexpr bool converts = !std::same_as<T, float>;
    using Mover = std::conditional_t<converts, core::Cpu, Executor>;
    static constexpr bool masks_on_gpu = is_gpu<Mover>;

  public:
    LowRankBackground(Executor& executor, Mover& mover, core::Cpu& cpu, const BgsubOptions& options,
                      ConstFrames samples)
        : executor_(executor),
          cpu_(cpu),
          parameters_(options.parameters),
          frames_(mover, cpu, options.stabilise, samples) {
        if constexpr (masks_on_gpu) masks_.emplace(executor, frames_);
    }

    static rpca::WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values,
                                      const rpca::Parameters& parameters) {
        rpca::WorkspaceBytes bytes = Pca::workspace_bytes(executor, frames, values, parameters);
        const index_t of_frames = frames * values * static_cast<index_t>(sizeof(T));
        if constexpr (converts) bytes.host += of_frames;
        if constexpr (on_gpu) bytes.device += of_frames;
        if constexpr (masks_on_gpu) {
            // Backgrounds, differences and masks: a value a pixel, of which there are as many as
            // values at most.
            constexpr index_t of_value = 2 * sizeof(float) + sizeof(std::uint8_t);
            bytes.device += frames * values * of_value;
        }
        return bytes;
    }

    void take(ConstFrames frames) override {
        if constexpr (on_gpu) {
            if (!pursuit_) expects_memory(frames.extent[0], frames.size() / frames.extent[0]);
        }
        transfer_ms_ = 0;
        frames_.load(frames);
        const core::Extents<2> extent = frames_.solved_extent();
        if (pursuit_ && extent == planned_) return;
        pursuit_.reset();
        pursuit_.emplace(executor_, extent[0], extent[1], parameters_);
        planned_ = extent;
    }
    const rpca::CameraPath* camera() const override { return frames_.camera(); }
    rpca::Outcome run(Frames background, const Observer& observe) override {
        return frames_.run(background, [&](auto frames, auto to) {
            if constexpr (converts) {
                return solve_converted(frames, to, observe);
            } else {
                return pursuit_->run(frames, to, {}, observe);
            }
        });
    }
    void finish(const rpca::ClipBackground* clip) override {
        transfer_ms_ = 0;
        frames_.finish(clip);
    }
    void set_lambda(double lambda) override {
        parameters_.lambda = lambda;
        if (pursuit_) pursuit_->set_lambda(lambda);
    }
    MaskFinder* mask_finder() override {
        if constexpr (masks_on_gpu) {
            return &*masks_;
        } else {
            return nullptr;
        }
    }
    SeparatorTimes times() const override {
        SeparatorTimes times = frames_.times();
        times.transfer_ms += transfer_ms_;
        return times;
    }

  private:
    void expects_memory(index_t frames, index_t values) {
        const auto needed =
            static_cast<double>(bytes(executor_, frames, values, parameters_).device);
        const auto free = static_cast<double>(executor_.free_memory());
        std::ostringstream words;
        words << std::setprecision(3) << frames << " frames of " << values << " values need "
              << needed / 1e9 << " GB of GPU memory, but " << free / 1e9
              << " are free; try --window, --scale or --device cpu";
        if (needed > free) throw core::UnfitDevice(words.str());
    }

    rpca::Outcome solve_converted(rpca::FramesView<const float, Host> frames,
                                  rpca::FramesView<float, Host> background,
                                  const Observer& observe) {
        converted_.reshape(frames.extent);
        std::copy_n(frames.data, frames.size(), converted_.begin());
        const rpca::Outcome outcome = solve(converted_, observe);
        std::transform(converted_.begin(), converted_.end(), background.data,
                       [](T value) { return static_cast<float>(value); });
        return outcome;
    }
    /// Frames become their background.
    rpca::Outcome solve(rpca::FramesView<T, Host> frames, const Observer& observe) {
        if constexpr (on_gpu) {
            resident_.reshape(frames.extent);
            const core::Stopwatch there;
            core::copy<T, 2, core::Strided>(executor_, frames, resident_.view());
            executor_.synchronize();
            transfer_ms_ = there.ms();
            const rpca::Outcome outcome =
                pursuit_->run(std::as_const(resident_).view(), resident_.view(), {}, observe);
            const core::Stopwatch back;
            core::copy<T, 2, core::Strided>(executor_, std::as_const(resident_).view(), frames);
            executor_.synchronize();
            transfer_ms_ += back.ms();
            return outcome;
        } else {
            return pursuit_->run(frames, frames, {}, observe);
        }
    }

    Executor& executor_;
    core::Cpu& cpu_;
    rpca::Parameters parameters_;
    SteadyFrames<Mover> frames_;
    std::optional<Pca> pursuit_;
    core::Extents<2> planned_{};                            ///< frames and values that it is for
    core::Array<T, 2> converted_;                           ///< empty if T is float
    core::Array<T, 2, typename Executor::Space> resident_;  ///< on a GPU if T is not float
    std::conditional_t<masks_on_gpu, std::optional<ResidentMasks>, std::monostate> masks_;
    double transfer_ms_ = 0;
};

}  // namespace

template <class Executor>
Separators separators_on(Executor& executor, core::Cpu& cpu, const BgsubOptions& options,
                         core::View<const float, 4, Host> samples) {
    const auto host_bytes = [&](index_t frames, index_t values) -> index_t {
        const bool moved_here = options.stabilise != rpca::Stabilise::off &&
                                (!is_gpu<Executor> || options.precision == SolvePrecision::fp64);
        // Frames and backgrounds in a common frame of usual size.
        const index_t moved =
            moved_here ? 3 * frames * values * static_cast<index_t>(sizeof(float)) : 0;
        if (options.method != BackgroundMethod::rpca) return moved;
        const auto bytes = options.precision == SolvePrecision::fp64
                               ? LowRankBackground<Executor, double>::bytes
                               : LowRankBackground<Executor, float>::bytes;
        return moved + bytes(executor, frames, values, options.parameters).host;
    };
    const auto make = [&, samples]() -> std::unique_ptr<Separator> {
        if (options.method == BackgroundMethod::median) {
            return std::make_unique<MedianBackground>(cpu, options, samples);
        }
        if (options.precision == SolvePrecision::fp64) {
            return std::make_unique<LowRankBackground<Executor, double>>(executor, cpu, cpu,
                                                                         options, samples);
        }
        return std::make_unique<LowRankBackground<Executor, float>>(executor, executor, cpu,
                                                                    options, samples);
    };
    return {host_bytes, make};
}
template Separators separators_on(core::Cpu&, core::Cpu&, const BgsubOptions&,
                                  core::View<const float, 4, Host>);
#if APERTURE_CUDA
template Separators separators_on(core::Gpu&, core::Cpu&, const BgsubOptions&,
                                  core::View<const float, 4, Host>);
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
