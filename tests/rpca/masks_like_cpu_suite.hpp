// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tests/rpca/mask_suite.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::rpca {

/// Frames with noise, and objects, shadows and light that move, in rows with a gap behind them.
class Scene {
  public:
    Scene(core::Extents<4> extent, unsigned seed)
        : extent_(extent),
          frames_(padded()),
          backgrounds_(padded()),
          differences_(padded()),
          scales_({extent[2], extent[3]}) {
        std::mt19937 generator(seed);
        std::normal_distribution<float> noise(0, 4);
        std::uniform_real_distribution<float> level(20, 200);
        const auto [count, channels, rows, columns] = extent;
        for (index_t c = 0; c < channels; ++c) {
            for (index_t y = 0; y < rows; ++y) {
                for (index_t x = 0; x < columns; ++x) {
                    const bool dark = y % 20 < 6;
                    const float ground = (dark ? 0.2F : 1) * level(generator);
                    for (index_t f = 0; f < count; ++f) {
                        const index_t across = (x + 2 * f) % 24;
                        const bool inside = !dark && across >= 12;
                        const bool shaded = !dark && across >= 3;
                        const bool lit = dark && across >= 8;
                        const float seen = inside   ? 220 - ground
                                           : shaded ? 0.6F * ground
                                           : lit    ? 3 * ground
                                                    : ground;
                        frames_(f, c, y, x) = seen + noise(generator);
                        backgrounds_(f, c, y, x) = ground;
                        differences_(f, c, y, x) = frames_(f, c, y, x) - ground;
                    }
                }
            }
        }
        for (float& scale : scales_) scale = std::abs(noise(generator));
    }

    DifferencesView<Host> frames() const { return frames_.view().slice(3, 0, extent_[3]); }
    DifferencesView<Host> backgrounds() const {
        return backgrounds_.view().slice(3, 0, extent_[3]);
    }
    DifferencesView<Host> differences() const {
        return differences_.view().slice(3, 0, extent_[3]);
    }
    ScalesView<Host, const float> scales() const { return scales_.view(); }

  private:
    core::Extents<4> padded() const { return {extent_[0], extent_[1], extent_[2], extent_[3] + 3}; }

    core::Extents<4> extent_;
    Differences frames_;
    Differences backgrounds_;
    Differences differences_;
    core::Array<float, 2> scales_;
};

/// Lines that regions need long to find together.
inline std::vector<Drawing> winding_drawings(int rows, int columns) {
    const auto drawn = [&](const auto& moves) {
        Drawing drawing(std::size_t(rows), std::string(std::size_t(columns), '.'));
        for (int y = 0; y < rows; ++y) {
            for (int x = 0; x < columns; ++x) {
                if (moves(y, x)) drawing[std::size_t(y)][std::size_t(x)] = '#';
            }
        }
        return drawing;
    };
    const auto ring = [&](int y, int x) { return std::min({y, x, rows - 1 - y, columns - 1 - x}); };
    return {
        drawn([&](int y, int x) { return x % 2 == 0 || y == rows - 1; }),
        drawn([&](int y, int x) { return x % 2 == 0 || y == 0; }),
        drawn([&](int y, int x) { return y % 2 == 0 || x == (y % 4 == 1 ? 0 : columns - 1); }),
        drawn([](int y, int x) { return (x + y) % 2 == 0; }),
        drawn([](int y, int x) { return x % 3 == 0 && y % 5 != 0; }),
        // A spiral: rings, each with a gap beside which it continues in the next one.
        drawn([&](int y, int x) {
            const int depth = ring(y, x);
            const bool cut = x == depth && y == depth + 1;
            return depth % 2 == 0 ? !cut : x == depth && y == depth + 1;
        }),
        drawn([&](int y, int x) { return ring(y, x) % 2 == 0; }),
        drawn([](int, int) { return true; }),
    };
}

template <class Runner>
class MasksLikeCpuSuite : public MaskSuite<Runner> {
  protected:
    CpuMasks cpu;

    void expect_the_cpus(const MaskInputs<Host>& inputs, const MaskParameters& parameters) {
        const auto& extent = inputs.differences.extent;
        constexpr index_t gap = 5;
        core::Array<std::uint8_t, 3> expected({extent[0], extent[2], extent[3] + gap});
        core::Array<std::uint8_t, 3> found(expected.extent());
        std::fill(expected.begin(), expected.end(), std::uint8_t{7});
        std::fill(found.begin(), found.end(), std::uint8_t{7});
        const double threshold =
            cpu.find_masks(inputs, parameters, expected.view().slice(2, 0, extent[3]));
        EXPECT_NEAR(
            this->runner.find_masks(inputs, parameters, found.view().slice(2, 0, extent[3])),
            threshold, 1e-12 * threshold);
        EXPECT_TRUE(tests::same_bytes(found, expected));
    }
};
TYPED_TEST_SUITE_P(MasksLikeCpuSuite);

TYPED_TEST_P(MasksLikeCpuSuite, MasksAreTheCpus) {
    const core::Extents<4> extents[] = {{1, 1, 1, 1},   {2, 3, 1, 37},  {2, 1, 37, 1},
                                        {3, 2, 29, 31}, {2, 1, 30, 32}, {2, 1, 31, 33},
                                        {1, 3, 40, 64}, {4, 1, 41, 97}};
    for (const auto& extent : extents) {
        const Scene scene(extent, 21);
        const auto changed = [](const auto& change) {
            MaskParameters parameters;
            change(parameters);
            return parameters;
        };
        const MaskParameters all[] = {
            {},
            {.clean = 0},
            {.clean = 21, .hysteresis = 0.3},
            {.min_area = 25, .hysteresis = 1},
            {.clean = 3, .min_area = 2000, .fill_holes = false},
            {.threshold = 20},
            {.threshold = 20, .clean = 0, .remove_shadows = false},
            changed([](MaskParameters& p) { p.remove_light = false; }),
            changed([](MaskParameters& p) { p.noise_multiple = 2; }),
        };
        const DifferencesView<Host> grounds = scene.backgrounds();
        DifferencesView<Host> one = grounds;
        one.stride[0] = 0;
        int which = 0;
        for (const MaskParameters& parameters : all) {
            SCOPED_TRACE(testing::PrintToString(extent) + ", parameters " +
                         std::to_string(which++));
            this->expect_the_cpus({scene.differences(), scene.scales(), scene.frames(), grounds},
                                  parameters);
            this->expect_the_cpus({scene.differences(), scene.scales(), scene.frames(), one},
                                  parameters);
        }
    }
}

TYPED_TEST_P(MasksLikeCpuSuite, WindingRegionsAreTheCpus) {
    std::mt19937 generator(22);
    for (const auto& [rows, columns] : {std::pair{1, 70}, {33, 32}, {45, 101}}) {
        std::vector<Drawing> drawings = winding_drawings(rows, columns);
        for (int i = 0; i < 4; ++i) drawings.push_back(random_drawing(generator, rows, columns));
        for (const Drawing& drawing : drawings) {
            const Differences differences = differences_of(drawing);
            for (const index_t least : {2, 30, 600}) {
                this->expect_the_cpus({differences.view()}, fixed(0, least));
            }
            this->expect_the_cpus({differences.view()}, {.threshold = 25, .clean = 0});
            // A few sure pixels of lines that are possible everywhere.
            Differences hardly = differences_of(drawing);
            for (float& value : hardly) value = value > 25 ? 7 : 0;
            for (int i = 0; i < 3; ++i) hardly.data()[(i * 977) % hardly.size()] = 100;
            core::Array<float, 2> scales({rows, columns});
            std::fill(scales.begin(), scales.end(), 0.0F);
            MaskParameters parameters = following();
            parameters.hysteresis = 0.7;
            this->expect_the_cpus({hardly.view(), scales.view()}, parameters);
        }
    }
}

TYPED_TEST_P(MasksLikeCpuSuite, ScalesAreTheCpus) {
    for (const index_t frames : {1, 9, 10, 33, 64, 65, 131}) {
        const Scene scene({frames, 2, 3, 70}, 23);
        core::Array<float, 2> expected({3, 70}), found({3, 70});
        this->cpu.pixel_scales(scene.differences(), expected);
        this->runner.pixel_scales(scene.differences(), found);
        EXPECT_TRUE(tests::same_bytes(found, expected)) << frames;
        core::Array<std::uint8_t, 3> masks({frames, 3, 70});
        for (index_t i = 0; i < masks.size(); ++i) masks.data()[i] = i % 7 == 0 ? 255 : 0;
        this->cpu.follow_scales(scene.differences(), masks, expected);
        this->runner.follow_scales(scene.differences(), masks, found);
        EXPECT_TRUE(tests::same_bytes(found, expected)) << frames;
    }
}

TYPED_TEST_P(MasksLikeCpuSuite, OtherThanNumbersAreTheCpus) {
    Differences differences({12, 1, 5, 40});
    const float levels[] = {0,
                            -0.0F,
                            1e-42F,
                            3,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
    for (index_t i = 0; i < differences.size(); ++i) {
        differences.data()[i] = levels[(i * i + i / 7) % 6];
    }
    core::Array<float, 2> expected({5, 40}), found({5, 40});
    this->cpu.pixel_scales(std::as_const(differences).view(), expected);
    this->runner.pixel_scales(std::as_const(differences).view(), found);
    EXPECT_TRUE(tests::same_bytes(found, expected));
    this->expect_the_cpus({std::as_const(differences).view()}, {.threshold = 2, .clean = 0});
}

TYPED_TEST_P(MasksLikeCpuSuite, NoFrameHasNoMask) {
    core::Array<std::uint8_t, 3> masks({0, 3, 4});
    const Differences differences({0, 1, 3, 4});
    EXPECT_EQ(this->runner.find_masks({differences.view()}, fixed(5), masks), 25);
}

REGISTER_TYPED_TEST_SUITE_P(MasksLikeCpuSuite, MasksAreTheCpus, WindingRegionsAreTheCpus,
                            ScalesAreTheCpus, OtherThanNumbersAreTheCpus, NoFrameHasNoMask);

}  // namespace aperture::rpca
