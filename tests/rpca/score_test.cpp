// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/score.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "aperture/core/error.hpp"

namespace aperture::rpca {
namespace {

MaskView row_of(const std::vector<std::uint8_t>& pixels) {
    return {pixels.data(), {1, static_cast<index_t>(pixels.size())}};
}

TEST(Score, CountsByTheLabelsOfTheTruth) {
    //                                       moving     still   shadow  outside  unknown
    const std::vector<std::uint8_t> truth = {255, 255, 0, 0, 0, 50, 50, 85, 85, 170, 170};
    const std::vector<std::uint8_t> mask = {255, 0, 255, 0, 0, 255, 0, 255, 0, 255, 0};
    const Score all = score(row_of(mask), row_of(truth), {});
    EXPECT_EQ(all.true_positives, 1);
    EXPECT_EQ(all.false_negatives, 1);
    EXPECT_EQ(all.false_positives, 2);
    EXPECT_EQ(all.shadow_positives, 1);
    EXPECT_EQ(all.true_negatives, 3);
    EXPECT_DOUBLE_EQ(all.precision(), 1.0 / 3);
    EXPECT_DOUBLE_EQ(all.recall(), 0.5);
    EXPECT_DOUBLE_EQ(all.f_measure(), 0.4);
    EXPECT_DOUBLE_EQ(all.false_positive_rate(), 0.4);
    EXPECT_DOUBLE_EQ(all.false_negative_rate(), 0.5);
    EXPECT_DOUBLE_EQ(all.percentage_of_wrong(), 300.0 / 7);
}

TEST(Score, LeavesOutWhatLiesOutsideTheRegion) {
    const std::vector<std::uint8_t> truth = {255, 255, 0, 0};
    const std::vector<std::uint8_t> mask = {255, 0, 255, 0};
    const std::vector<std::uint8_t> region = {255, 0, 0, 1};
    const Score inside = score(row_of(mask), row_of(truth), row_of(region));
    EXPECT_EQ(inside.true_positives, 1);
    EXPECT_EQ(inside.true_negatives, 1);
    EXPECT_EQ(inside.false_positives + inside.false_negatives, 0);
}

TEST(Score, AddsUpBeforeRatiosAreTaken) {
    Score sum;
    EXPECT_TRUE(std::isnan(sum.precision()));
    EXPECT_TRUE(std::isnan(sum.f_measure()));
    const std::vector<std::uint8_t> truth = {255, 0};
    const std::vector<std::uint8_t> found = {255, 0};
    const std::vector<std::uint8_t> turned = {0, 255};
    sum += score(row_of(found), row_of(truth), {});
    sum += score(row_of(turned), row_of(truth), {});
    EXPECT_DOUBLE_EQ(sum.f_measure(), 0.5);
    EXPECT_DOUBLE_EQ(sum.percentage_of_wrong(), 50);
}

TEST(Score, RefusesDifferentExtents) {
    const std::vector<std::uint8_t> two(2), three(3);
    EXPECT_THROW(score(row_of(two), row_of(three), {}), core::InvalidArgument);
    EXPECT_THROW(score(row_of(two), row_of(two), row_of(three)), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca
