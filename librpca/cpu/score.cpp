// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/score.hpp"

#include "aperture/core/shape.hpp"

namespace aperture::rpca {
namespace {

enum Truth : std::uint8_t { still = 0, shadow = 50, moving = 255 };

double ratio(index_t part, index_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double Score::precision() const { return ratio(true_positives, true_positives + false_positives); }
double Score::recall() const { return ratio(true_positives, true_positives + false_negatives); }
double Score::f_measure() const {
    return ratio(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
}
double Score::false_positive_rate() const {
    return ratio(false_positives, false_positives + true_negatives);
}
double Score::false_negative_rate() const {
    return ratio(false_negatives, true_positives + false_negatives);
}
double Score::percentage_of_wrong() const {
    return 100 * ratio(false_positives + false_negatives,
                       true_positives + false_positives + true_negatives + false_negatives);
}

Score& Score::operator+=(const Score& other) {
    true_positives += other.true_positives;
    false_positives += other.false_positives;
    true_negatives += other.true_negatives;
    false_negatives += other.false_negatives;
    shadow_positives += other.shadow_positives;
    return *this;
}

Score score(MaskView mask, MaskView truth, MaskView region) {
    core::expects_shape("mask", mask, truth.extent);
    if (!region.empty()) core::expects_shape("region", region, truth.extent);
    Score sum;
    for (index_t row = 0; row < mask.extent[0]; ++row) {
        for (index_t column = 0; column < mask.extent[1]; ++column) {
            if (!region.empty() && region(row, column) == 0) continue;
            const bool found = mask(row, column) != 0;
            const std::uint8_t label = truth(row, column);
            if (label == moving) {
                ++(found ? sum.true_positives : sum.false_negatives);
            } else if (label == still || label == shadow) {
                ++(found ? sum.false_positives : sum.true_negatives);
                if (found && label == shadow) ++sum.shadow_positives;
            }
        }
    }
    return sum;
}

}  // namespace aperture::rpca
