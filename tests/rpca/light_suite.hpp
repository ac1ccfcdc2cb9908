// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "tests/rpca/mask_suite.hpp"

namespace aperture::rpca {

/// Shadows and the light of lamps in masks on every executor; the Runner is MaskSuite's.
template <class Runner>
class LightSuite : public MaskSuite<Runner> {};
TYPED_TEST_SUITE_P(LightSuite);

TYPED_TEST_P(LightSuite, LosesShadows) {
    constexpr index_t rows = 24;
    constexpr index_t columns = 40;
    std::mt19937 generator(13);
    std::uniform_real_distribution<float> level(100, 200);
    for (const index_t channels : {1, 3}) {
        Differences frames({1, channels, rows, columns});
        Differences grounds({1, channels, rows, columns});
        for (float& value : grounds) value = level(generator);
        std::copy(grounds.begin(), grounds.end(), frames.begin());
        const auto inside = [](index_t r, index_t c) { return r >= 4 && r < 20 && c % 20 >= 4; };
        for (index_t c = 0; c < channels; ++c) {
            for (index_t y = 0; y < rows; ++y) {
                for (index_t x = 0; x < columns; ++x) {
                    if (!inside(y, x)) continue;
                    // On the left the ground in the shade, on the right something else.
                    frames(0, c, y, x) = x < 20 ? 0.6F * grounds(0, c, y, x) : level(generator) / 2;
                }
            }
        }
        const auto found = [&](float light, bool remove) {
            Differences seen(frames.extent());
            Differences ground(frames.extent());
            Differences differences(frames.extent());
            for (index_t i = 0; i < seen.size(); ++i) {
                seen.data()[i] = light * frames.data()[i];
                ground.data()[i] = light * grounds.data()[i];
                differences.data()[i] = std::abs(seen.data()[i] - ground.data()[i]);
            }
            core::Array<std::uint8_t, 3> masks({1, rows, columns});
            this->runner.find_masks({std::as_const(differences).view(),
                                     {},
                                     std::as_const(seen).view(),
                                     std::as_const(ground).view()},
                                    {.threshold = 8, .remove_shadows = remove}, masks);
            return std::pair{masks(0, 12, 12) == 255, masks(0, 12, 32) == 255};
        };
        EXPECT_EQ(found(1, false), std::pair(true, true));
        EXPECT_EQ(found(1, true), std::pair(false, true));
        // In the dark shadows are not told from objects.
        EXPECT_EQ(found(0.2F, true), std::pair(true, true));
    }
}

TYPED_TEST_P(LightSuite, LampsLightTheGround) {
    constexpr index_t rows = 24;
    constexpr index_t columns = 40;
    std::mt19937 generator(14);
    std::uniform_real_distribution<float> level(20, 40);
    core::Array<float, 2> scales({rows, columns});
    std::fill(scales.begin(), scales.end(), 0.0F);
    for (const index_t channels : {1, 3}) {
        Differences texture({1, channels, rows, columns});
        Differences other(texture.extent());
        for (float& value : texture) value = level(generator);
        for (float& value : other) value = level(generator);
        /// On the left the ground in the light of a lamp, on the right something else as bright.
        const auto found = [&](float dark, float light, float contrast,
                               const MaskParameters& parameters) {
            Differences frame(texture.extent());
            Differences ground(texture.extent());
            Differences difference(texture.extent());
            for (index_t c = 0; c < channels; ++c) {
                for (index_t y = 0; y < rows; ++y) {
                    for (index_t x = 0; x < columns; ++x) {
                        const auto at = [&](const Differences& of) {
                            return dark * (30 + contrast * (of(0, c, y, x) - 30));
                        };
                        const bool inside = y >= 4 && y < 20 && x % 20 >= 4;
                        ground(0, c, y, x) = at(texture);
                        frame(0, c, y, x) =
                            inside ? light * at(x < 20 ? texture : other) : at(texture);
                        difference(0, c, y, x) = frame(0, c, y, x) - ground(0, c, y, x);
                    }
                }
            }
            core::Array<std::uint8_t, 3> masks({1, rows, columns});
            this->runner.find_masks({std::as_const(difference).view(), std::as_const(scales).view(),
                                     std::as_const(frame).view(), std::as_const(ground).view()},
                                    parameters, masks);
            return std::pair{masks(0, 12, 12) == 255, masks(0, 12, 32) == 255};
        };
        const std::pair both(true, true);
        EXPECT_EQ(found(1, 2.5F, 1, {}), std::pair(false, true));
        MaskParameters kept;
        kept.remove_light = false;
        EXPECT_EQ(found(1, 2.5F, 1, kept), both);
        EXPECT_EQ(found(1, 2.5F, 1, {.threshold = 8}), both);
        // Lamps are not seen by day, and nothing tells light on ground without texture.
        EXPECT_EQ(found(3, 2, 1, {}), both);
        EXPECT_EQ(found(1, 2.5F, 0, {}), both);
    }
}

/// Whether a lamp lights a pixel of frame 0, from the 7 x 7 pixels around it: brighter than the
/// ground, by steps from pixel to pixel that are as much larger and agree with the ground's.
inline bool lit_by_definition(const Differences& frame, const Differences& ground, index_t row,
                              index_t column) {
    double frames = 0, grounds = 0, frame_steps = 0, ground_steps = 0, products = 0, own = 0;
    const index_t channels = frame.extent()[1];
    for (index_t c = 0; c < channels; ++c) {
        own += ground(0, c, row, column) / static_cast<double>(channels);
        for (index_t y = std::max<index_t>(row - 3, 0);
             y < std::min(row + 3, frame.extent()[2] - 1); ++y) {
            for (index_t x = std::max<index_t>(column - 3, 0);
                 x < std::min(column + 3, frame.extent()[3] - 1); ++x) {
                frames += frame(0, c, y, x);
                grounds += ground(0, c, y, x);
                for (const auto& [down, right] : {std::pair(1, 0), std::pair(0, 1)}) {
                    const double f = frame(0, c, y + down, x + right) - frame(0, c, y, x);
                    const double g = ground(0, c, y + down, x + right) - ground(0, c, y, x);
                    frame_steps += f * f;
                    ground_steps += g * g;
                    products += f * g;
                }
            }
        }
    }
    const double ratio = frames / grounds;
    const double slope = products / ground_steps;
    return own < 50 && ratio > 1.05 && slope > 0.5 * ratio && slope < 2 * ratio &&
           products > 0.3 * std::sqrt(frame_steps * ground_steps);
}

TYPED_TEST_P(LightSuite, LosesWhatLampsLightByDefinition) {
    std::mt19937 generator(15);
    std::uniform_real_distribution<float> uniform(0, 1);
    index_t lit = 0;
    index_t kept = 0;
    for (const auto& [rows, columns] :
         {std::pair<index_t, index_t>{1, 1}, {1, 9}, {9, 1}, {2, 2}, {7, 5}, {23, 61}, {12, 130}}) {
        core::Array<float, 2> scales({rows, columns});
        std::fill(scales.begin(), scales.end(), 0.0F);
        Differences frame({1, 3, rows, columns});
        Differences ground(frame.extent());
        Differences difference(frame.extent());
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                const float light = 1 + 0.6F * (1 + std::sin(0.3F * static_cast<float>(x + y)));
                const bool moves = uniform(generator) < 0.5F;
                for (index_t c = 0; c < 3; ++c) {
                    const float level = 10 + 60 * uniform(generator);
                    ground(0, c, y, x) = level;
                    frame(0, c, y, x) = light * level + 70 * uniform(generator);
                    difference(0, c, y, x) = moves ? 20.0F : 0.0F;
                }
            }
        }
        const MaskInputs<core::Host> inputs{
            std::as_const(difference).view(), std::as_const(scales).view(),
            std::as_const(frame).view(), std::as_const(ground).view()};
        core::Array<std::uint8_t, 3> with_light({1, rows, columns});
        core::Array<std::uint8_t, 3> masks(with_light.extent());
        MaskParameters parameters{
            .clean = 0, .fill_holes = false, .remove_shadows = false, .remove_light = false};
        this->runner.find_masks(inputs, parameters, with_light);
        parameters.remove_light = true;
        this->runner.find_masks(inputs, parameters, masks);
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                if (with_light(0, y, x) == 0) continue;
                const bool expected = lit_by_definition(frame, ground, y, x);
                EXPECT_EQ(masks(0, y, x) == 0, expected)
                    << rows << 'x' << columns << ": " << y << ' ' << x;
                ++(expected ? lit : kept);
            }
        }
    }
    // Neither is rare.
    EXPECT_GT(lit, 100);
    EXPECT_GT(kept, 100);
}

REGISTER_TYPED_TEST_SUITE_P(LightSuite, LosesShadows, LampsLightTheGround,
                            LosesWhatLampsLightByDefinition);

}  // namespace aperture::rpca
