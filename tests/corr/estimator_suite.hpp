// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "aperture/core/error.hpp"
#include "aperture/core/resident.hpp"
#include "aperture/corr/estimator.hpp"
#include "tests/corr/oracle.hpp"

/// SurfaceEstimator of every executor, compared with definitions.
///
/// A Runner has the executor:
///     using Executor;
///     std::string why_not();      // not empty: the reason to skip the suite
///     Executor& executor();
///     static constexpr bool slow; // whether small images must do
namespace aperture::corr {

using core::Host;
using Mask = core::Array<float, 2>;

/// Selects about two thirds of the pixels, and none below row `used_rows`.
inline Mask random_mask(Shape shape, unsigned seed, index_t used_rows) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform;
    Mask mask({shape.rows, shape.columns});
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            mask(y, x) = y < used_rows && uniform(generator) < 0.67F ? 1.0F : 0.0F;
        }
    }
    return mask;
}

/// One entry of the surface by its definition.
struct Entry {
    double value = 0;
    double count = 0;
};
inline Entry entry_of(const Planes& a, const Planes& b, const Mask* mask_a, const Mask* mask_b,
                      Estimator estimator, index_t dy, index_t dx) {
    const auto [planes, rows, columns] = a.extent();
    Entry entry;
    double covariance = 0;
    double variance_a = 0;
    double variance_b = 0;
    for (index_t p = 0; p < planes; ++p) {
        std::vector<std::pair<double, double>> pairs;
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                const index_t at_y = y + dy;
                const index_t at_x = x + dx;
                if (at_y < 0 || at_y >= rows || at_x < 0 || at_x >= columns) continue;
                if (mask_a != nullptr && (*mask_a)(at_y, at_x) == 0) continue;
                if (mask_b != nullptr && (*mask_b)(y, x) == 0) continue;
                pairs.emplace_back(a(p, at_y, at_x), b(p, y, x));
            }
        }
        entry.count = static_cast<double>(pairs.size());
        double mean_a = 0;
        double mean_b = 0;
        for (const auto& [of_a, of_b] : pairs) {
            entry.value += of_a * of_b;
            mean_a += of_a / entry.count;
            mean_b += of_b / entry.count;
        }
        for (const auto& [of_a, of_b] : pairs) {
            covariance += (of_a - mean_a) * (of_b - mean_b);
            variance_a += (of_a - mean_a) * (of_a - mean_a);
            variance_b += (of_b - mean_b) * (of_b - mean_b);
        }
    }
    if (estimator == Estimator::unbiased) entry.value /= std::max(entry.count, 1.0);
    if (estimator == Estimator::pearson) {
        const double all = std::sqrt(variance_a * variance_b);
        entry.value = all > 0 ? covariance / all : 0;
    }
    return entry;
}

/// Copies to the executor's memory and back, where it has its own.
template <class Executor>
Surfaces surfaces_of(Executor& executor, PlanesView<Host> a, PlanesView<Host> b, const Mask* mask_a,
                     const Mask* mask_b, Estimator estimator, const Lags& lags, Method method,
                     bool each_plane = true) {
    const auto [planes, rows, columns] = a.extent;
    const Problem problem{planes, {rows, columns}, lags, method, each_plane};
    SurfaceEstimator<Executor> estimated(executor, problem, estimator);
    Surfaces results;
    results.reshape(problem);
    const SurfaceViews<Host> views = results.views();
    core::Resident<Executor, double, 2> surface(executor, views.surface);
    core::Resident<Executor, double, 3> of_planes(executor, views.planes);
    core::Resident<Executor, std::int64_t, 2> counts(executor, views.counts);
    const auto on_executor = [&](const auto& view) {
        core::Resident<Executor, const float, 3> there(executor);
        there.load(view);
        return there;
    };
    auto there_a = on_executor(a);
    auto there_b = on_executor(b);
    const auto view_a = there_a.view();
    const auto view_b = same_planes(a, b) ? view_a : there_b.view();
    const SurfaceViews<typename Executor::Space> to{surface.view(), of_planes.view(),
                                                    counts.view()};
    if (mask_a == nullptr) {
        estimated.run(view_a, view_b, to);
    } else {
        core::Resident<Executor, const float, 2> chosen_a(executor);
        core::Resident<Executor, const float, 2> chosen_b(executor);
        chosen_a.load(mask_a->view());
        chosen_b.load(mask_b->view());
        estimated.run(view_a, view_b, chosen_a.view(), chosen_b.view(), to);
    }
    surface.store();
    of_planes.store();
    counts.store();
    executor.synchronize();
    return results;
}

template <class Runner>
class EstimatorSuite : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = runner_.why_not(); !reason.empty()) GTEST_SKIP() << reason;
    }
    template <class... Arguments>
    Surfaces surfaces(const Arguments&... arguments) {
        return surfaces_of(runner_.executor(), arguments...);
    }
    Runner runner_;
};
TYPED_TEST_SUITE_P(EstimatorSuite);

struct EstimatorCase {
    Estimator estimator;
    bool masked;
    Method method;
    float ground;
};
inline std::ostream& operator<<(std::ostream& stream, const EstimatorCase& c) {
    constexpr const char* names[] = {"raw", "unbiased", "pearson"};
    return stream << names[static_cast<int>(c.estimator)] << (c.masked ? ", masked" : "")
                  << (c.method == Method::direct ? ", direct" : ", fft")
                  << (c.ground > 0 ? ", bright" : "");
}

/// Bound of the absolute entries of a surface of `planes` planes.
inline double largest_entry(const EstimatorCase& c, double planes, double pixels) {
    if (c.estimator == Estimator::pearson) return 1;
    const double mean_product = std::max<double>(c.ground * c.ground, 1) * planes;
    return c.estimator == Estimator::raw ? mean_product * pixels : mean_product;
}

inline std::vector<EstimatorCase> estimator_cases(bool few) {
    std::vector<EstimatorCase> list;
    for (const Estimator e : {Estimator::raw, Estimator::unbiased, Estimator::pearson}) {
        for (const bool masked : {false, true}) {
            for (const Method method : {Method::direct, Method::fft}) {
                for (const float ground : {0.0F, 50.0F}) {
                    if (few && (ground == 0) == (method == Method::fft)) continue;
                    list.push_back({e, masked, method, ground});
                }
            }
        }
    }
    return list;
}

TYPED_TEST_P(EstimatorSuite, PlanesAreTheOracles) {
    const Shape shape = TypeParam::slow ? Shape{13, 35} : Shape{23, 37};
    const Lags lags = TypeParam::slow ? Lags{6, 18, true} : Lags{15, 20, true};
    const auto pixels = static_cast<double>(shape.rows * shape.columns);
    const Mask mask_a = random_mask(shape, 3, shape.rows / 2 + 1);
    const Mask mask_b = random_mask(shape, 4, shape.rows);
    for (const EstimatorCase& c : estimator_cases(TypeParam::slow)) {
        SCOPED_TRACE(testing::Message() << c);
        const Planes a = normal_planes(2, shape, 1, c.ground);
        const Planes b = normal_planes(2, shape, 2, c.ground);
        const Mask* used_a = c.masked ? &mask_a : nullptr;
        const Mask* used_b = c.masked ? &mask_b : nullptr;
        const double largest = largest_entry(c, 2, pixels);
        for (const Planes* second : {&b, &a}) {
            if (TypeParam::slow && (second == &a) == c.masked) continue;
            const Surfaces found =
                this->surfaces(a, *second, used_a, used_b, c.estimator, lags, c.method);
            for (index_t i = 0; i < lags.extent().rows; ++i) {
                for (index_t j = 0; j < lags.extent().columns; ++j) {
                    const Entry expected = entry_of(a, *second, used_a, used_b, c.estimator,
                                                    lags.first_row() + i, lags.first_column() + j);
                    ASSERT_EQ(found.counts(i, j), expected.count) << i << ' ' << j;
                    // The transforms' error depends on all pixels: few pixels have a larger one.
                    const double few = std::max(1.0, pixels / std::max(expected.count, 1.0));
                    const double bound = c.estimator == Estimator::raw ? 1e-6 : 1e-6 * few;
                    ASSERT_NEAR(found.surface(i, j), expected.value, bound * largest)
                        << i << ' ' << j << ", " << expected.count << " pixels";
                    const double sum = found.planes(0, i, j) + found.planes(1, i, j);
                    ASSERT_NEAR(sum, found.surface(i, j), 1e-12 * largest);
                }
            }
        }
    }
}

TYPED_TEST_P(EstimatorSuite, PlanesCanBeLeftOut) {
    const Shape shape = TypeParam::slow ? Shape{9, 14} : Shape{19, 26};
    const Lags lags{shape.rows, shape.columns - 6, true};
    const auto pixels = static_cast<double>(shape.rows * shape.columns);
    const Mask mask = random_mask(shape, 13, shape.rows);
    for (const EstimatorCase& c : estimator_cases(TypeParam::slow)) {
        SCOPED_TRACE(testing::Message() << c);
        const Planes a = normal_planes(3, shape, 11, c.ground);
        const Planes b = normal_planes(3, shape, 12, c.ground);
        const Mask* used = c.masked ? &mask : nullptr;
        const auto found = [&](bool each_plane) {
            return this->surfaces(a, b, used, used, c.estimator, lags, c.method, each_plane);
        };
        if (c.masked && c.estimator == Estimator::pearson) {
            EXPECT_THROW(found(false), core::InvalidArgument);
            continue;
        }
        const Surfaces all = found(true);
        const Surfaces summed = found(false);
        EXPECT_EQ(summed.planes.size(), 0);
        const double largest = largest_entry(c, 3, pixels);
        for (index_t i = 0; i < lags.extent().rows; ++i) {
            for (index_t j = 0; j < lags.extent().columns; ++j) {
                ASSERT_EQ(summed.counts(i, j), all.counts(i, j));
                const double count = std::max(static_cast<double>(all.counts(i, j)), 1.0);
                const double few = c.estimator == Estimator::raw ? 1 : pixels / count;
                ASSERT_NEAR(summed.surface(i, j), all.surface(i, j), 1e-6 * few * largest);
            }
        }
    }
}

TYPED_TEST_P(EstimatorSuite, PearsonOfAnImageWithItselfIsOneAtTheCentreAndNeverMore) {
    const Shape shape = TypeParam::slow ? Shape{12, 15} : Shape{40, 50};
    const Planes a = normal_planes(3, shape, 5, 100);
    const Lags lags{shape.rows, shape.columns, true};
    for (const Method method : {Method::direct, Method::fft}) {
        const Surfaces found =
            this->surfaces(a, a, nullptr, nullptr, Estimator::pearson, lags, method);
        EXPECT_NEAR(found.surface(shape.rows - 1, shape.columns - 1), 1, 1e-6);
        for (index_t i = 0; i < found.surface.size(); ++i) {
            const double r = found.surface.data()[i];
            // The variance of one pixel is zero.
            if (found.counts.data()[i] == 1) {
                ASSERT_EQ(r, 0);
            }
            ASSERT_LE(std::abs(r), 1);
        }
    }
}

// For few pixels, rounding has produced values above one. Planes must still add up to the surface.
TYPED_TEST_P(EstimatorSuite, PearsonIsNeverMoreThanOne) {
    const Planes masked = normal_planes(2, {7, 9}, 8, 100);
    Mask mask({7, 9});
    std::fill(mask.begin(), mask.end(), 1.0F);
    const Surfaces of_mask = this->surfaces(masked, masked, &mask, &mask, Estimator::pearson,
                                            Lags{7, 9, true}, Method::fft);
    for (index_t i = 0; i < of_mask.surface.size(); ++i) {
        const double r = of_mask.surface.data()[i];
        ASSERT_LE(std::abs(r), 1);
        const double* const of_plane = of_mask.planes.data() + i;
        ASSERT_NEAR(r, of_plane[0] + of_plane[of_mask.surface.size()], 1e-12);
    }
    for (unsigned seed = 0; seed < (TypeParam::slow ? 4U : 40U); ++seed) {
        const Planes column = normal_planes(1, {50, 1}, seed, 100);
        const Surfaces found = this->surfaces(column, column, nullptr, nullptr, Estimator::pearson,
                                              Lags{25, 1}, Method::fft);
        for (const double r : found.surface) ASSERT_LE(std::abs(r), 1) << seed;
    }
}

TYPED_TEST_P(EstimatorSuite, PearsonOfConstantImagesIsZero) {
    Planes a({2, 20, 30});
    std::fill(a.begin(), a.end(), 0.7F);
    for (const Method method : {Method::direct, Method::fft}) {
        const Surfaces found =
            this->surfaces(a, a, nullptr, nullptr, Estimator::pearson, Lags{10, 15, true}, method);
        for (const double r : found.surface) ASSERT_EQ(r, 0);
    }
}

/// Masks that never overlap, and images that are NaN outside them.
TYPED_TEST_P(EstimatorSuite, MasksWithoutOverlapGiveZeroAndHideWhatTheyCover) {
    const Shape shape{16, 20};
    Planes a = normal_planes(1, shape, 6, 10);
    Mask left({16, 20});
    Mask right({16, 20});
    for (index_t y = 0; y < 16; ++y) {
        for (index_t x = 0; x < 20; ++x) {
            left(y, x) = x < 4 ? 1 : 0;
            right(y, x) = x >= 16 ? 1 : 0;
            if (x >= 4 && x < 16) a(0, y, x) = std::nanf("");
        }
    }
    for (const Estimator e : {Estimator::raw, Estimator::unbiased, Estimator::pearson}) {
        for (const Method method : {Method::direct, Method::fft}) {
            const Surfaces found = this->surfaces(a, a, &left, &right, e, Lags{4, 8, true}, method);
            for (const double value : found.surface) ASSERT_EQ(value, 0);
            for (const double value : found.planes) ASSERT_EQ(value, 0);
            for (const std::int64_t count : found.counts) ASSERT_EQ(count, 0);
        }
    }
}

REGISTER_TYPED_TEST_SUITE_P(EstimatorSuite, PlanesAreTheOracles, PlanesCanBeLeftOut,
                            PearsonOfAnImageWithItselfIsOneAtTheCentreAndNeverMore,
                            PearsonIsNeverMoreThanOne, PearsonOfConstantImagesIsZero,
                            MasksWithoutOverlapGiveZeroAndHideWhatTheyCover);

}  // namespace aperture::corr
