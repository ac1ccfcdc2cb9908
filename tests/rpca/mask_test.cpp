// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/mask.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"

namespace aperture::rpca {
namespace {

using Differences = core::Array<float, 4>;

/// A mask drawn as rows of '.' and '#'.
using Drawing = std::vector<std::string>;

Differences differences_of(const Drawing& drawing) {
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

Drawing mask_of(const Differences& differences, const MaskParameters& parameters) {
    const auto& extent = differences.extent();
    core::Array<std::uint8_t, 3> masks({extent[0], extent[2], extent[3]});
    core::Cpu cpu(2);
    find_masks(cpu, differences.view(), parameters, masks);
    Drawing drawing;
    for (index_t r = 0; r < extent[2]; ++r) {
        std::string line;
        for (index_t c = 0; c < extent[3]; ++c) {
            EXPECT_TRUE(masks(0, r, c) == 0 || masks(0, r, c) == 255);
            line += masks(0, r, c) != 0 ? '#' : '.';
        }
        drawing.push_back(line);
    }
    return drawing;
}

TEST(Mask, IsWhereAChannelDiffersByMore) {
    Differences differences({1, 2, 1, 4});
    const float channels[2][4] = {{25, 25.5F, 0, 0}, {0, 0, -26, 25}};
    for (index_t c = 0; c < 2; ++c) {
        for (index_t x = 0; x < 4; ++x) differences(0, c, 0, x) = channels[c][x];
    }
    EXPECT_EQ(mask_of(differences, {25, 0, 0, 0}), (Drawing{".##."}));
}

TEST(Mask, DifferencesAreThoseFromTheBackgroundOfEachFrameOrOfAll) {
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
    core::Cpu cpu(2);
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
    subtract_backgrounds(cpu, some, grounds.view(), to);
    expect(false);
    subtract_backgrounds(cpu, some, {grounds.data(), {frames, values}, {0, 1}}, to);
    expect(true);
    EXPECT_THROW(subtract_backgrounds(cpu, std::as_const(m).view(), grounds.view(), to),
                 core::InvalidArgument);
    EXPECT_THROW(subtract_backgrounds(cpu, some, {grounds.data(), {frames, 2}, {5, 1}}, to),
                 core::InvalidArgument);
}

TEST(Mask, IsCleanedByAMedian) {
    const Drawing speckled = {"#......", ".......", "..###..", "..#.#..", "..###..", "......."};
    EXPECT_EQ(mask_of(differences_of(speckled), {25, 0, 3, 0}),
              (Drawing{".......", ".......", "...#...", "..###..", "...#...", "......."}));
    EXPECT_EQ(mask_of(differences_of(speckled), {25, 0, 1, 0}), speckled);
}

TEST(Mask, MedianIsThatByDefinitionAtAnySize) {
    std::mt19937 generator(8);
    std::bernoulli_distribution moves(0.5);
    for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 9}, {9, 1}, {3, 4}, {12, 17}}) {
        for (const int side : {3, 5, 7, 21}) {
            Drawing drawing(static_cast<std::size_t>(rows),
                            std::string(static_cast<std::size_t>(columns), '.'));
            for (std::string& line : drawing) {
                for (char& pixel : line) pixel = moves(generator) ? '#' : '.';
            }
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
            EXPECT_EQ(mask_of(differences_of(drawing), {25, 0, side, 0}), expected)
                << rows << "x" << columns << ", " << side;
        }
    }
}

TEST(Mask, LosesRegionsThatAreTooSmall) {
    const Drawing drawing = {"##...#", "..#...", "......", "###..#", "....#."};
    EXPECT_EQ(mask_of(differences_of(drawing), {25, 0, 0, 3}),
              (Drawing{"##....", "..#...", "......", "###...", "......"}));
}

TEST(Mask, NoiseIsEstimatedWithoutWhatMoves) {
    std::mt19937 generator(9);
    std::normal_distribution<float> noise(0, 4);
    Differences differences({3, 1, 200, 300});
    for (float& value : differences) value = noise(generator);
    for (index_t r = 0; r < 60; ++r) {
        for (index_t c = 0; c < 60; ++c) differences(1, 0, r, c) = 150;
    }
    EXPECT_NEAR(noise_deviation(std::as_const(differences).view()), 4, 0.15);
    core::Cpu cpu(1);
    core::Array<std::uint8_t, 3> masks({3, 200, 300});
    EXPECT_NEAR(find_masks(cpu, std::as_const(differences).view(), {25, 5, 0, 0}, masks), 20, 0.75);
    EXPECT_EQ(masks(1, 30, 30), 255);
}

TEST(Mask, RefusesWhatItCannotDo) {
    EXPECT_THROW(validate({-1, 0, 5, 0}), core::InvalidArgument);
    EXPECT_THROW(validate({25, -1, 5, 0}), core::InvalidArgument);
    EXPECT_THROW(validate({25, 0, 4, 0}), core::InvalidArgument);
    EXPECT_THROW(validate({25, 0, -3, 0}), core::InvalidArgument);
    EXPECT_THROW(validate({25, 0, 5, -1}), core::InvalidArgument);
    EXPECT_THROW(validate({std::nan(""), 0, 5, 0}), core::InvalidArgument);
    core::Cpu cpu(1);
    Differences differences({1, 1, 3, 4});
    core::Array<std::uint8_t, 3> masks({1, 3, 5});
    EXPECT_THROW(find_masks(cpu, std::as_const(differences).view(), {}, masks),
                 core::InvalidArgument);
}

TEST(Mask, RefusesRowsThatAreNotContiguous) {
    core::Cpu cpu(1);
    const Differences differences({1, 1, 3, 8});
    core::Array<std::uint8_t, 3> masks({1, 3, 8});
    const MasksView<core::Host> every_second(masks.data(), {1, 3, 4}, {24, 8, 2});
    const DifferencesView<core::Host> of_differences(differences.data(), {1, 1, 3, 4},
                                                     {24, 24, 8, 2});
    EXPECT_THROW(find_masks(cpu, differences.view().slice(3, 0, 4), MaskParameters{}, every_second),
                 core::InvalidArgument);
    EXPECT_THROW(find_masks(cpu, of_differences, MaskParameters{}, masks.view().slice(2, 0, 4)),
                 core::InvalidArgument);
    EXPECT_NO_THROW(find_masks(cpu, differences.view().slice(3, 0, 4), MaskParameters{},
                               masks.view().slice(2, 0, 4)));
}

}  // namespace
}  // namespace aperture::rpca
