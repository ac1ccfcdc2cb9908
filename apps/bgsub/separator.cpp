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

/// What the solver keeps of each value: M and W; for a QR, W side by side, and what becomes of it.
double solver_copies(rpca::Svd svd) {
    constexpr double swept = 2;
    switch (svd) {
        case rpca::Svd::tsqr:
            // The chunks' triangles, of hundreds of frames as much as W.
            return swept + 2;
        case rpca::Svd::caqr:
            // What the panels leave, their reflectors, and what Q would be applied to.
            return swept + 3.5;
        case rpca::Svd::cholqr2:
        case rpca::Svd::blas2:
            return swept + 2.25;
        case rpca::Svd::gram:
            break;
    }
    return swept;
}

}  // namespace

std::unique_ptr<Separator> make_separator(core::Cpu& cpu, index_t frames, index_t values,
                                          const BgsubOptions& options) {
    if (options.method == BackgroundMethod::median) return std::make_unique<MedianBackground>(cpu);
    if (options.precision == SolvePrecision::fp64) {
        return std::make_unique<PreciseLowRankBackground>(cpu, frames, values, options.parameters);
    }
    return std::make_unique<LowRankBackground>(cpu, frames, values, options.parameters);
}

index_t separator_bytes(const BgsubOptions& options) {
    if (options.method == BackgroundMethod::median) return 0;
    const double copies = solver_copies(options.parameters.svd);
    constexpr double converted_copies = 2;
    return static_cast<index_t>(options.precision == SolvePrecision::fp64
                                    ? (copies + converted_copies) * sizeof(double)
                                    : copies * sizeof(float));
}

}  // namespace aperture::apps
