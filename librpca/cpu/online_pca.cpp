// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/online_pca.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "aperture/core/shape.hpp"
#include "librpca/cpu/ghosts.hpp"
#include "librpca/cpu/pass.hpp"
#include "librpca/cpu/projected_matrix.hpp"

namespace aperture::rpca {
namespace {

using core::Pack;

constexpr index_t most_rank = 16;
constexpr int lanes = core::lanes<float>;
constexpr index_t most_parts = 32;
/// Damping of a regression step, relative to the mean eigenvalue of U^T U, for nearly dependent
/// columns of U.
constexpr double damping = 1e-3;
/// Columns of U with a smaller share of the trace of A stay almost unchanged.
constexpr double least_use = 1e-6;
/// The batch solution needs accuracy well below a grey level only.
constexpr double batch_tolerance = 1e-4;

/// Elements of U below which a pass is shorter than the start of a team of threads, some 2 ms on a
/// shared machine.
constexpr index_t least_for_a_team = 1 << 22;

using Coefficients = std::array<double, most_rank>;
using Square = std::array<std::array<double, most_rank>, most_rank>;

/// Sums of one part or of all parts.
struct Sums {
    Coefficients products{};  ///< U^T clipped residual
    Square gram{};            ///< U^T U, upper triangle
    double frame = 0;         ///< sum of the frame's values; not finite if one of them is not
};

/// Solves (gram + damping) x = right by Cholesky. Returns 0 if the basis is 0.
Coefficients solved(const Square& gram, const Coefficients& right, index_t rank) {
    double trace = 0;
    for (index_t i = 0; i < rank; ++i) trace += gram[i][i];
    if (trace == 0) return {};
    Square l{};
    Coefficients x{};
    for (index_t i = 0; i < rank; ++i) {
        for (index_t j = 0; j <= i; ++j) {
            double sum = gram[j][i] + (i == j ? damping * trace / static_cast<double>(rank) : 0);
            for (index_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
        }
        double sum = right[i];
        for (index_t k = 0; k < i; ++k) sum -= l[i][k] * x[k];
        x[i] = sum / l[i][i];
    }
    for (index_t i = rank; i-- > 0;) {
        double sum = x[i];
        for (index_t k = i + 1; k < rank; ++k) sum -= l[k][i] * x[k];
        x[i] = sum / l[i][i];
    }
    return x;
}

Pack<float> clipped(Pack<float> value, Pack<float> clip) {
    const Pack<float> below = value < clip ? value : clip;
    return below > -clip ? below : -clip;
}

}  // namespace

void validate(const OnlineParameters& parameters) {
    core::expects(parameters.rank > 0 && parameters.rank <= most_rank,
                  "rank must be between 1 and ", most_rank, ", is ", parameters.rank);
    core::expects(parameters.clip > 0 && std::isfinite(parameters.clip),
                  "clip must be positive, is ", parameters.clip);
    core::expects(parameters.memory >= 1 && std::isfinite(parameters.memory),
                  "memory must be at least 1 frame, is ", parameters.memory);
    core::expects(parameters.patience >= parameters.memory && std::isfinite(parameters.patience),
                  "patience must be at least the memory of ", parameters.memory, " frames, is ",
                  parameters.patience);
    core::expects(parameters.sweeps > 0, "sweeps must be positive, are ", parameters.sweeps);
}

struct OnlinePca::State {
    core::Cpu& cpu;
    index_t values;
    OnlineParameters parameters;
    index_t padded;  ///< values rounded up to whole packs
    /// [pack][column][lane]: a pass reads both contiguously.
    core::Array<float, 1> basis;
    core::Array<float, 1>
        targets;  ///< B: sum of the frames' non-sparse parts times their coefficients
    core::Array<float, 1> frame;
    core::Array<float, 1> ground;
    core::Array<float, 1> clips;  ///< of the values of a frame
    cpu::Ghosts ghosts;
    std::vector<Sums> part_sums;
    Square use{};  ///< A: sum of c c^T
    Square gram{};
    Coefficients coefficients{};
    bool begun = false;
    bool learnt = true;  ///< from the last frame

    State(core::Cpu& executor, index_t count, const OnlineParameters& chosen)
        : cpu(executor),
          values(count),
          parameters(chosen),
          padded(core::round_up(count, lanes)),
          basis({padded * chosen.rank}),
          targets({padded * chosen.rank}),
          frame({padded}),
          ground({padded}),
          clips({padded}),
          ghosts(OnlinePca::ghost_frames) {
        part_sums.resize(static_cast<std::size_t>(std::min(most_parts, padded / lanes)));
    }

    double keep() const { return 1 - 1 / parameters.memory; }  ///< of the statistics, per frame
    index_t index_of(index_t value, index_t column) const {
        return (value / lanes * parameters.rank + column) * lanes + value % lanes;
    }
    /// Updates A with the coefficients.
    void use_coefficients() {
        for (index_t i = 0; i < parameters.rank; ++i) {
            for (index_t j = 0; j < parameters.rank; ++j) {
                use[i][j] = keep() * use[i][j] + coefficients[i] * coefficients[j];
            }
        }
    }

    /// Calls work(first value, end, sums) for each part.
    template <class Work>
    Sums sum_parts(const Work& work) {
        const auto parts = static_cast<index_t>(part_sums.size());
        const index_t packs = padded / lanes;
        // Without checkpoints, where a pass over U could end half-way.
#pragma omp parallel for schedule(dynamic) \
    num_threads(basis.size() < least_for_a_team ? 1 : cpu.threads())
        for (index_t part = 0; part < parts; ++part) {
            Sums& sums = part_sums[static_cast<std::size_t>(part)];
            sums = {};
            work(packs * part / parts * lanes, packs * (part + 1) / parts * lanes, sums);
        }
        Sums total;
        for (const Sums& sums : part_sums) {
            total.frame += sums.frame;
            for (index_t i = 0; i < parameters.rank; ++i) {
                total.products[i] += sums.products[i];
                for (index_t j = i; j < parameters.rank; ++j) total.gram[i][j] += sums.gram[i][j];
            }
        }
        return total;
    }

    Sums load(Frame from) {
        return sum_parts([&](index_t first, index_t end, Sums& sums) {
            const index_t count = std::min(end, values) - first;
            std::copy_n(&from(first), count, &frame(first));
            std::fill_n(frame.data() + first + count, end - first - count, 0.0F);
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (index_t v = first; v < end; ++v) sum += frame.data()[v];
            sums.frame = static_cast<double>(sum);
        });
    }

    /// U^T times the residual of the frame, clipped as the foreground of the frame before asks for:
    /// who stands still would change the coefficients in all frames.
    Sums regress() {
        const index_t rank = parameters.rank;
        return sum_parts([&](index_t first, index_t end, Sums& sums) {
            Pack<float> products[most_rank] = {};
            for (index_t v = first; v < end; v += lanes) {
                const float* const u = basis.data() + v * rank;
                Pack<float> rest = core::load(frame.data() + v);
                for (index_t k = 0; k < rank; ++k) {
                    rest -= core::load(u + k * lanes) *
                            core::broadcast(static_cast<float>(coefficients[k]));
                }
                rest = clipped(rest, core::load(clips.data() + v));
                for (index_t k = 0; k < rank; ++k) products[k] += core::load(u + k * lanes) * rest;
            }
            for (index_t k = 0; k < rank; ++k) sums.products[k] = cpu::sum_of<float>(products[k]);
        });
    }

    void store(Part to, index_t at, Pack<float> value) const {
        if (to.empty()) return;
        if (at + lanes <= values) {
            core::store(&to(at), value);
        } else {
            for (index_t l = 0; at + l < values; ++l) to(at + l) = value[l];
        }
    }

    /// U c, and what of the frame is sparse.
    void subtract(Part background, Part sparse) {
        const index_t rank = parameters.rank;
        const Pack<float> clip = core::broadcast(static_cast<float>(parameters.clip));
        sum_parts([&](index_t first, index_t end, Sums& /*sums*/) {
            for (index_t v = first; v < end; v += lanes) {
                const float* const u = basis.data() + v * rank;
                Pack<float> of_pack{};
                for (index_t k = 0; k < rank; ++k) {
                    of_pack += core::load(u + k * lanes) *
                               core::broadcast(static_cast<float>(coefficients[k]));
                }
                const Pack<float> rest = core::load(frame.data() + v) - of_pack;
                core::store(ground.data() + v, of_pack);
                store(background, v, of_pack);
                store(sparse, v, rest - clipped(rest, clip));
            }
        });
    }

    /// How far values may be from the background that learns from them.
    void find_clips(Mask foreground) {
        const auto clip = static_cast<float>(parameters.clip);
        const auto slow =
            static_cast<float>(parameters.clip * parameters.memory / parameters.patience);
        std::fill(clips.begin(), clips.end(), clip);
        if (foreground.empty()) return;
        const auto [rows, columns] = foreground.extent;
        for (index_t v = 0; v < values; ++v) {
            if (foreground(v / columns % rows, v % columns) != 0) clips(v) = slow;
        }
    }

    /// Makes the frame the background of a pixel: its rows of U are the smallest with U c = z.
    void replace(index_t pixel, index_t pixels) {
        double square = 0;
        for (index_t k = 0; k < parameters.rank; ++k) square += coefficients[k] * coefficients[k];
        if (square == 0) return;
        for (index_t v = pixel; v < values; v += pixels) {
            for (index_t k = 0; k < parameters.rank; ++k) {
                basis(index_of(v, k)) =
                    static_cast<float>(static_cast<double>(frame(v)) * coefficients[k] / square);
            }
            for (index_t k = 0; k < parameters.rank; ++k) {
                double target = 0;
                for (index_t j = 0; j < parameters.rank; ++j) {
                    target += static_cast<double>(basis(index_of(v, j))) * use[j][k];
                }
                targets(index_of(v, k)) = static_cast<float>(target);
            }
        }
    }

    /// Updates B with the frame and with forgetting. Then each column of U in turn is fitted to A
    /// and B with the other columns fixed (Feng, Xu & Yan 2013, algorithm 2).
    Sums learn() {
        const index_t rank = parameters.rank;
        const Pack<float> kept = core::broadcast(static_cast<float>(keep()));
        double trace = 0;
        for (index_t k = 0; k < rank; ++k) trace += use[k][k];
        std::array<float, most_rank> step{};
        for (index_t k = 0; k < rank && trace > 0; ++k) {
            step[k] = static_cast<float>(1 / (use[k][k] + least_use * trace));
        }
        return sum_parts([&](index_t first, index_t end, Sums& sums) {
            Pack<float> products[most_rank][most_rank] = {};
            for (index_t v = first; v < end; v += lanes) {
                float* const of_basis = basis.data() + v * rank;
                float* const of_targets = targets.data() + v * rank;
                Pack<float> u[most_rank];
                Pack<float> of_pack{};
                for (index_t k = 0; k < rank; ++k) {
                    u[k] = core::load(of_basis + k * lanes);
                    of_pack += u[k] * core::broadcast(static_cast<float>(coefficients[k]));
                }
                const Pack<float> learnt_pack =
                    of_pack +
                    clipped(core::load(frame.data() + v) - of_pack, core::load(clips.data() + v));
                for (index_t k = 0; k < rank; ++k) {
                    const Pack<float> target =
                        core::load(of_targets + k * lanes) * kept +
                        learnt_pack * core::broadcast(static_cast<float>(coefficients[k]));
                    core::store(of_targets + k * lanes, target);
                    Pack<float> left = target;
                    for (index_t j = 0; j < rank; ++j) {
                        left -= u[j] * core::broadcast(static_cast<float>(use[k][j]));
                    }
                    u[k] += left * core::broadcast(step[k]);
                    core::store(of_basis + k * lanes, u[k]);
                }
                for (index_t i = 0; i < rank; ++i) {
                    for (index_t j = i; j < rank; ++j) products[i][j] += u[i] * u[j];
                }
            }
            for (index_t i = 0; i < rank; ++i) {
                for (index_t j = i; j < rank; ++j)
                    sums.gram[i][j] = cpu::sum_of<float>(products[i][j]);
            }
        });
    }
};

OnlinePca::OnlinePca(core::Cpu& cpu, index_t values, const OnlineParameters& parameters) {
    validate(parameters);
    core::expects(values > 0, "frames must have at least 1 value");
    state_ = core::owned(std::make_unique<State>(cpu, values, parameters));
}

Outcome OnlinePca::begin(FramesView<const float, core::Host> frames,
                         FramesView<float, core::Host> backgrounds) {
    State& s = *state_;
    const index_t count = frames.extent[0];
    const index_t rank = s.parameters.rank;
    Parameters batch;
    batch.solver = Solver::accaltproj;
    batch.rank = std::min(rank, count);
    batch.tolerance = batch_tolerance;
    core::expects(count > 0, "begin requires at least 1 frame");
    core::expects_shape("frames", frames, {count, s.values}, core::Strides::unit_last);
    core::expects_shape("backgrounds", backgrounds, {count, s.values}, core::Strides::unit_last);
    s.begun = false;
    AlternatingProjections<float, cpu::ProjectedMatrix<float>> projections(s.cpu, count, s.values,
                                                                           batch);
    const Outcome outcome = projections.run(frames, backgrounds, {}, {});

    const auto clip = static_cast<float>(s.parameters.clip);
    const auto keep = static_cast<float>(s.keep());
    s.use = {};
    s.gram = {};
    s.coefficients = {};
    std::fill(s.basis.begin(), s.basis.end(), 0.0F);
    std::fill(s.targets.begin(), s.targets.end(), 0.0F);
    for (index_t k = 0; k < outcome.rank; ++k) {
        for (index_t v = 0; v < s.values; ++v) {
            s.basis(s.index_of(v, k)) = projections.basis(v, k);
        }
    }
    for (index_t f = 0; f < count; ++f) {
        s.cpu.checkpoint();
        for (index_t k = 0; k < outcome.rank; ++k) {
            s.coefficients[k] = projections.coefficient(k, f);
        }
        s.use_coefficients();
        for (index_t v = 0; v < s.values; ++v) {
            const float ground = backgrounds(f, v);
            const float learnt = ground + std::clamp(frames(f, v) - ground, -clip, clip);
            for (index_t k = 0; k < outcome.rank; ++k) {
                float& target = s.targets(s.index_of(v, k));
                target = keep * target + learnt * static_cast<float>(s.coefficients[k]);
            }
        }
    }
    for (index_t k = 0; k < outcome.rank; ++k) s.gram[k][k] = 1;
    s.begun = true;
    s.learnt = true;
    s.ghosts.forget();
    s.find_clips({});
    return outcome;
}

void OnlinePca::begin(Frame background) {
    State& s = *state_;
    core::expects_shape("background", background, {s.values}, core::Strides::unit_last);
    cpu::expects_numbers(FramesView<const float, core::Host>(background.data, {1, s.values}));
    s.begun = true;
    s.learnt = true;
    s.ghosts.forget();
    s.find_clips({});
    s.use = {};
    s.gram = {};
    s.coefficients = {};
    std::fill(s.basis.begin(), s.basis.end(), 0.0F);
    std::fill(s.targets.begin(), s.targets.end(), 0.0F);
    // U c is the background with c = 1, of as many frames as are remembered.
    s.coefficients[0] = 1;
    s.use[0][0] = s.parameters.memory;
    for (index_t v = 0; v < s.values; ++v) {
        const float value = background(v);
        s.basis(s.index_of(v, 0)) = value;
        s.targets(s.index_of(v, 0)) = static_cast<float>(s.use[0][0]) * value;
        s.gram[0][0] += static_cast<double>(value) * static_cast<double>(value);
    }
}

void OnlinePca::next(Frame frame, Part background, Part sparse) {
    State& s = *state_;
    core::expects(s.begun, "begin must be called before next");
    const auto check = [&](const char* name, const auto& view) {
        core::expects_shape(name, view, {s.values}, core::Strides::unit_last);
    };
    check("frame", frame);
    check("background", background);
    if (!sparse.empty()) check("sparse", sparse);
    s.cpu.checkpoint();
    if (!std::isfinite(s.load(frame).frame)) {
        cpu::expects_numbers(FramesView<const float, core::Host>(frame.data, {1, s.values}));
    }
    const index_t rank = s.parameters.rank;
    for (int sweep = 0; sweep < s.parameters.sweeps; ++sweep) {
        const Coefficients change = solved(s.gram, s.regress().products, rank);
        for (index_t k = 0; k < rank; ++k) s.coefficients[k] += change[k];
    }
    s.subtract(background, sparse);
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
    s.use_coefficients();
    s.gram = s.learn().gram;
    // A change of the light: the next coefficients follow all values.
    if (s.ghosts.wide()) s.find_clips({});
    s.learnt = true;
}

}  // namespace aperture::rpca
