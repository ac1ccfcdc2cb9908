// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/score.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "aperture/core/shape.hpp"
#include "librpca/mask_steps.hpp"

namespace aperture::rpca {
namespace {

enum Truth : std::uint8_t { still = 0, shadow = 50, moving = 255 };

double ratio(index_t part, index_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

/// Of a histogram; pixels of a class are not scored if it is the last.
enum Class : std::uint8_t { class_moving, class_still, class_shadow, class_unscored, classes };

std::array<Class, 256> classes_of_labels() {
    std::array<Class, 256> table{};
    table.fill(class_unscored);
    table[moving] = class_moving;
    table[still] = class_still;
    table[shadow] = class_shadow;
    return table;
}

/// Counts how many of ascending thresholds are below a size.
class ThresholdsBelow {
  public:
    explicit ThresholdsBelow(const std::vector<float>& ascending)
        : thresholds_(ascending), per_size_(static_cast<float>(cells - 1) / ascending.back()) {
        // Cells do not change the order of sizes, so a threshold of an earlier cell is below.
        for (const float threshold : ascending) ++below_[cell_of(threshold) + 1];
        for (std::size_t cell = 1; cell <= cells; ++cell) below_[cell] += below_[cell - 1];
    }

    std::size_t operator()(float size) const {
        std::size_t below = below_[cell_of(size)];
        while (below < thresholds_.size() && thresholds_[below] < size) ++below;
        return below;
    }

  private:
    static constexpr std::size_t cells = 4096;

    /// If all thresholds are 0, `per_size_` is infinite and a size of 0 has no cell.
    std::size_t cell_of(float size) const {
        const float cell = size * per_size_;
        return cell > 0 ? static_cast<std::size_t>(std::min(cell, static_cast<float>(cells - 1)))
                        : 0;
    }

    const std::vector<float>& thresholds_;
    float per_size_;
    std::array<std::size_t, cells + 1> below_{};  ///< thresholds of earlier cells
};

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

std::vector<ThresholdScore> score_thresholds(core::View<const float, 3, core::Host> differences,
                                             MaskView truth,
                                             const std::vector<double>& thresholds) {
    const auto [channels, rows, columns] = differences.extent;
    if (!truth.empty()) core::expects_shape("truth", truth, {rows, columns});
    for (const double threshold : thresholds) {
        core::expects(threshold >= 0, "thresholds of a mask must not be negative, one is ",
                      threshold);
    }
    std::vector<ThresholdScore> scores(thresholds.size());
    if (thresholds.empty()) return scores;
    std::vector<float> ascending(thresholds.begin(), thresholds.end());
    std::sort(ascending.begin(), ascending.end());

    static const std::array<Class, 256> class_of = classes_of_labels();
    const ThresholdsBelow thresholds_below(ascending);
    // Pixels of each class by the number of thresholds below their size.
    using Counts = std::array<index_t, classes>;
    std::vector<Counts> counts(ascending.size() + 1, Counts{});
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            float size = 0;
            for (index_t c = 0; c < channels; ++c) {
                size = larger_size(size, differences(c, row, column));
            }
            const Class of = truth.empty() ? class_unscored : class_of[truth(row, column)];
            ++counts[thresholds_below(size)][of];
        }
    }

    // Above the threshold i: pixels with more than i thresholds below.
    Counts total{};
    std::vector<Counts> above(counts.size());
    for (std::size_t i = counts.size(); i-- > 0;) {
        above[i] = total;
        for (std::size_t c = 0; c < classes; ++c) total[c] += counts[i][c];
    }
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
        const auto place =
            std::lower_bound(ascending.begin(), ascending.end(), static_cast<float>(thresholds[i]));
        const Counts& found = above[static_cast<std::size_t>(place - ascending.begin())];
        Score& score = scores[i].score;
        score.true_positives = found[class_moving];
        score.false_negatives = total[class_moving] - found[class_moving];
        score.shadow_positives = found[class_shadow];
        score.false_positives = found[class_still] + found[class_shadow];
        score.true_negatives = total[class_still] + total[class_shadow] - score.false_positives;
        scores[i].foreground = score.true_positives + score.false_positives + found[class_unscored];
    }
    return scores;
}

}  // namespace aperture::rpca
