// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/data_term.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

struct TermCase {
    Shape shape;
    bool increment;
};
std::string name_of(const TermCase& c) {
    return std::to_string(c.shape.rows) + "x" + std::to_string(c.shape.columns) +
           (c.increment ? "_increment" : "_total");
}
void PrintTo(const TermCase& c, std::ostream* stream) { *stream << name_of(c); }

class DataTerm : public testing::TestWithParam<TermCase> {};

std::vector<TermCase> all_cases() {
    std::vector<TermCase> cases;
    for (const Shape shape : {Shape{1, 1}, Shape{1, 9}, Shape{9, 1}, Shape{2, 2}, Shape{4, 3},
                              Shape{5, 16}, Shape{17, 33}, Shape{40, 37}}) {
        cases.push_back({shape, false});
        cases.push_back({shape, true});
    }
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Sizes, DataTerm, testing::ValuesIn(all_cases()),
                         [](const auto& instance) { return name_of(instance.param); });

/// The five values of a pixel, and bounds on their rounding errors.
struct Expected {
    std::array<double, 5> value;
    std::array<double, 5> bound;
};

Expected expected_at(const Plane& image0, const Plane& warped1, double u, double v, bool whole,
                     index_t y, index_t x) {
    const double target_x = static_cast<double>(x) + u;
    const double target_y = static_cast<double>(y) + v;
    const bool inside = target_x >= 0 && target_x <= static_cast<double>(image0.size.columns - 1) &&
                        target_y >= 0 && target_y <= static_cast<double>(image0.size.rows - 1);
    if (!inside) return {};
    const double gx = (derivative(image0, y, x, 0, 1) + derivative(warped1, y, x, 0, 1)) / 2;
    const double gy = (derivative(image0, y, x, 1, 0) + derivative(warped1, y, x, 1, 0)) / 2;
    const double gt = warped1(y, x) - image0(y, x);
    const double moved = whole ? gx * u + gy * v : 0;
    // A gradient has two roundings, of 1/24 and of its product; a product of two gradients has
    // five. The other factor of the right-hand side has six, relative to the magnitudes of its
    // terms.
    const double terms = std::abs(gt) + (whole ? std::abs(gx * u) + std::abs(gy * v) : 0);
    return {{gx * gx, gx * gy, gy * gy, -gx * (gt - moved), -gy * (gt - moved)},
            {6 * unit_roundoff * gx * gx, 6 * unit_roundoff * std::abs(gx * gy),
             6 * unit_roundoff * gy * gy, 10 * unit_roundoff * std::abs(gx) * terms,
             10 * unit_roundoff * std::abs(gy) * terms}};
}

TEST_P(DataTerm, IsTheOracles) {
    const auto [shape, whole] = GetParam();
    const Image image0 = random_levels(shape, 1);
    const Image warped1 = random_levels(shape, 2);
    const Flow flow = random_quarters(shape, 3);
    core::Cpu cpu(2);
    PaddedPlanes terms = padded(5, shape, [](index_t, index_t, index_t) { return nan; });
    linearise(cpu, padded_image(cpu, image0), padded_image(cpu, warped1),
              padded(2, shape, [&](index_t i, index_t y, index_t x) { return flow(i, y, x); }),
              whole, terms);
    const Plane plane0(image0);
    const Plane plane1(warped1);
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const Expected expected =
                expected_at(plane0, plane1, flow(0, y, x), flow(1, y, x), whole, y, x);
            for (index_t i = 0; i < 5; ++i) {
                const auto k = static_cast<std::size_t>(i);
                const double difference = std::abs(terms.row(i, y)[x] - expected.value[k]);
                ASSERT_TRUE(difference <= expected.bound[k])
                    << "plane " << i << ", row " << y << ", column " << x << ": "
                    << terms.row(i, y)[x] << ", expected " << expected.value[k] << " +- "
                    << expected.bound[k];
            }
        }
    }
}

/// Both forms have the same solution: the total flow is the present flow plus its increment.
TEST(DataTerms, OfBothFormsDifferByTheTensorTimesTheFlow) {
    const Shape shape{12, 19};
    core::Cpu cpu(1);
    const PaddedPlanes image0 = padded_image(cpu, random_levels(shape, 4));
    const PaddedPlanes warped1 = padded_image(cpu, random_levels(shape, 5));
    const PaddedPlanes flow =
        padded(2, shape, [](index_t i, index_t, index_t) { return i == 0 ? 0.75 : -0.5; });
    PaddedPlanes total(5, shape);
    PaddedPlanes increment(5, shape);
    linearise(cpu, image0, warped1, flow, true, total);
    linearise(cpu, image0, warped1, flow, false, increment);
    for (index_t y = 1; y < shape.rows; ++y) {
        for (index_t x = 0; x + 1 < shape.columns; ++x) {
            const double j11 = total.row(0, y)[x];
            const double j12 = total.row(1, y)[x];
            const double j22 = total.row(2, y)[x];
            const double bound = 32 * unit_roundoff * 400 * 1000;
            EXPECT_NEAR(total.row(3, y)[x] - increment.row(3, y)[x], 0.75 * j11 - 0.5 * j12, bound);
            EXPECT_NEAR(total.row(4, y)[x] - increment.row(4, y)[x], 0.75 * j12 - 0.5 * j22, bound);
        }
    }
}

}  // namespace
}  // namespace aperture::flow
