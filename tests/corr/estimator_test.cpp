// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/estimator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "aperture/core/error.hpp"
#include "aperture/corr/correlator.hpp"
#include "tests/corr/oracle.hpp"

namespace aperture::corr {
namespace {

using core::Host;
using Mask = core::Array<float, 2>;

/// Selects about two thirds of the pixels, and none below row `used_rows`.
Mask random_mask(Shape shape, unsigned seed, index_t used_rows) {
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
Entry entry_of(const Planes& a, const Planes& b, const Mask* mask_a, const Mask* mask_b,
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

/// `centred` is for Pearson's r without masks: whether planes are centred before they are
/// correlated, or the estimator corrects the sums for the means.
Surfaces surfaces_of(const Planes& a, const Planes& b, const Mask* mask_a, const Mask* mask_b,
                     Estimator estimator, const Lags& lags, Method method, bool each_plane = true,
                     bool centred = true) {
    core::Cpu cpu(2);
    const auto [planes, rows, columns] = a.extent();
    Correlator<core::Cpu> correlator(cpu, {planes, {rows, columns}, lags, method, each_plane});
    SurfaceEstimator surface(cpu, estimator, lags, each_plane);
    const auto correlate = [&](Factor of_a, Factor of_b, core::View<double, 3, Host> sums) {
        correlator.run(surface.planes(of_a), surface.planes(of_b), sums);
    };
    Surfaces results;
    const bool pearson = estimator == Estimator::pearson;
    if (mask_a != nullptr) {
        surface.run(a, b, *mask_a, *mask_b, correlate, results);
    } else if (pearson && centred) {
        surface.run(a, b, correlate, results);
    } else {
        correlator.run(a, b, surface.prepare(planes, {rows, columns}, results));
        if (pearson) {
            surface.finish(a, b, results);
        } else {
            surface.finish(planes, results);
        }
    }
    return results;
}

struct Case {
    Estimator estimator;
    bool masked;
    Method method;
    float ground;
    bool centred = true;
};
void PrintTo(const Case& c, std::ostream* stream) {
    constexpr const char* names[] = {"raw", "unbiased", "pearson"};
    *stream << names[static_cast<int>(c.estimator)] << (c.masked ? "_masked" : "")
            << (c.method == Method::direct ? "_direct" : "_fft") << (c.ground > 0 ? "_bright" : "")
            << (c.centred ? "" : "_with_means");
}

/// Bound of the absolute entries of a surface of `planes` planes.
double largest_entry(const Case& c, double planes, double pixels) {
    if (c.estimator == Estimator::pearson) return 1;
    const double mean_product = std::max<double>(c.ground * c.ground, 1) * planes;
    return c.estimator == Estimator::raw ? mean_product * pixels : mean_product;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const Estimator e : {Estimator::raw, Estimator::unbiased, Estimator::pearson}) {
        for (const bool masked : {false, true}) {
            for (const Method method : {Method::direct, Method::fft}) {
                for (const float ground : {0.0F, 50.0F}) {
                    list.push_back({e, masked, method, ground});
                    if (masked || e != Estimator::pearson) continue;
                    list.push_back({e, masked, method, ground, false});
                }
            }
        }
    }
    return list;
}

class SurfacesOf : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, SurfacesOf, testing::ValuesIn(cases()),
                         testing::PrintToStringParamName());

TEST_P(SurfacesOf, PlanesAreTheOracles) {
    const Case& c = GetParam();
    const Shape shape{23, 37};
    const Planes a = normal_planes(2, shape, 1, c.ground);
    const Planes b = normal_planes(2, shape, 2, c.ground);
    const Mask mask_a = random_mask(shape, 3, 12);
    const Mask mask_b = random_mask(shape, 4, 23);
    const Lags lags{15, 20, true};
    for (const Planes* second : {&b, &a}) {
        const Mask* used_a = c.masked ? &mask_a : nullptr;
        const Mask* used_b = c.masked ? &mask_b : nullptr;
        const Surfaces found =
            surfaces_of(a, *second, used_a, used_b, c.estimator, lags, c.method, true, c.centred);
        const double largest = largest_entry(c, 2, 23 * 37);
        for (index_t i = 0; i < lags.extent().rows; ++i) {
            for (index_t j = 0; j < lags.extent().columns; ++j) {
                const Entry expected = entry_of(a, *second, used_a, used_b, c.estimator,
                                                lags.first_row() + i, lags.first_column() + j);
                ASSERT_EQ(found.counts(i, j), expected.count) << i << ' ' << j;
                // The transforms' error depends on all pixels: few pixels have a larger one.
                const double few = std::max(1.0, 23 * 37 / std::max(expected.count, 1.0));
                const double bound = c.estimator == Estimator::raw ? 1e-6 : 1e-6 * few;
                ASSERT_NEAR(found.surface(i, j), expected.value, bound * largest)
                    << i << ' ' << j << ", " << expected.count << " pixels";
                double sum = 0;
                for (index_t p = 0; p < 2; ++p) sum += found.planes(p, i, j);
                ASSERT_NEAR(sum, found.surface(i, j), 1e-12 * largest);
            }
        }
    }
}

TEST_P(SurfacesOf, PlanesCanBeLeftOut) {
    const Case& c = GetParam();
    const Shape shape{19, 26};
    const Planes a = normal_planes(3, shape, 11, c.ground);
    const Planes b = normal_planes(3, shape, 12, c.ground);
    const Mask mask = random_mask(shape, 13, 19);
    const Mask* used = c.masked ? &mask : nullptr;
    const Lags lags{19, 20, true};
    const auto found = [&](bool each_plane) {
        return surfaces_of(a, b, used, used, c.estimator, lags, c.method, each_plane, c.centred);
    };
    if (c.masked && c.estimator == Estimator::pearson) {
        EXPECT_THROW(found(false), core::InvalidArgument);
        return;
    }
    const Surfaces all = found(true);
    const Surfaces summed = found(false);
    EXPECT_EQ(summed.planes.size(), 0);
    const double largest = largest_entry(c, 3, 19 * 26);
    for (index_t i = 0; i < lags.extent().rows; ++i) {
        for (index_t j = 0; j < lags.extent().columns; ++j) {
            ASSERT_EQ(summed.counts(i, j), all.counts(i, j));
            const double few =
                c.estimator == Estimator::raw ? 1 : 19 * 26 / std::max(all.counts(i, j), 1.0);
            ASSERT_NEAR(summed.surface(i, j), all.surface(i, j), 1e-6 * few * largest);
        }
    }
}

TEST(Estimators, RefuseCallsThatAreForOthers) {
    core::Cpu cpu(1);
    const Planes a = normal_planes(1, {5, 6}, 1, 0);
    const auto correlate = [](Factor, Factor, core::View<double, 3, Host>) {};
    Surfaces results;
    for (const Estimator e : {Estimator::raw, Estimator::unbiased}) {
        SurfaceEstimator surface(cpu, e, {2, 3});
        EXPECT_THROW(surface.run(a, a, correlate, results), core::InvalidArgument);
        surface.prepare(1, {5, 6}, results);
        EXPECT_THROW(surface.finish(a, a, results), core::InvalidArgument);
    }
    SurfaceEstimator pearson(cpu, Estimator::pearson, {2, 3});
    pearson.prepare(1, {5, 6}, results);
    EXPECT_THROW(pearson.finish(1, results), core::InvalidArgument);
}

/// Planes of A and B in turn: two images of one buffer's first address and other strides.
TEST(Pearson, OfViewsOfOneBufferWithOtherStridesIsThatOfCopies) {
    const Shape shape{9, 11};
    const Planes planes = normal_planes(3, shape, 7, 0);
    const core::View<const float, 3, Host> all = planes;
    const core::View<const float, 3, Host> a = all.slice(0, 0, 2);
    const core::View<const float, 3, Host> b(all.data, a.extent,
                                             {2 * all.stride[0], all.stride[1], 1});
    Planes copy_of_b(a.extent);
    for (index_t p = 0; p < 2; ++p) {
        std::copy_n(&planes(2 * p, 0, 0), shape.rows * shape.columns, &copy_of_b(p, 0, 0));
    }
    const Lags lags{4, 5, true};
    core::Cpu cpu(2);
    Correlator<core::Cpu> correlator(cpu, {2, shape, lags, Method::direct, true});
    const auto found = [&](PlanesView<Host> of_b, bool centred) {
        SurfaceEstimator surface(cpu, Estimator::pearson, lags);
        Surfaces results;
        if (centred) {
            surface.run(
                a, of_b,
                [&](Factor of_a, Factor second, core::View<double, 3, Host> sums) {
                    correlator.run(surface.planes(of_a), surface.planes(second), sums);
                },
                results);
        } else {
            correlator.run(a, of_b, surface.prepare(2, shape, results));
            surface.finish(a, of_b, results);
        }
        return std::vector<double>(results.surface.begin(), results.surface.end());
    };
    for (const bool centred : {true, false})
        EXPECT_EQ(found(b, centred), found(copy_of_b, centred));
}

TEST(Pearson, OfAnImageWithItselfIsOneAtTheCentreAndNeverMore) {
    const Planes a = normal_planes(3, {40, 50}, 5, 100);
    for (const auto& [method, centred] :
         {std::pair{Method::direct, true}, std::pair{Method::fft, true},
          std::pair{Method::direct, false}, std::pair{Method::fft, false}}) {
        const Lags lags{40, 50, true};
        const Surfaces found =
            surfaces_of(a, a, nullptr, nullptr, Estimator::pearson, lags, method, true, centred);
        EXPECT_NEAR(found.surface(39, 49), 1, 1e-6);
        for (index_t i = 0; i < lags.extent().rows; ++i) {
            for (index_t j = 0; j < lags.extent().columns; ++j) {
                // The variance of one pixel is zero.
                if (found.counts(i, j) == 1) {
                    ASSERT_EQ(found.surface(i, j), 0);
                }
                ASSERT_LE(std::abs(found.surface(i, j)), 1) << i << ' ' << j;
            }
        }
    }
}

// For few pixels, rounding has produced values above one. Planes must still add up to the surface.
TEST(Pearson, IsNeverMoreThanOne) {
    const Planes masked = normal_planes(2, {7, 9}, 8, 100);
    core::Array<float, 2> mask({7, 9});
    std::fill(mask.begin(), mask.end(), 1.0F);
    const Lags lags{7, 9, true};
    for (unsigned seed = 0; seed < 40; ++seed) {
        const Planes column = normal_planes(1, {50, 1}, seed, 100);
        const Surfaces found =
            surfaces_of(column, column, nullptr, nullptr, Estimator::pearson, {25, 1}, Method::fft);
        for (const double r : found.surface) ASSERT_LE(std::abs(r), 1) << seed;
        const Surfaces of_mask =
            surfaces_of(masked, masked, &mask, &mask, Estimator::pearson, lags, Method::fft);
        for (index_t i = 0; i < lags.extent().rows; ++i) {
            for (index_t j = 0; j < lags.extent().columns; ++j) {
                ASSERT_LE(std::abs(of_mask.surface(i, j)), 1);
                ASSERT_NEAR(of_mask.surface(i, j),
                            of_mask.planes(0, i, j) + of_mask.planes(1, i, j), 1e-12);
            }
        }
    }
}

TEST(Pearson, OfConstantImagesIsZero) {
    Planes a({2, 20, 30});
    std::fill(a.begin(), a.end(), 0.7F);
    for (const Method method : {Method::direct, Method::fft}) {
        for (const bool centred : {true, false}) {
            const Surfaces found = surfaces_of(a, a, nullptr, nullptr, Estimator::pearson,
                                               {10, 15, true}, method, true, centred);
            for (const double r : found.surface) ASSERT_EQ(r, 0);
        }
    }
}

/// Masks that never overlap, and images that are NaN outside them.
TEST(Masks, WithoutOverlapGiveZeroAndHideWhatTheyCover) {
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
            const Surfaces found = surfaces_of(a, a, &left, &right, e, {4, 8, true}, method);
            for (const double value : found.surface) ASSERT_EQ(value, 0);
            for (const double count : found.counts) ASSERT_EQ(count, 0);
        }
    }
}

}  // namespace
}  // namespace aperture::corr
