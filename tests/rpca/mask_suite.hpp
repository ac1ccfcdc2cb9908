// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/rpca/mask.hpp"

/// Masks on every executor.
///
/// A Runner runs the library on host views and copies data if its executor has memory of its own:
///     std::string why_not();  // not empty: the reason to skip the suite
///     void subtract_backgrounds(FramesView<const float, Host>, FramesView<const float, Host>,
///                               FramesView<float, Host>);
///     double noise_deviation(DifferencesView<Host>);
///     void pixel_scales(DifferencesView<Host>, ScalesView<Host>);
///     void follow_scales(DifferencesView<Host>, MasksView<Host>, ScalesView<Host>);
///     double find_masks(const MaskInputs<Host>&, const MaskParameters&, MasksView<Host>);
namespace aperture::rpca {

using core::Host;

using Differences = core::Array<float, 4>;

/// A mask drawn as rows of '.' and '#'.
using Drawing = std::vector<std::string>;

inline Differences differences_of(const Drawing& drawing) {
    const auto rows = static_cast<index_t>(drawing.size());
    const auto columns = static_cast<index_t>(drawing.front().size());
    Differences differences({1, 1, rows, columns});
    for (index_t r = 0; r < rows; ++r) {
        for (index_t c = 0; c < columns; ++c) {
            const bool there = drawing[std::size_t(r)][std::size_t(c)] == '#';
            differences(0, 0, r, c) = there ? 100.0F : 1.0F;
        }
    }
    return differences;
}

inline Drawing drawing_of(const core::Array<std::uint8_t, 3>& masks) {
    Drawing drawing;
    for (index_t r = 0; r < masks.extent()[1]; ++r) {
        std::string line;
        for (index_t c = 0; c < masks.extent()[2]; ++c) {
            EXPECT_TRUE(masks(0, r, c) == 0 || masks(0, r, c) == 255);
            line += masks(0, r, c) != 0 ? '#' : '.';
        }
        drawing.push_back(line);
    }
    return drawing;
}

/// A fixed threshold of 25 and a median; holes stay.
inline MaskParameters fixed(int clean, index_t min_area = 0) {
    return {.threshold = 25, .clean = clean, .min_area = min_area, .fill_holes = false};
}
/// Thresholds that follow the pixels, and nothing else.
inline MaskParameters following() {
    return {.clean = 0, .hysteresis = 1, .fill_holes = false, .remove_shadows = false};
}

inline Drawing random_drawing(std::mt19937& generator, int rows, int columns) {
    std::bernoulli_distribution moves(0.5);
    Drawing drawing(std::size_t(rows), std::string(std::size_t(columns), '.'));
    for (std::string& line : drawing) {
        for (char& pixel : line) pixel = moves(generator) ? '#' : '.';
    }
    return drawing;
}

/// The pixels connected with one, by definition: all that are reached by steps between neighbours
/// of the same kind.
inline std::set<std::pair<int, int>> region_of(const Drawing& drawing, int row, int column,
                                               bool corners) {
    const int rows = int(drawing.size());
    const int columns = int(drawing.front().size());
    const auto kind = [&](int r, int c) { return drawing[std::size_t(r)][std::size_t(c)]; };
    std::set<std::pair<int, int>> region{{row, column}};
    for (bool grows = true; grows;) {
        grows = false;
        for (const auto& [r, c] : std::set(region)) {
            for (int y = std::max(r - 1, 0); y <= std::min(r + 1, rows - 1); ++y) {
                for (int x = std::max(c - 1, 0); x <= std::min(c + 1, columns - 1); ++x) {
                    if (!corners && y != r && x != c) continue;
                    if (kind(y, x) == kind(row, column)) grows |= region.insert({y, x}).second;
                }
            }
        }
    }
    return region;
}

struct CpuMasks {
    core::Cpu cpu{2};

    static std::string why_not() { return {}; }

    void subtract_backgrounds(FramesView<const float, Host> frames,
                              FramesView<const float, Host> backgrounds,
                              FramesView<float, Host> differences) {
        rpca::subtract_backgrounds(cpu, frames, backgrounds, differences);
    }
    static double noise_deviation(DifferencesView<Host> differences) {
        return rpca::noise_deviation(differences);
    }
    void pixel_scales(DifferencesView<Host> differences, ScalesView<Host> scales) {
        rpca::pixel_scales(cpu, differences, scales);
    }
    void follow_scales(DifferencesView<Host> differences, MasksView<Host> masks,
                       ScalesView<Host> scales) {
        rpca::follow_scales(cpu, differences, masks, scales);
    }
    double find_masks(const MaskInputs<Host>& inputs, const MaskParameters& parameters,
                      MasksView<Host> masks) {
        return rpca::find_masks(cpu, inputs, parameters, masks);
    }
};

template <class Runner>
class MaskSuite : public testing::Test {
  protected:
    Runner runner;

    void SetUp() override {
        const std::string reason = runner.why_not();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }

    Drawing mask_of(const Differences& differences, const MaskParameters& parameters,
                    ScalesView<Host, const float> scales = {}) {
        const auto& extent = differences.extent();
        core::Array<std::uint8_t, 3> masks({extent[0], extent[2], extent[3]});
        runner.find_masks({differences.view(), scales}, parameters, masks);
        return drawing_of(masks);
    }
    Drawing mask_of(const Drawing& drawing, const MaskParameters& parameters) {
        return mask_of(differences_of(drawing), parameters);
    }
};
TYPED_TEST_SUITE_P(MaskSuite);

TYPED_TEST_P(MaskSuite, IsWhereAChannelDiffersByMore) {
    Differences differences({1, 2, 1, 4});
    const float channels[2][4] = {{25, 25.5F, 0, 0}, {0, 0, -26, 25}};
    for (index_t c = 0; c < 2; ++c) {
        for (index_t x = 0; x < 4; ++x) differences(0, c, 0, x) = channels[c][x];
    }
    EXPECT_EQ(this->mask_of(differences, fixed(0)), (Drawing{".##."}));
}

TYPED_TEST_P(MaskSuite, DifferencesAreThoseFromTheBackgroundOfEachFrameOrOfAll) {
    constexpr index_t frames = 3;
    constexpr index_t values = 5;
    core::Array<float, 2> m({frames, values + 2}), grounds({frames, values}),
        differences({frames, values + 1});
    for (index_t f = 0; f < frames; ++f) {
        for (index_t v = 0; v < values; ++v) {
            m(f, v) = static_cast<float>(7 * f + v);
            grounds(f, v) = static_cast<float>(11 * f - 3 * v);
        }
    }
    const auto some = std::as_const(m).view().slice(1, 0, values);
    const auto expect = [&](bool one_background) {
        for (index_t f = 0; f < frames; ++f) {
            for (index_t v = 0; v < values; ++v) {
                EXPECT_EQ(differences(f, v),
                          std::abs(m(f, v) - grounds(one_background ? 0 : f, v)));
            }
            EXPECT_EQ(differences(f, values), -1);
        }
    };
    std::fill(differences.begin(), differences.end(), -1.0F);
    const FramesView<float, core::Host> to = differences.view().slice(1, 0, values);
    this->runner.subtract_backgrounds(some, grounds.view(), to);
    expect(false);
    this->runner.subtract_backgrounds(some, {grounds.data(), {frames, values}, {0, 1}}, to);
    expect(true);
    EXPECT_THROW(this->runner.subtract_backgrounds(std::as_const(m).view(), grounds.view(), to),
                 core::InvalidArgument);
    EXPECT_THROW(this->runner.subtract_backgrounds(some, {grounds.data(), {frames, 2}, {5, 1}}, to),
                 core::InvalidArgument);
}

TYPED_TEST_P(MaskSuite, IsCleanedByAMedian) {
    const Drawing speckled = {"#......", ".......", "..###..", "..#.#..", "..###..", "......."};
    EXPECT_EQ(this->mask_of(speckled, fixed(3)),
              (Drawing{".......", ".......", "...#...", "..###..", "...#...", "......."}));
    EXPECT_EQ(this->mask_of(speckled, fixed(1)), speckled);
}

TYPED_TEST_P(MaskSuite, MedianIsThatByDefinitionAtAnySize) {
    std::mt19937 generator(8);
    for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 9}, {9, 1}, {3, 4}, {12, 17}}) {
        for (const int side : {3, 5, 7, 21}) {
            const Drawing drawing = random_drawing(generator, rows, columns);
            Drawing expected = drawing;
            for (int r = 0; r < rows; ++r) {
                for (int c = 0; c < columns; ++c) {
                    int pixels = 0;
                    int moving = 0;
                    for (int y = std::max(r - side / 2, 0); y <= std::min(r + side / 2, rows - 1);
                         ++y) {
                        for (int x = std::max(c - side / 2, 0);
                             x <= std::min(c + side / 2, columns - 1); ++x) {
                            ++pixels;
                            moving += drawing[std::size_t(y)][std::size_t(x)] == '#';
                        }
                    }
                    expected[std::size_t(r)][std::size_t(c)] = 2 * moving > pixels ? '#' : '.';
                }
            }
            EXPECT_EQ(this->mask_of(drawing, fixed(side)), expected)
                << rows << "x" << columns << ", " << side;
        }
    }
}

TYPED_TEST_P(MaskSuite, LosesRegionsThatAreTooSmall) {
    const Drawing drawing = {"##...#", "..#...", "......", "###..#", "....#."};
    EXPECT_EQ(this->mask_of(drawing, fixed(0, 3)),
              (Drawing{"##....", "..#...", "......", "###...", "......"}));
}

TYPED_TEST_P(MaskSuite, NoiseIsEstimatedWithoutWhatMoves) {
    std::mt19937 generator(9);
    std::normal_distribution<float> noise(0, 4);
    Differences differences({3, 1, 200, 300});
    for (float& value : differences) value = noise(generator);
    for (index_t r = 0; r < 60; ++r) {
        for (index_t c = 0; c < 60; ++c) differences(1, 0, r, c) = 150;
    }
    EXPECT_NEAR(this->runner.noise_deviation(std::as_const(differences).view()), 4, 0.15);
    core::Array<std::uint8_t, 3> masks({3, 200, 300});
    EXPECT_NEAR(this->runner.find_masks({std::as_const(differences).view()},
                                        {.noise_multiple = 5, .clean = 0}, masks),
                20, 0.75);
    EXPECT_EQ(masks(1, 30, 30), 255);
}

TYPED_TEST_P(MaskSuite, RegionsAreThoseByDefinition) {
    std::mt19937 generator(10);
    for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 9}, {9, 1}, {7, 8}, {12, 17}}) {
        for (int repeat = 0; repeat < 5; ++repeat) {
            const Drawing drawing = random_drawing(generator, rows, columns);
            constexpr std::size_t least = 5;
            const int rows_of = int(drawing.size());
            const int columns_of = int(drawing.front().size());
            Drawing large = drawing;
            Drawing filled = drawing;
            for (int r = 0; r < rows; ++r) {
                for (int c = 0; c < columns; ++c) {
                    const auto row = std::size_t(r);
                    const auto column = std::size_t(c);
                    if (drawing[row][column] == '#') {
                        const bool stays = region_of(drawing, r, c, true).size() >= least;
                        large[row][column] = stays ? '#' : '.';
                        continue;
                    }
                    const auto hole = region_of(drawing, r, c, false);
                    const bool open =
                        std::any_of(hole.begin(), hole.end(), [&](const std::pair<int, int>& at) {
                            return at.first == 0 || at.first == rows_of - 1 || at.second == 0 ||
                                   at.second == columns_of - 1;
                        });
                    filled[row][column] = open ? '.' : '#';
                }
            }
            EXPECT_EQ(this->mask_of(drawing, fixed(0, least)), large);
            EXPECT_EQ(this->mask_of(drawing, {.threshold = 25, .clean = 0}), filled);
        }
    }
}

TYPED_TEST_P(MaskSuite, ThresholdsFollowThePixels) {
    const float scales[] = {0, 2, 5, 10, 100};
    const float thresholds[] = {8, 14, 23, 38, 40};
    for (int i = 0; i < 5; ++i) {
        core::Array<float, 2> of_pixels({4, 7});
        std::fill(of_pixels.begin(), of_pixels.end(), scales[i]);
        Differences differences({1, 1, 4, 7});
        std::fill(differences.begin(), differences.end(), 0.0F);
        differences(0, 0, 1, 3) = thresholds[i] + 0.01F;
        differences(0, 0, 3, 6) = -thresholds[i] - 0.01F;
        differences(0, 0, 0, 0) = thresholds[i] - 0.01F;
        EXPECT_EQ(this->mask_of(differences, following(), of_pixels.view()),
                  (Drawing{".......", "...#...", ".......", "......#"}))
            << scales[i];
    }
    // Scales are averaged over 5 x 5 pixels, fewer at the edge: 2, 3 and 5 here.
    core::Array<float, 2> one({1, 9});
    std::fill(one.begin(), one.end(), 0.0F);
    one(0, 0) = 6;
    Differences differences({1, 1, 1, 9});
    std::fill(differences.begin(), differences.end(), 12.1F);
    EXPECT_EQ(this->mask_of(differences, following(), one.view()), (Drawing{"..#######"}));
    std::fill(differences.begin(), differences.end(), 11.59F);
    EXPECT_EQ(this->mask_of(differences, following(), one.view()), (Drawing{"...######"}));
    // The mean threshold is reported.
    core::Array<std::uint8_t, 3> masks({1, 1, 9});
    EXPECT_NEAR(
        this->runner.find_masks({std::as_const(differences).view(), std::as_const(one).view()},
                                following(), masks),
        8 + 3 * 6 * (1 / 3. + 1 / 4. + 1 / 5.) / 9, 1e-5);
    EXPECT_THROW(this->runner.find_masks({std::as_const(differences).view()}, following(), masks),
                 core::InvalidArgument);
}

TYPED_TEST_P(MaskSuite, ScalesAreMedians) {
    std::mt19937 generator(11);
    std::normal_distribution<float> noise(0, 4);
    for (const index_t frames : {10, 64, 65, 200}) {
        Differences differences({frames, 2, 3, 70});
        for (float& value : differences) value = noise(generator);
        core::Array<float, 2> scales({3, 70});
        this->runner.pixel_scales(std::as_const(differences).view(), scales);
        const index_t step = (frames + 63) / 64;
        for (index_t r = 0; r < 3; ++r) {
            for (index_t c = 0; c < 70; ++c) {
                std::vector<float> sizes;
                for (index_t f = 0; f < frames; f += step) {
                    sizes.push_back(std::max(std::abs(differences(f, 0, r, c)),
                                             std::abs(differences(f, 1, r, c))));
                }
                std::sort(sizes.begin(), sizes.end());
                EXPECT_EQ(scales(r, c), sizes[sizes.size() / 2]);
            }
        }
    }
    // Of few frames all pixels have one: where one moves, its median is no scale.
    Differences few({3, 1, 2, 2});
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    std::copy(std::begin(values), std::end(values), few.begin());
    core::Array<float, 2> scales({2, 2});
    this->runner.pixel_scales(std::as_const(few).view(), scales);
    for (const float scale : scales) EXPECT_FLOAT_EQ(scale, 7);
    EXPECT_THROW(this->runner.pixel_scales(std::as_const(few).view().slice(0, 0, 0), scales),
                 core::InvalidArgument);
}

TYPED_TEST_P(MaskSuite, ScalesFollowLaterFrames) {
    std::mt19937 generator(12);
    std::normal_distribution<float> noise(0, 4);
    Differences differences({1, 1, 20, 30});
    core::Array<float, 2> scales({20, 30});
    std::fill(scales.begin(), scales.end(), 1.0F);
    core::Array<std::uint8_t, 3> masks({1, 20, 30});
    std::fill(masks.begin(), masks.end(), std::uint8_t{0});
    for (int frame = 0; frame < 400; ++frame) {
        for (float& value : differences) value = noise(generator);
        this->runner.follow_scales(std::as_const(differences).view(), masks, scales);
    }
    float mean = 0;
    for (const float scale : scales) mean += scale / 600;
    EXPECT_NEAR(mean, 4 * 0.6745, 0.15);
    // A step is 2 % of the scale, in foreground a hundredth of that.
    masks(0, 0, 1) = 255;
    std::fill(scales.begin(), scales.end(), 1.0F);
    std::fill(differences.begin(), differences.end(), 30.0F);
    this->runner.follow_scales(std::as_const(differences).view(), masks, scales);
    EXPECT_FLOAT_EQ(scales(0, 0), 1.02F);
    EXPECT_FLOAT_EQ(scales(0, 1), 1.0002F);
}

TYPED_TEST_P(MaskSuite, WhatAdjoinsForegroundIsForegroundAboveHalfTheThreshold) {
    const Drawing drawing = {"+..+....", "++#..+++", "...+....", "....-.+."};
    Differences differences = differences_of(drawing);
    for (index_t r = 0; r < 4; ++r) {
        for (index_t c = 0; c < 8; ++c) {
            const char level = drawing[std::size_t(r)][std::size_t(c)];
            if (level == '+') differences(0, 0, r, c) = 4.1F;
            if (level == '-') differences(0, 0, r, c) = 3.9F;
        }
    }
    core::Array<float, 2> scales({4, 8});
    std::fill(scales.begin(), scales.end(), 0.0F);
    MaskParameters parameters = following();
    parameters.hysteresis = 0.5;
    EXPECT_EQ(this->mask_of(differences, parameters, scales.view()),
              (Drawing{"#..#....", "###.....", "...#....", "........"}));
    EXPECT_EQ(this->mask_of(differences, following(), scales.view()),
              (Drawing{"........", "..#.....", "........", "........"}));
}

TYPED_TEST_P(MaskSuite, RefusesWhatItCannotDo) {
    EXPECT_THROW(validate({.threshold = -1}), core::InvalidArgument);
    EXPECT_THROW(validate({.noise_multiple = -1}), core::InvalidArgument);
    EXPECT_THROW(validate(fixed(4)), core::InvalidArgument);
    EXPECT_THROW(validate(fixed(-3)), core::InvalidArgument);
    EXPECT_THROW(validate(fixed(5, -1)), core::InvalidArgument);
    EXPECT_THROW(validate({.threshold = std::nan("")}), core::InvalidArgument);
    EXPECT_THROW(validate({.hysteresis = 1.5}), core::InvalidArgument);
    Differences differences({1, 1, 3, 4});
    core::Array<std::uint8_t, 3> masks({1, 3, 5});
    EXPECT_THROW(this->runner.find_masks({std::as_const(differences).view()}, fixed(5), masks),
                 core::InvalidArgument);
}

TYPED_TEST_P(MaskSuite, RefusesRowsThatAreNotContiguous) {
    const Differences differences({1, 1, 3, 8});
    core::Array<std::uint8_t, 3> masks({1, 3, 8});
    const MasksView<core::Host> every_second(masks.data(), {1, 3, 4}, {24, 8, 2});
    const DifferencesView<core::Host> of_differences(differences.data(), {1, 1, 3, 4},
                                                     {24, 24, 8, 2});
    EXPECT_THROW(
        this->runner.find_masks({differences.view().slice(3, 0, 4)}, fixed(5), every_second),
        core::InvalidArgument);
    EXPECT_THROW(this->runner.find_masks({of_differences}, fixed(5), masks.view().slice(2, 0, 4)),
                 core::InvalidArgument);
    EXPECT_NO_THROW(this->runner.find_masks({differences.view().slice(3, 0, 4)}, fixed(5),
                                            masks.view().slice(2, 0, 4)));
}

REGISTER_TYPED_TEST_SUITE_P(MaskSuite, IsWhereAChannelDiffersByMore,
                            DifferencesAreThoseFromTheBackgroundOfEachFrameOrOfAll,
                            IsCleanedByAMedian, MedianIsThatByDefinitionAtAnySize,
                            LosesRegionsThatAreTooSmall, NoiseIsEstimatedWithoutWhatMoves,
                            RegionsAreThoseByDefinition, ThresholdsFollowThePixels,
                            ScalesAreMedians, ScalesFollowLaterFrames,
                            WhatAdjoinsForegroundIsForegroundAboveHalfTheThreshold,
                            RefusesWhatItCannotDo, RefusesRowsThatAreNotContiguous);

}  // namespace aperture::rpca
