// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/score.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "aperture/rpca/mask.hpp"

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

/// A frame's differences in quarters, so that some are equal to thresholds, and labels of a truth.
struct Frame {
    core::Array<float, 4> differences;
    core::Array<std::uint8_t, 2> truth;

    explicit Frame(index_t channels) : differences({1, channels, 37, 53}), truth({37, 53}) {
        std::mt19937 random(7);
        for (float& difference : differences) {
            difference = static_cast<float>(random() % 400) / 4 - 50;
        }
        *differences.begin() = NAN;
        const std::uint8_t labels[]{0, 50, 85, 170, 255};
        for (std::uint8_t& label : truth) label = labels[random() % 5];
    }
    /// Masks that are compared one by one.
    ThresholdScore compared(double threshold, MaskView labels) const {
        core::Cpu cpu(1);
        core::Array<std::uint8_t, 3> masks({1, 37, 53});
        MaskParameters parameters{.threshold = threshold, .clean = 0};
        parameters.fill_holes = parameters.remove_shadows = false;
        EXPECT_TRUE(parameters.only_compares());
        find_masks(cpu, {differences.view()}, parameters, masks.view());
        ThresholdScore found;
        for (const std::uint8_t mask : masks) found.foreground += mask != 0 ? 1 : 0;
        if (!labels.empty()) found.score = score(std::as_const(masks).view()[0], labels, {});
        return found;
    }
};

TEST(ThresholdScores, AreThoseOfMasksOneByOne) {
    const std::vector<std::vector<double>> sets{
        {17},          {0},  {0, 0},    {30, 5, 17, 17, 60}, {1e-30, 49.75, 50, 49.9999},
        {1e300, 5, 6}, {50}, {5, 1e30}, {0.25, 1e9}};
    for (const index_t channels : {1, 3}) {
        const Frame frame(channels);
        for (const auto& thresholds : sets) {
            for (const MaskView labels : {std::as_const(frame.truth).view(), MaskView()}) {
                const auto scores =
                    score_thresholds(frame.differences.view()[0], labels, thresholds);
                ASSERT_EQ(scores.size(), thresholds.size());
                for (std::size_t i = 0; i < thresholds.size(); ++i) {
                    SCOPED_TRACE(testing::Message() << "threshold " << thresholds[i]);
                    const ThresholdScore alone = frame.compared(thresholds[i], labels);
                    EXPECT_EQ(scores[i].foreground, alone.foreground);
                    EXPECT_EQ(scores[i].score.true_positives, alone.score.true_positives);
                    EXPECT_EQ(scores[i].score.false_positives, alone.score.false_positives);
                    EXPECT_EQ(scores[i].score.true_negatives, alone.score.true_negatives);
                    EXPECT_EQ(scores[i].score.false_negatives, alone.score.false_negatives);
                    EXPECT_EQ(scores[i].score.shadow_positives, alone.score.shadow_positives);
                }
            }
        }
    }
}

TEST(ThresholdScores, RefuseNegativeThresholdsAndOtherExtents) {
    const Frame frame(1);
    const auto scored = [&](MaskView truth, double threshold) {
        return score_thresholds(frame.differences.view()[0], truth, {17, threshold});
    };
    EXPECT_TRUE(score_thresholds(frame.differences.view()[0], {}, {}).empty());
    EXPECT_THROW(scored({}, -1), core::InvalidArgument);
    EXPECT_THROW(scored({}, std::nan("")), core::InvalidArgument);
    EXPECT_THROW(scored(row_of({0, 255}), 1), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca
