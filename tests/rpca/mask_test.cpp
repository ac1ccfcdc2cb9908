// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/rpca/light_suite.hpp"

namespace aperture::rpca {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, MaskSuite, CpuMasks);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, LightSuite, CpuMasks);

/// On the left an object, on the right a shadow.
struct ShadedFrame {
    static constexpr index_t rows = 24;
    static constexpr index_t columns = 40;
    Differences frames{{1, 1, rows, columns}};
    Differences grounds{frames.extent()};
    Differences differences{frames.extent()};

    ShadedFrame() {
        std::mt19937 generator(15);
        std::uniform_real_distribution<float> level(100, 200);
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                const float ground = level(generator);
                const bool inside = y >= 4 && y < 20 && x % 20 >= 4;
                const float seen = x < 20 ? 300 - ground : 0.6F * ground;
                grounds(0, 0, y, x) = ground;
                frames(0, 0, y, x) = inside ? seen : ground;
                differences(0, 0, y, x) = frames(0, 0, y, x) - ground;
            }
        }
    }
};

TEST(Masks, WithLightHasTheShadows) {
    const ShadedFrame shaded;
    const core::Extents<3> extent{1, ShadedFrame::rows, ShadedFrame::columns};
    core::Cpu cpu(1);
    core::Array<std::uint8_t, 3> masks(extent), with_light(extent), kept(extent);
    const MaskInputs<Host> inputs{
        shaded.differences.view(), {}, shaded.frames.view(), shaded.grounds.view()};
    for (const int clean : {0, 5}) {
        std::fill(with_light.begin(), with_light.end(), std::uint8_t{7});
        find_masks(cpu, inputs, {.threshold = 8, .clean = clean}, masks, with_light);
        find_masks(cpu, inputs, {.threshold = 8, .clean = clean, .remove_shadows = false}, kept);
        EXPECT_EQ(masks(0, 12, 12), 255);
        EXPECT_EQ(masks(0, 12, 32), 0);
        EXPECT_TRUE(std::equal(kept.begin(), kept.end(), with_light.begin())) << clean;
    }
    // Small regions are in neither, and holes that are filled in both.
    find_masks(cpu, inputs, {.threshold = 8, .min_area = 1000}, masks, with_light);
    EXPECT_EQ(with_light(0, 12, 12), 0);
    EXPECT_EQ(with_light(0, 12, 32), 0);
    Differences differences(shaded.differences.extent());
    std::copy(shaded.differences.begin(), shaded.differences.end(), differences.begin());
    differences(0, 0, 12, 12) = 0;
    const MaskInputs<Host> holed{
        std::as_const(differences).view(), {}, inputs.frames, inputs.backgrounds};
    find_masks(cpu, holed, {.threshold = 8, .clean = 0}, masks, with_light);
    EXPECT_EQ(masks(0, 12, 12), 255);
    EXPECT_EQ(with_light(0, 12, 12), 255);
    core::Array<std::uint8_t, 3> narrow({1, ShadedFrame::rows, ShadedFrame::columns - 1});
    EXPECT_THROW(find_masks(cpu, inputs, {.threshold = 8}, masks, narrow), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca
