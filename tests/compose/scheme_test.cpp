// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "aperture/compose/sweep.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

constexpr double kilobyte = 1024, megabyte = 1024 * kilobyte;

/// The paper's card, with PCI Express 2.0.
constexpr Machine gtx580{.bytes_a_second = 192e9,
                         .launch_seconds = 5e-6,
                         .cache_bytes = 768 * kilobyte,
                         .memory_bytes = 1536 * megabyte,
                         .multiprocessors = 16,
                         .shared_bytes = 48 << 10};

/// Joint histogram of volumes of 512 x 512 numbers of 16 bits, of 256 x 256 bins.
SweepTraits joint_histogram(double slices) {
    const double volume = slices * megabyte / 2, histogram = 256 * kilobyte;
    return {.common_bytes = volume,
            .own_bytes = volume + histogram,
            .arranged_bytes = volume + histogram,
            .tasks = 32};
}
/// Rows, then columns of images of size x size numbers.
SweepTraits gaussian_filter(double size) {
    const double image = size * size * 4;
    return {.similar = true,
            .continuous = true,
            .common_bytes = 2 * 68,
            .own_bytes = 4 * image,
            .arranged_bytes = 2 * image,
            .launches = 2,
            .tasks = 32};
}

TEST(ComposeScheme, IsThatOfThePapersTableOne) {
    const SweepTraits neural_network{.similar = true,
                                     .common_bytes = 523.8 * kilobyte,
                                     .own_bytes = 22.3 * kilobyte,
                                     .arranged_bytes = 3.6 * kilobyte,
                                     .launches = 4,
                                     .tasks = 32};
    const SweepTraits shortest_paths{.similar = true,
                                     .common_bytes = 1152 * kilobyte,
                                     .own_bytes = 384 * kilobyte,
                                     .arranged_bytes = 128 * kilobyte,
                                     .launches = 2,
                                     .tasks = 32768};
    for (const SweepTraits& traits : {neural_network, shortest_paths}) {
        const SchemeChoice choice = choose_scheme(traits, gtx580);
        EXPECT_EQ(choice.scheme, Scheme::interleaved);
        EXPECT_EQ(choice.width, 32);
        EXPECT_THAT(choice.reason, HasSubstr("each of them here and there"));
    }
    // Both or neither coalesce: arrangement costs as much as kernels gain (section 5.2).
    for (const SweepTraits& traits : {joint_histogram(16), gaussian_filter(1024)}) {
        const SchemeChoice choice = choose_scheme(traits, gtx580);
        EXPECT_EQ(choice.scheme, Scheme::naive);
        EXPECT_EQ(choice.width, 1);
        EXPECT_THAT(choice.reason, HasSubstr("us alone"));
    }
    // Small images have the most to gain (Figure 11).
    EXPECT_EQ(choose_scheme(gaussian_filter(128), gtx580).scheme, Scheme::interleaved);
}

TEST(ComposeScheme, IsNaiveWhere32TasksDoNotFit) {
    // Figure 10: 41 slices at most. Figure 11: images of 1280 x 1280 at most.
    EXPECT_THAT(choose_scheme(joint_histogram(41), gtx580).reason, HasSubstr("us alone"));
    EXPECT_THAT(choose_scheme(joint_histogram(64), gtx580).reason,
                HasSubstr("32 tasks need 2197.82 MB, the device has 1610.61"));
    EXPECT_THAT(choose_scheme(gaussian_filter(1280), gtx580).reason, HasSubstr("us alone"));
    EXPECT_THAT(choose_scheme(gaussian_filter(1536), gtx580).reason, HasSubstr("32 tasks need"));
    SweepTraits tiles = gaussian_filter(128);
    tiles.shared_bytes = 12 * kilobyte;
    EXPECT_THAT(choose_scheme(tiles, gtx580).reason, HasSubstr("keep on chip"));
}

TEST(ComposeScheme, NeedsTasksThatAreAlike) {
    EXPECT_EQ(choose_scheme({.continuous = true, .tasks = 9}, gtx580).scheme, Scheme::naive);
    EXPECT_EQ(choose_scheme({.similar = true, .tasks = 1}, gtx580).reason, "there is one task");
    EXPECT_EQ(choose_scheme({.similar = true, .tasks = 9}, gtx580).width, 9);
    EXPECT_THROW(choose_scheme({.tasks = 0}, gtx580), core::InvalidArgument);
    EXPECT_THROW(choose_scheme({.tasks = 2}, Machine()), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::compose
