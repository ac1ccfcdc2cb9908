// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/global_motion.hpp"

#include <algorithm>

#include "aperture/core/array.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/signal/resample.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libcore/rounding.hpp"

namespace aperture::signal {
namespace {

using core::Cpu;
using core::Host;
using core::index_t;
using core::View;

/// Levels are at least this large, and fit all of a model only if they are twice as large.
constexpr index_t least_level = 24;

/// Normal matrix of a cell over its energy.
template <MotionModel model>
void multiply_cell(const MotionLevel& level, const MotionPass& pass, int cell, float* products) {
    const int first_row = cell / level.cell_columns() * motion_cell;
    const int first_column = cell % level.cell_columns() * motion_cell;
    std::fill_n(products, products_of(model), 0.0F);
    float energy = 0;
    for (int y = first_row; y < std::min(first_row + motion_cell, level.rows); ++y) {
        for (int x = first_column; x < std::min(first_column + motion_cell, level.columns); ++x) {
            const index_t at = index_t{y} * level.stride + x;
            const float weight = pixel_energy(level.down[at], level.across[at], level.energy);
            float derivatives[unknowns_of(model)];
            derivatives_at<model>(level.down[at], level.across[at], level.values[at],
                                  pass.first_u + pass.unit_y * static_cast<float>(y),
                                  pass.first_v + pass.unit_x * static_cast<float>(x), derivatives);
            float* to = products;
            for (int i = 0; i < unknowns_of(model); ++i) {
                for (int j = 0; j <= i; ++j) *to++ += derivatives[i] * derivatives[j];
            }
            energy += weight;
        }
    }
    if (!(energy > 0)) return;
    for (int i = 0; i < products_of(model); ++i) products[i] /= energy;
}

/// Sums of a cell, and its residuals into `counts`.
template <MotionModel model>
CellSums<model> sum_cell(const MotionLevel& level, const MotionPass& pass, const float* frame,
                         int cell, unsigned* counts) {
    constexpr int n = unknowns_of(model);
    const int first_row = cell / level.cell_columns() * motion_cell;
    const int first_column = cell % level.cell_columns() * motion_cell;
    float gradient[n][motion_cell] = {};
    float weights[motion_cell] = {};
    float slopes[motion_cell] = {};
    float inliers[motion_cell] = {};
    float common[motion_cell] = {};
    for (int y = first_row; y < std::min(first_row + motion_cell, level.rows); ++y) {
        const index_t at = index_t{y} * level.stride + first_column;
        const float* const value = level.values + at;
        const float* const down = level.down + at;
        const float* const across = level.across + at;
        const float u = pass.first_u + pass.unit_y * static_cast<float>(y);
        // In loops that g++ vectorises.
        int first[motion_cell];
        float fraction_down[motion_cell], fraction_across[motion_cell];
#pragma omp simd
        for (int i = 0; i < motion_cell; ++i) {
            const MotionPlace place = motion_place(level, pass, y, first_column + i);
            first[i] = place.first;
            fraction_down[i] = place.down;
            fraction_across[i] = place.across;
        }
        float residuals[motion_cell], weighted[motion_cell], energy[motion_cell];
        const auto add_pixels = [&](const auto& first_of) __attribute__((always_inline)) {
#pragma omp simd
            for (int i = 0; i < motion_cell; ++i) {
                residuals[i] = motion_residual(pass, frame, level.columns, first_of(i),
                                               fraction_down[i], fraction_across[i], value[i]);
                const BiweightOf of(residuals[i] * pass.inverse_width);
                weighted[i] = of.weight > 0 ? of.weight * residuals[i] : 0.0F;
                energy[i] = pixel_energy(down[i], across[i], level.energy);
                weights[i] += of.weight * energy[i];
                slopes[i] += of.slope * energy[i];
                inliers[i] += of.weight > 0 ? 1.0F : 0.0F;
                common[i] += is_residual(residuals[i]) ? 1.0F : 0.0F;
            }
        };
        // Mostly neighbours lie beside one another in the frame, too: loads instead of gathers.
        bool beside = first[0] >= 0;
        for (int i = 1; i < motion_cell; ++i) beside &= first[i] == first[0] + i;
        if (beside) {
            add_pixels([at = first[0]](int i) { return at + i; });
        } else {
            add_pixels([&first](int i) { return first[i]; });
        }
        for (int i = 0; i < motion_cell; ++i) {
            float derivatives[n];
            derivatives_at<model>(down[i], across[i], value[i], u,
                                  pass.first_v + pass.unit_x * static_cast<float>(first_column + i),
                                  derivatives);
            for (int k = 0; k < n; ++k) gradient[k][i] += weighted[i] * derivatives[k];
        }
        const int columns = std::min(motion_cell, level.columns - first_column);
        for (int i = 0; i < columns; ++i) {
            if (is_residual(residuals[i]) && energy[i] > 2 * level.energy) {
                ++counts[residual_bin(residuals[i])];
            }
        }
    }
    const auto sum = [](const float(&lanes)[motion_cell]) {
        float all = 0;
        for (const float lane : lanes) all += lane;
        return all;
    };
    CellSums<model> sums;
    for (int k = 0; k < n; ++k) sums.gradient[k] = sum(gradient[k]);
    sums.weight = sum(weights);
    sums.slope = sum(slopes);
    sums.inliers = sum(inliers);
    sums.inside = sum(common);
    return sums;
}

/// Mean agreement of the level with `frame`, shifted by (dy, dx).
float mean_agreement(const MotionLevel& level, const float* frame, int dy, int dx) {
    const index_t next = level.columns;
    const auto by_down = static_cast<float>(0.5 / level.down_by);
    const auto by_across = static_cast<float>(0.5 / level.across_by);
    float sum = 0;
    int rows = 0;
    const int begin = std::max(1, 1 - dx);
    const int end = std::min(level.columns, level.columns - dx) - 1;
    for (int y = std::max(1, 1 - dy); y < std::min(level.rows, level.rows - dy) - 1; ++y) {
        const float* const down = level.down + index_t{y} * level.stride;
        const float* const across = level.across + index_t{y} * level.stride;
        const float* const moved = frame + (y + dy) * next + dx;
#pragma omp simd reduction(+ : sum)
        for (int x = begin; x < end; ++x) {
            sum += agreement(down[x], across[x], by_down * (moved[x + next] - moved[x - next]),
                             by_across * (moved[x + 1] - moved[x - 1]), level.energy);
        }
        ++rows;
    }
    return sum / static_cast<float>(rows * (end - begin));
}

template <MotionModel model>
void add_cell(const CellSums<model>& cell, const float* products, MotionSums& sums) {
    for (int i = 0; i < products_of(model); ++i) {
        sums.normal[i] += static_cast<double>(cell.weight * products[i]);
        sums.slopes[i] += static_cast<double>(cell.slope * products[i]);
    }
    for (int i = 0; i < unknowns_of(model); ++i) {
        sums.gradient[i] += static_cast<double>(cell.gradient[i]);
    }
    sums.inliers += static_cast<double>(cell.inliers);
    sums.inside += static_cast<double>(cell.inside);
    double* spread = sums.spread;
    for (int i = 0; i < unknowns_of(model); ++i) {
        for (int j = 0; j <= i; ++j) {
            *spread++ +=
                static_cast<double>(cell.gradient[i]) * static_cast<double>(cell.gradient[j]);
        }
    }
}

/// The pyramid of the reference with what does not depend on frames.
class MotionReference {
  public:
    explicit MotionReference(const std::vector<MotionLevel>& levels) {
        for (const MotionLevel& level : levels) {
            Planes planes{level,
                          core::Array<float, 3>({3, level.cell_rows() * motion_cell, level.stride}),
                          core::Array<float, 2>({level.cells(), products_of(level.model)})};
            planes.level.values = &planes.planes(0, 0, 0);
            planes.level.down = &planes.planes(1, 0, 0);
            planes.level.across = &planes.planes(2, 0, 0);
            planes.level.products = planes.products.data();
            levels_.push_back(std::move(planes));
        }
    }

    /// Finest first.
    int levels() const { return static_cast<int>(levels_.size()); }
    const MotionLevel& level(int level) const {
        return levels_[static_cast<std::size_t>(level)].level;
    }

    /// Returns the mean.
    double set(Cpu& cpu, View<const float, 2, Host> reference) {
        core::Array<float, 2> image(reference.extent);
        gaussian_blur(cpu, reference, motion_blur, image);
        double sum = 0;
        for (const float value : image) sum += static_cast<double>(value);
        const double mean = sum / static_cast<double>(image.size());
        for (Planes& planes : levels_) {
            if (planes.level.down_by != 1) {
                core::Array<float, 2> coarser({planes.level.rows, planes.level.columns});
                downsample(cpu, std::as_const(image).view(), coarser);
                image = std::move(coarser);
            }
            set(cpu, planes, std::as_const(image).view(), mean);
        }
        return mean;
    }

  private:
    struct Planes {
        MotionLevel level;
        core::Array<float, 3> planes;    ///< values, down, across
        core::Array<float, 2> products;  ///< [cell][product]
    };

    static void set(Cpu& cpu, Planes& planes, View<const float, 2, Host> image, double mean) {
        std::fill(planes.planes.begin(), planes.planes.end(), 0.0F);
        MotionLevel& level = planes.level;
        level.mean = static_cast<float>(mean);
        core::for_each_task(cpu, level.rows, 0, [&](index_t y, std::byte*) {
            for (int x = 0; x < level.columns; ++x) {
                const SplinePixel pixel =
                    spline_pixel(level, image, level.mean, static_cast<int>(y), x);
                planes.planes(0, y, x) = pixel.value;
                planes.planes(1, y, x) = pixel.down;
                planes.planes(2, y, x) = pixel.across;
            }
        });
        double sum = 0;
        for (index_t i = 0; i < planes.planes.size() / 3; ++i) {
            sum += static_cast<double>(pixel_energy(level.down[i], level.across[i], 0));
        }
        level.energy = level_energy(level, sum, mean);
        if (level.energy == 0) std::fill(planes.planes.begin(), planes.planes.end(), 0.0F);
        const MotionPass places(level, MotionState{});
        with_model(level.model, [&](auto model) {
            core::for_each_task(cpu, level.cells(), 0, [&](index_t cell, std::byte*) {
                multiply_cell<model()>(level, places, static_cast<int>(cell),
                                       &planes.products(cell, 0));
            });
        });
    }

    std::vector<Planes> levels_;
};

}  // namespace

std::vector<MotionLevel> motion_levels(const core::Extents<2>& extent, MotionModel model) {
    core::expects(extent[0] >= 16 && extent[1] >= 16, "motion fit: images of ",
                  core::extents_text(extent), ", expected at least 16 x 16");
    const auto rows = static_cast<double>(extent[0]);
    const auto columns = static_cast<double>(extent[1]);
    std::vector<MotionLevel> levels;
    core::Extents<2> size = extent;
    do {
        const bool all = levels.empty() || std::min(size[0], size[1]) >= 2 * least_level;
        MotionLevel level{};
        level.model = all ? model : MotionModel::shift;
        level.rows = static_cast<int>(size[0]);
        level.columns = static_cast<int>(size[1]);
        level.stride = static_cast<int>(core::round_up(size[1], index_t{motion_cell}));
        level.down_by = rows / static_cast<double>(size[0]);
        level.across_by = columns / static_cast<double>(size[1]);
        level.centre_y = rows / 2;
        level.centre_x = columns / 2;
        level.unit = (rows + columns) / 4;
        levels.push_back(level);
        size = {size[0] / 2, size[1] / 2};
    } while (std::min(size[0], size[1]) >= least_level);
    return levels;
}

GlobalMotion motion_of(const MotionState& state, MotionModel model, double mean,
                       const PixelMap& start) {
    GlobalMotion motion;
    motion.iterations = state.iterations;
    motion.converged = state.converged && !state.failed;
    motion.map = motion.converged ? state.map : start;
    if (!motion.converged) return motion;
    motion.gain = state.gain;
    motion.offset = state.offset - state.gain * mean;
    motion.deviation = state.scale;
    motion.inliers = state.inliers;
    for (int i = 0; i < motion_parameters(model); ++i) {
        for (int j = 0; j <= i; ++j) {
            motion.covariance[i][j] = motion.covariance[j][i] =
                state.covariance[i * (i + 1) / 2 + j];
        }
    }
    return motion;
}

namespace {

/// Fits one frame after the other.
class FrameFit {
  public:
    FrameFit(Cpu& cpu, const MotionReference& reference) : cpu_(cpu), reference_(reference) {
        for (int i = 0; i < reference.levels(); ++i) {
            const MotionLevel& level = reference.level(i);
            pyramid_.emplace_back(core::Extents<2>{level.rows, level.columns});
        }
    }

    void run(View<const float, 2, Host> frame, bool search, MotionState& state) {
        gaussian_blur(cpu_, frame, motion_blur, pyramid_[0]);
        for (std::size_t l = 1; l < pyramid_.size(); ++l) {
            downsample(cpu_, std::as_const(pyramid_[l - 1]).view(), pyramid_[l]);
        }
        if (search) find_shift(state);
        fit(state);
    }

  private:
    void find_shift(MotionState& state) {
        const MotionLevel& level = reference_.level(reference_.levels() - 1);
        const int down = tried_shifts(level.rows);
        const int across = tried_shifts(level.columns);
        scores_.resize(static_cast<std::size_t>(down) * static_cast<std::size_t>(across));
        core::for_each_task(cpu_, down, 0, [&](index_t row, std::byte*) {
            for (int column = 0; column < across; ++column) {
                scores_[static_cast<std::size_t>(row * across + column)] = mean_agreement(
                    level, pyramid_.back().data(), tried_shift(static_cast<int>(row), level.rows),
                    tried_shift(column, level.columns));
            }
        });
        const auto best = std::max_element(scores_.begin(), scores_.end()) - scores_.begin();
        start_shift(level, static_cast<int>(best), state);
    }

    void fit(MotionState& state) {
        for (int l = reference_.levels() - 1; l >= 0; --l) {
            const MotionLevel& level = reference_.level(l);
            const float* const frame = pyramid_[static_cast<std::size_t>(l)].data();
            begin_level(state);
            with_model(level.model, [&](auto model) {
                // The first pass only finds the residuals' scale; later ones have that of the last.
                state.scale = pass<model()>(level, state, frame, first_rows);
                for (bool more = true; more;) {
                    const double scale = pass<model()>(level, state, frame, 1);
                    more = take_step(level, sums_, state);
                    state.scale = scale;
                }
            });
            end_level(state);
        }
        if (!state.failed) finish_motion(reference_.level(0), sums_, state);
    }

    /// Sums of every `step`-th row of cells. Returns the scale of their residuals.
    template <MotionModel model>
    double pass(const MotionLevel& level, const MotionState& state, const float* frame,
                index_t step) {
        const MotionPass values(level, state);
        const int across = level.cell_columns();
        const index_t rows = core::ceil_div(index_t{level.cell_rows()}, step);
        cells_.resize(static_cast<std::size_t>(rows * across) * sizeof(CellSums<model>));
        auto* const cells = reinterpret_cast<CellSums<model>*>(cells_.data());
        counts_.reshape({rows, residual_bins});
        core::for_each_task(cpu_, rows, 0, [&](index_t row, std::byte*) {
            unsigned* const counts = &counts_(row, 0);
            std::fill_n(counts, residual_bins, 0U);
            for (int column = 0; column < across; ++column) {
                const auto cell = static_cast<int>(row * step) * across + column;
                cells[row * across + column] = sum_cell<model>(level, values, frame, cell, counts);
            }
        });
        for (index_t row = 1; row < rows; ++row) {
            for (index_t i = 0; i < residual_bins; ++i) counts_(0, i) += counts_(row, i);
        }
        sums_ = {};
        for (index_t i = 0; i < rows * across; ++i) {
            add_cell<model>(cells[i], level.products + i * products_of(model), sums_);
        }
        return residual_scale(counts_.data(), level);
    }

    Cpu& cpu_;
    const MotionReference& reference_;
    std::vector<core::Array<float, 2>> pyramid_;
    std::vector<float> scores_;
    std::vector<std::byte> cells_;
    core::Array<unsigned, 2> counts_;  ///< [row of cells][bin]
    MotionSums sums_{};
};

}  // namespace

template <>
class MotionFrames<Cpu> {
  public:
    MotionFrames(Cpu& cpu, const std::vector<MotionLevel>& levels)
        : cpu_(cpu), reference_(levels) {}

    double set(View<const float, 2, Host> image) { return reference_.set(cpu_, image); }

    void run(View<const float, 3, Host> frames, bool search, std::vector<MotionState>& states) {
        if (frames.extent[0] == 1) {
            FrameFit(cpu_, reference_).run(frames[0], search, states.front());
            return;
        }
        // Whole frames side by side: steps are too short to wait for threads after each.
        const index_t at_once =
            std::clamp<index_t>(frames.extent[0] / (8 * index_t{cpu_.threads()}), 1, 8);
        const index_t tasks = core::ceil_div(frames.extent[0], at_once);
        core::for_each_task(cpu_, tasks, 0, [&](index_t task, std::byte*) {
            Cpu one(1);
            FrameFit fit(one, reference_);
            const index_t end = std::min(frames.extent[0], (task + 1) * at_once);
            for (index_t i = task * at_once; i < end; ++i) {
                fit.run(frames[i], search, states[static_cast<std::size_t>(i)]);
            }
        });
    }

  private:
    Cpu& cpu_;
    MotionReference reference_;
};

template class MotionFit<Cpu>;

}  // namespace aperture::signal
