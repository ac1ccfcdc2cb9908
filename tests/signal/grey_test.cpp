// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/grey.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "aperture/core/error.hpp"

namespace aperture::signal {
namespace {

using core::Host;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<float> pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 90, 90, 90};  // RGB RGB ...

TEST(ToGrey, IsTheLumaOfRec601) {
    const core::Array<float, 2> grey = to_grey({pixels.data(), {3, 1, 4}, {1, 12, 3}});
    EXPECT_EQ(grey.extent(), (core::Extents<2>{1, 4}));
    EXPECT_NEAR(grey(0, 0), 76.245, 1e-4);
    EXPECT_NEAR(grey(0, 1), 149.685, 1e-4);
    EXPECT_NEAR(grey(0, 2), 29.07, 1e-4);
    EXPECT_NEAR(grey(0, 3), 90, 1e-4);
}

TEST(ToGrey, OfOneChannelIsThatChannel) {
    const core::Array<float, 2> grey = to_grey({pixels.data() + 7, {1, 3, 1}});
    EXPECT_EQ(grey.extent(), (core::Extents<2>{3, 1}));
    EXPECT_THAT(std::vector<float>(grey.begin(), grey.end()), ElementsAre(0, 255, 90));
}

/// The luma of one pixel with these samples.
template <class Sample>
float luma_of(Sample red, Sample green, Sample blue) {
    const std::array<Sample, 3> samples{red, green, blue};
    float grey = -1;
    core::Cpu cpu(1);
    to_grey(cpu, core::View<const Sample, 3, Host>(samples.data(), {3, 1, 1}), {&grey, {1, 1}});
    return grey;
}

TEST(ToGrey, TakesSamplesOfEveryType) {
    const float expected = luma_of(200.0F, 3.0F, 71.0F);
    EXPECT_EQ(luma_of<std::uint8_t>(200, 3, 71), expected);
    EXPECT_EQ(luma_of<std::uint16_t>(200 * 257, 3 * 257, 71 * 257), expected);
}

TEST(ToGrey, DividesSixteenBitsAsImageFilesAreRead) {
    core::Cpu cpu(1);
    for (int sample = 0; sample < 65536; ++sample) {
        const auto stored = static_cast<std::uint16_t>(sample);
        float grey = -1;
        to_grey(cpu, core::View<const std::uint16_t, 3, Host>(&stored, {1, 1, 1}), {&grey, {1, 1}});
        ASSERT_EQ(grey, static_cast<float>(sample * 255.0 / 65535)) << sample;
    }
}

TEST(ToGrey, FillsAViewOfAnyStrides) {
    std::vector<float> columns(4, -1);
    core::Cpu cpu(2);
    to_grey(cpu, core::View<const float, 3, Host>(pixels.data() + 8, {1, 2, 2}),
            {columns.data(), {2, 2}, {1, 2}});
    EXPECT_THAT(columns, ElementsAre(255, 90, 90, 90));
}

TEST(ToGrey, RefusesOtherChannelsAndSizes) {
    const auto refused = [](auto call, const char* words) {
        EXPECT_THAT(call, testing::ThrowsMessage<core::InvalidArgument>(HasSubstr(words)));
    };
    refused([] { to_grey({pixels.data(), {2, 1, 4}}); }, "2 channels, expected 1 or 3");
    std::vector<float> grey(4);
    core::Cpu cpu(1);
    refused(
        [&] {
            to_grey(cpu, core::View<const float, 3, Host>(pixels.data(), {3, 1, 4}),
                    {grey.data(), {4, 1}});
        },
        "grey image is 4 x 1, must be 1 x 4");
}

}  // namespace
}  // namespace aperture::signal
