// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "libsignal/bicubic_sample.hpp"
#include "libsignal/shift_search.hpp"

namespace aperture::signal {

/// A similarity in complex numbers x + j y: v becomes shift + turn v.
struct ComplexSimilarity {
    std::complex<double> shift = 0;
    std::complex<double> turn = 1;

    explicit ComplexSimilarity(const Alignment& alignment)
        : shift(alignment.dx, alignment.dy),
          turn(std::polar(alignment.scale, -alignment.rotation * std::numbers::pi / 180)) {}
    /// After a change of v to `by` + (1 + `turned`) v.
    void follow(std::complex<double> by, std::complex<double> turned) {
        shift += turn * by;
        turn *= 1.0 + turned;
    }
    void store(Alignment& alignment) const {
        alignment.dy = shift.imag();
        alignment.dx = shift.real();
        alignment.rotation = -std::arg(turn) * 180 / std::numbers::pi;
        alignment.scale = std::abs(turn);
    }
};

/// Finds similarities.
template <class Executor>
class SimilaritySearch {
    using Space = typename Executor::Space;

  public:
    using Image = typename Registration<Executor>::Image;

    SimilaritySearch(Executor& executor, const core::Extents<2>& image)
        : executor_(executor),
          extent_(image),
          block_{std::max(image[0] / 4, least_block), std::max(image[1] / 4, least_block)},
          whole_(executor, image),
          of_block_(executor, block_),
          of_polar_(executor, polar),
          polar_a_(polar),
          polar_b_(polar),
          moved_(image) {}

    Alignment run(const Image& a, const Image& b) {
        Alignment found = find_turn(a, b);
        if (!found.found) return {};
        const auto outside = static_cast<float>(whole_.mean_b());
        move(executor_, b, pixel_map(found, extent_), outside, moved_.view());
        const Alignment rest = whole_.run(a, std::as_const(moved_).view());
        if (!rest.found) return {};
        ComplexSimilarity similarity(found);
        similarity.follow({rest.dx, rest.dy}, 0);
        similarity.store(found);
        constexpr int most_steps = 3;
        for (int step = 0; step < most_steps && found.found; ++step) {
            move(executor_, b, pixel_map(found, extent_), outside, moved_.view());
            if (refine(a, found)) break;
        }
        return found;
    }

  private:
    static constexpr index_t least_block = 32;
    static constexpr int positions = 5;  ///< of blocks along an axis
    static constexpr core::Extents<2> polar{polar_angles, polar_radii};

    /// Rotation and scale, to half a pixel of the polar coordinates.
    Alignment find_turn(const Image& a, const Image& b) {
        if (!whole_.polar_sizes(a, b, polar_a_.view(), polar_b_.view())) return {};
        transform_images(of_polar_, std::as_const(polar_a_).view(), std::as_const(polar_b_).view(),
                         OverlapTapers::of_round_rows(polar));
        of_polar_.cross();
        const core::Extents<2> peak = of_polar_.phase_peak(waves(of_polar_.padded(), {}, 0.6));
        const auto distance = [&](int d) { return signed_index(peak[d], polar[d]); };
        Alignment found;
        found.rotation = -180 * distance(0) / polar_angles;
        found.scale = std::pow(highest_radius / lowest_radius, -distance(1) / (polar_radii - 1));
        found.found = true;
        return found;
    }

    /// A block's place, and how far the moved b lies from a there: from the centre, in x + j y.
    struct BlockShift {
        std::complex<double> at, by;
        double variance;  ///< of both parts
        double correlation;
    };

    std::vector<BlockShift> block_shifts(const Image& a, const PixelMap& map) {
        std::vector<BlockShift> shifts;
        for (int j = 0; j < positions; ++j) {
            for (int i = 0; i < positions; ++i) {
                const index_t y = j * (extent_[0] - block_[0]) / (positions - 1);
                const index_t x = i * (extent_[1] - block_[1]) / (positions - 1);
                if (!is_inside(map, y, x)) continue;
                const auto part = [&](const Image& image) {
                    return Image(image.data + y * image.stride[0] + x, block_, image.stride);
                };
                const Alignment shift = of_block_.run(part(a), part(std::as_const(moved_).view()));
                if (!shift.found || std::hypot(shift.dy, shift.dx) > farthest_block) continue;
                const auto centre = [](index_t first, index_t count, index_t all) {
                    return static_cast<double>(first) + 0.5 * static_cast<double>(count - all);
                };
                // What blocks have beside noise, e.g. of interpolation.
                constexpr double least_variance = 0.002 * 0.002;
                shifts.push_back(
                    {{centre(x, block_[1], extent_[1]), centre(y, block_[0], extent_[0])},
                     {shift.dx, shift.dy},
                     least_variance + 0.5 * (shift.dy_deviation * shift.dy_deviation +
                                             shift.dx_deviation * shift.dx_deviation),
                     shift.correlation});
            }
        }
        return shifts;
    }

    /// Whether a block's corners come from within b.
    bool is_inside(const PixelMap& map, index_t y, index_t x) const {
        Place place;
        for (const index_t row : {y, y + block_[0] - 1}) {
            for (const index_t column : {x, x + block_[1] - 1}) {
                if (!maps_inside(map, static_cast<double>(row), static_cast<double>(column),
                                 extent_, place)) {
                    return false;
                }
            }
        }
        return true;
    }

    /// Changes the alignment by the similarity that the blocks' shifts have, by least squares,
    /// with less weight for blocks that move on their own. Returns whether it hardly changed.
    bool refine(const Image& a, Alignment& found) {
        using Complex = std::complex<double>;
        const std::vector<BlockShift> shifts = block_shifts(a, pixel_map(found, extent_));
        constexpr std::size_t least_blocks = 3;
        if (shifts.size() < least_blocks) {
            found = {};
            return true;
        }
        Complex by = 0;
        Complex turned = 0;
        Complex centre = 0;
        double weights = 0;
        double moment = 0;
        double misfit = 0;
        double correlation = 0;
        constexpr int rounds = 4;
        for (int round = 0; round < rounds; ++round) {
            const auto weight_of = [&](const BlockShift& shift) {
                constexpr double usual = 2;
                const double away =
                    std::abs(shift.by - by - turned * shift.at) / std::sqrt(shift.variance);
                return (round > 0 && away > usual ? usual / away : 1) / shift.variance;
            };
            std::vector<double> weight;
            for (const BlockShift& shift : shifts) weight.push_back(weight_of(shift));
            const auto mean = [&](const auto& value_of) {
                decltype(value_of(shifts[0])) sum = 0;
                weights = 0;
                for (std::size_t i = 0; i < shifts.size(); ++i) {
                    sum += weight[i] * value_of(shifts[i]);
                    weights += weight[i];
                }
                return sum / weights;
            };
            centre = mean([](const BlockShift& shift) { return shift.at; });
            const Complex moved = mean([](const BlockShift& shift) { return shift.by; });
            moment = mean([&](const BlockShift& shift) { return std::norm(shift.at - centre); });
            turned = mean([&](const BlockShift& shift) {
                         return std::conj(shift.at - centre) * (shift.by - moved);
                     }) /
                     moment;
            by = moved - turned * centre;
            misfit = mean([&](const BlockShift& shift) {
                return std::norm(shift.by - by - turned * shift.at);
            });
            correlation = mean([](const BlockShift& shift) { return shift.correlation; });
        }
        ComplexSimilarity similarity(found);
        similarity.follow(by, turned);
        similarity.store(found);
        // Of one part of a shift, as weights say, or as the blocks scatter if that is more.
        const auto freedoms = static_cast<double>(2 * shifts.size() - 4);
        const double scatter = std::max(1.0, misfit * weights / freedoms);
        const double turn_variance = scatter / (weights * moment);
        const double shift_variance = scatter / weights + std::norm(centre) * turn_variance;
        found.dy_deviation = found.dx_deviation = found.scale * std::sqrt(shift_variance);
        found.rotation_deviation = std::sqrt(turn_variance) * 180 / std::numbers::pi;
        found.scale_deviation = found.scale * std::sqrt(turn_variance);
        found.correlation = correlation;
        constexpr double near = 0.02;
        const double reach =
            0.5 * std::hypot(static_cast<double>(extent_[0]), static_cast<double>(extent_[1]));
        return std::abs(by) + std::abs(turned) * reach < near;
    }

    static constexpr double farthest_block = 8;

    Executor& executor_;
    core::Extents<2> extent_;
    core::Extents<2> block_;
    ShiftSearch<Executor> whole_;
    ShiftSearch<Executor> of_block_;
    SpectrumPasses<Executor> of_polar_;
    core::Array<float, 2, Space> polar_a_, polar_b_, moved_;
};

}  // namespace aperture::signal
