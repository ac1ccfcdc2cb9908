// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/online_pca.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "aperture/core/shape.hpp"
#include "librpca/cpu/ghosts.hpp"
#include "librpca/cpu/pass.hpp"

namespace aperture::rpca {
namespace {

using core::Pack;

constexpr int lanes = core::lanes<float>;
constexpr index_t most_parts = 32;
/// Of the robust regression for a frame's coefficient.
constexpr int regression_steps = 5;
/// Values of a frame below which a pass is shorter than the start of a team of threads, some 2 ms
/// on a shared machine.
constexpr index_t least_for_a_team = 1 << 22;

Pack<float> clipped(Pack<float> value, Pack<float> clip) {
    const Pack<float> below = value < clip ? value : clip;
    return below > -clip ? below : -clip;
}

}  // namespace

void validate(const OnlineParameters& parameters) {
    core::expects(parameters.clip > 0 && std::isfinite(parameters.clip),
                  "clip must be positive, is ", parameters.clip);
    core::expects(parameters.memory >= 1 && std::isfinite(parameters.memory),
                  "memory must be at least 1 frame, is ", parameters.memory);
    core::expects(parameters.patience >= parameters.memory && std::isfinite(parameters.patience),
                  "patience must be at least the memory of ", parameters.memory, " frames, is ",
                  parameters.patience);
}

struct OnlinePca::State {
    core::Cpu& cpu;
    index_t values;
    OnlineParameters parameters;
    core::Array<float, 1> basis;  ///< u; arrays have whole packs, with zeros behind the values
    core::Array<float, 1> frame;
    core::Array<float, 1> ground;
    core::Array<float, 1> clips;  ///< of the values of a frame
    cpu::Ghosts ghosts;
    std::vector<double> part_sums;
    double coefficient = 1;  ///< c
    double use = 0;          ///< A: sum of c^2
    double square = 0;       ///< u^T u
    bool begun = false;
    bool learnt = true;  ///< from the last frame

    State(core::Cpu& executor, index_t count, const OnlineParameters& chosen)
        : cpu(executor),
          values(count),
          parameters(chosen),
          basis({core::round_up(count, lanes)}),
          frame(basis.extent()),
          ground(basis.extent()),
          clips(basis.extent()),
          ghosts(OnlinePca::ghost_frames) {
        part_sums.resize(static_cast<std::size_t>(std::min(most_parts, basis.size() / lanes)));
    }

    /// Calls work(first value, end), which returns a sum, for each part.
    template <class Work>
    double sum_parts(const Work& work) {
        const auto parts = static_cast<index_t>(part_sums.size());
        const index_t packs = basis.size() / lanes;
        // Without checkpoints, where a pass over u could end half-way.
#pragma omp parallel for schedule(dynamic) \
    num_threads(basis.size() < least_for_a_team ? 1 : cpu.threads())
        for (index_t part = 0; part < parts; ++part) {
            part_sums[static_cast<std::size_t>(part)] =
                work(packs * part / parts * lanes, packs * (part + 1) / parts * lanes);
        }
        return std::accumulate(part_sums.begin(), part_sums.end(), 0.0);
    }

    /// Returns the sum of the frame's values, which is not finite if one of them is not.
    double load(Frame from) {
        return sum_parts([&](index_t first, index_t end) {
            const index_t count = std::min(end, values) - first;
            std::copy_n(&from(first), count, &frame(first));
            std::fill_n(frame.data() + first + count, end - first - count, 0.0F);
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (index_t v = first; v < end; ++v) sum += frame.data()[v];
            return static_cast<double>(sum);
        });
    }

    Pack<float> ground_at(index_t v) const {
        return core::load(basis.data() + v) * core::broadcast(static_cast<float>(coefficient));
    }
    /// The frame's difference from the background, clipped as the foreground of the frame before
    /// asks for: who stands still would change the coefficient in all frames.
    Pack<float> rest_at(index_t v) const {
        return clipped(core::load(frame.data() + v) - ground_at(v), core::load(clips.data() + v));
    }

    void regress() {
        const double product = sum_parts([&](index_t first, index_t end) {
            Pack<float> sum{};
            for (index_t v = first; v < end; v += lanes) {
                sum += core::load(basis.data() + v) * rest_at(v);
            }
            return cpu::sum_of<float>(sum);
        });
        if (square > 0) coefficient += product / square;
    }

    void subtract(Part background) {
        sum_parts([&](index_t first, index_t end) {
            for (index_t v = first; v < end; v += lanes) {
                core::store(ground.data() + v, ground_at(v));
            }
            std::copy(ground.data() + first, ground.data() + std::min(end, values),
                      background.data + first);
            return 0.0;
        });
    }

    /// Makes the background learn from all values alike.
    void clear_clips() {
        std::fill(clips.begin(), clips.end(), static_cast<float>(parameters.clip));
    }
    /// How far values may be from the background that learns from them.
    void find_clips(Mask foreground) {
        clear_clips();
        const auto slow =
            static_cast<float>(parameters.clip * parameters.memory / parameters.patience);
        if (foreground.empty()) return;
        const auto [rows, columns] = foreground.extent;
        float* clip = clips.data();
        for (index_t first = 0; first < values; first += foreground.size()) {
            for (index_t row = 0; row < rows; ++row, clip += columns) {
                const std::uint8_t* const moves = &foreground(row, 0);
                for (index_t x = 0; x < columns; ++x) clip[x] = moves[x] != 0 ? slow : clip[x];
            }
        }
    }

    /// Makes the frame the background of a pixel.
    void replace(index_t pixel, index_t pixels) {
        if (coefficient == 0) return;
        for (index_t v = pixel; v < values; v += pixels) {
            basis(v) = static_cast<float>(static_cast<double>(frame(v)) / coefficient);
        }
    }

    /// Feng, Xu & Yan 2013, algorithm 2, for one column: with B = u A before and
    /// B' = keep B + (c u + rest) c, A' = keep A + c^2, u' = B' / A' is u + rest c / A'.
    void learn() {
        use = (1 - 1 / parameters.memory) * use + coefficient * coefficient;
        const double gain = use > 0 ? coefficient / use : 0;
        const Pack<float> gains = core::broadcast(static_cast<float>(gain));
        square = sum_parts([&](index_t first, index_t end) {
            Pack<float> sum{};
            for (index_t v = first; v < end; v += lanes) {
                const Pack<float> u = core::load(basis.data() + v) + rest_at(v) * gains;
                core::store(basis.data() + v, u);
                sum += u * u;
            }
            return cpu::sum_of<float>(sum);
        });
    }
};

OnlinePca::OnlinePca(core::Cpu& cpu, index_t values, const OnlineParameters& parameters) {
    validate(parameters);
    core::expects(values > 0, "frames must have at least 1 value");
    state_ = core::owned(std::make_unique<State>(cpu, values, parameters));
}

void OnlinePca::begin(Frame background) {
    State& s = *state_;
    core::expects_shape("background", background, {s.values}, core::Strides::unit_last);
    cpu::expects_numbers(FramesView<const float, core::Host>(background.data, {1, s.values}));
    s.begun = true;
    s.learnt = true;
    s.ghosts.forget();
    s.clear_clips();
    // As many frames as are remembered were the background with c = 1.
    s.coefficient = 1;
    s.use = s.parameters.memory;
    s.square = 0;
    std::fill(s.basis.begin(), s.basis.end(), 0.0F);
    for (index_t v = 0; v < s.values; ++v) {
        const float value = background(v);
        s.basis(v) = value;
        s.square += static_cast<double>(value) * static_cast<double>(value);
    }
}

void OnlinePca::next(Frame frame, Part background) {
    State& s = *state_;
    core::expects(s.begun, "begin must be called before next");
    core::expects_shape("frame", frame, {s.values}, core::Strides::unit_last);
    core::expects_shape("background", background, {s.values}, core::Strides::unit_last);
    s.cpu.checkpoint();
    if (!std::isfinite(s.load(frame))) {
        cpu::expects_numbers(FramesView<const float, core::Host>(frame.data, {1, s.values}));
    }
    for (int step = 0; step < regression_steps; ++step) s.regress();
    s.subtract(background);
    s.learnt = false;
}

void OnlinePca::learn(Mask foreground) {
    State& s = *state_;
    core::expects(!s.learnt, "learn requires a frame of next");
    if (!foreground.empty()) {
        const index_t pixels = foreground.size();
        core::expects(s.values % pixels == 0, "foreground of ", pixels,
                      " pixels does not fit frames of ", s.values, " values");
        const auto picture = [&](const core::Array<float, 1>& of) {
            return cpu::ConstPicture(
                of.data(), {s.values / pixels, foreground.extent[0], foreground.extent[1]});
        };
        s.ghosts.find(picture(s.frame), picture(s.ground), foreground,
                      [&](index_t pixel) { s.replace(pixel, pixels); });
    }
    s.find_clips(foreground);
    s.learn();
    // A change of the light: the next coefficients follow all values.
    if (s.ghosts.wide()) s.clear_clips();
    s.learnt = true;
}

}  // namespace aperture::rpca
