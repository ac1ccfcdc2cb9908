// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/separator.hpp"

#include <algorithm>

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

// What the solver keeps of each value: M and W, or M, U and Y.
constexpr index_t solver_copies(const BgsubOptions& options) {
    return options.parameters.rank > 0 && !options.online ? 3 : 2;
}

}  // namespace

std::unique_ptr<Separator> make_separator(core::Cpu& cpu, index_t frames, index_t values,
                                          const BgsubOptions& options) {
    if (options.method == BackgroundMethod::median) return std::make_unique<MedianBackground>(cpu);
    if (options.online) {
        return std::make_unique<FollowedBackground>(cpu, values, options.following);
    }
    if (options.precision == SolvePrecision::fp64) {
        return std::make_unique<PreciseLowRankBackground>(cpu, frames, values, options.parameters);
    }
    return std::make_unique<LowRankBackground>(cpu, frames, values, options.parameters);
}

index_t separator_bytes(const BgsubOptions& options) {
    if (options.method == BackgroundMethod::median) return 0;
    constexpr index_t converted_copies = 2;
    return options.precision == SolvePrecision::fp64
               ? (solver_copies(options) + converted_copies) * static_cast<index_t>(sizeof(double))
               : solver_copies(options) * static_cast<index_t>(sizeof(float));
}

}  // namespace aperture::apps
