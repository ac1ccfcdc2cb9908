// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/corr/correlation_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>

namespace aperture::corr {
namespace {

/// Expected sums of two images.
struct Expected {
    std::vector<Surface> planes;
    std::vector<double> magnitudes;
    Surface all;
    double all_magnitude = 0;

    Expected(const Planes& a, const Planes& b, const Lags& lags)
        : all({lags.extent().rows, lags.extent().columns}) {
        std::fill(all.begin(), all.end(), 0.0);
        for (index_t p = 0; p < a.extent()[0]; ++p) {
            planes.push_back(sums_of_products(a, b, p, lags));
            magnitudes.push_back(magnitude(a, b, p));
            for (index_t i = 0; i < all.size(); ++i) all.data()[i] += planes.back().data()[i];
            all_magnitude += magnitudes.back();
        }
    }
};

/// Expects sums within the promised error at every displacement.
void expect_sums(const Expected& expected, const Problem& problem,
                 const core::Array<double, 3>& found, Content content = Content::contrast) {
    const auto compare = [&](const Surface& surface, double size, index_t s) {
        for (index_t i = 0; i < surface.extent()[0]; ++i) {
            for (index_t j = 0; j < surface.extent()[1]; ++j) {
                const double error = std::abs(found(s, i, j) - surface(i, j));
                ASSERT_TRUE(error <= largest_error(problem, content) * size)
                    << "surface " << s << " at " << i << ", " << j << ": " << found(s, i, j)
                    << " instead of " << surface(i, j) << ", off by " << error / size
                    << " of the largest possible";
            }
        }
    };
    if (!problem.each_plane) return compare(expected.all, expected.all_magnitude, 0);
    for (index_t p = 0; p < problem.planes; ++p) {
        const auto plane = static_cast<std::size_t>(p);
        compare(expected.planes[plane], expected.magnitudes[plane], p);
    }
}

}  // namespace

Planes planes_of(Content content, index_t planes, Shape shape, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    Planes result({planes, shape.rows, shape.columns});
    for (index_t p = 0; p < planes; ++p) {
        const float level = normal(generator);
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                float& value = result(p, y, x);
                switch (content) {
                    case Content::contrast:
                        value = normal(generator);
                        break;
                    case Content::bright:
                        value = 100 + normal(generator);
                        break;
                    case Content::constant:
                        value = level;
                        break;
                    case Content::impulse:
                        value = y == shape.rows / 2 && x == shape.columns / 3 ? level : 0.0F;
                        break;
                    case Content::stripes:
                        value = (x / 3) % 2 == 0 ? level : 0.3F;
                        break;
                    case Content::mask:
                        value = normal(generator) > 0.5F ? level : 0.0F;
                        break;
                }
            }
        }
    }
    return result;
}

FramedPlanes::FramedPlanes(const Planes& planes)
    : extent_(planes.extent()), whole_({extent_[0], extent_[1] + 1, extent_[2] + 3}) {
    std::fill(whole_.begin(), whole_.end(), std::nanf(""));
    for (index_t p = 0; p < extent_[0]; ++p) {
        for (index_t y = 0; y < extent_[1]; ++y) {
            std::copy_n(&planes(p, y, 0), extent_[2], &whole_(p, y, 1));
        }
    }
}

PlanesView<core::Host> FramedPlanes::view() const {
    return whole_.view().slice(1, 0, extent_[1]).slice(2, 1, extent_[2] + 1);
}

double largest_error(const Problem& problem, Content content) {
    if (problem.method == Method::fft) return 5e-7;
    switch (problem.precision) {
        case Precision::fp64:
            return 1e-13;
        case Precision::tf32x3:
            return 1e-6;
        case Precision::fp32:
            break;
    }
    const bool few_values = content == Content::stripes || content == Content::mask;
    return few_values && problem.image.rows >= 64 ? 4e-6 : 2e-7;
}

std::string name_of(const Case& c) {
    const auto word = [](index_t n) { return std::to_string(n); };
    return word(c.image.rows) + "x" + word(c.image.columns) + "_" + word(c.lags.rows) + "x" +
           word(c.lags.columns) + (c.lags.both_signs ? "_signed" : "");
}
void PrintTo(const Case& c, std::ostream* stream) { *stream << name_of(c); }

std::vector<Case> cases() {
    std::vector<Case> list;
    const std::pair<Shape, Shape> sizes[] = {{{1, 1}, {1, 1}},
                                             {{1, 40}, {1, 40}},
                                             {{40, 1}, {40, 1}},
                                             {{3, 3}, {2, 2}},
                                             {{7, 15}, {7, 15}},
                                             {{8, 16}, {8, 16}},
                                             {{9, 17}, {5, 17}},
                                             {{31, 47}, {16, 24}},
                                             {{32, 48}, {32, 48}},
                                             {{33, 49}, {17, 49}},
                                             {{61, 67}, {31, 34}},
                                             {{40, 150}, {9, 130}},
                                             // Rows in the longest pieces of the kernels.
                                             {{64, 100}, {2, 3}},
                                             {{150, 150}, {2, 3}}};
    for (const auto& [image, lags] : sizes) {
        for (const bool both : {false, true}) {
            list.push_back({image, {lags.rows, lags.columns, both}});
        }
    }
    return list;
}

std::vector<Problem> device_ways(const Problem& problem) {
    std::vector<Problem> ways;
    Problem way = problem;
    way.method = Method::fft;
    ways.push_back(way);
    way.method = Method::direct;
    for (const Precision precision : {Precision::fp32, Precision::tf32x3, Precision::fp64}) {
        way.precision = precision;
        ways.push_back(way);
    }
    return ways;
}

std::string name_of_way(const Problem& problem) {
    if (problem.method == Method::fft) return "fft";
    const char* const precisions[] = {"fp32", "tf32x3", "fp64"};
    return precisions[static_cast<int>(problem.precision)];
}

void expect_the_oracles(Content content, const Case& c, const std::vector<Problem>& problems,
                        const Correlate& correlate) {
    SCOPED_TRACE(static_cast<int>(content));
    const index_t planes = problems.front().planes;
    const Planes a = planes_of(content, planes, c.image, 1);
    const Planes b = planes_of(content, planes, c.image, 2);
    const Expected cross(a, b, c.lags);
    const Expected itself(a, a, c.lags);
    for (const Problem& problem : problems) {
        SCOPED_TRACE(name_of_way(problem) + (problem.each_plane ? " each plane" : ""));
        expect_sums(cross, problem, correlate(a, b, problem), content);
        expect_sums(itself, problem, correlate(a, a, problem), content);
    }
}

void expect_one_by_one(const Problem& one, index_t images, double errors,
                       const Correlate& correlate) {
    Problem all = one;
    all.images = images;
    const Planes a = planes_of(Content::bright, images * one.planes, one.image, 7);
    const Planes b = planes_of(Content::bright, images * one.planes, one.image, 8);
    const core::Array<double, 3> sums = correlate(a, b, all);
    for (const index_t i : {index_t{0}, images / 3, images - 1}) {
        const auto part = [&](const Planes& planes) {
            Planes image({one.planes, one.image.rows, one.image.columns});
            std::copy_n(planes.data() + i * image.size(), image.size(), image.data());
            return image;
        };
        const Planes of_a = part(a);
        const core::Array<double, 3> of_one = correlate(of_a, part(b), one);
        double size = 0;
        for (index_t p = 0; p < one.planes; ++p) size += magnitude(of_a, of_a, p);
        for (index_t at = 0; at < of_one.size(); ++at) {
            ASSERT_NEAR(of_one.data()[at], sums.data()[i * of_one.size() + at],
                        errors * largest_error(one) * size);
        }
    }
}

void expect_every_pair(const Problem& problem,
                       const std::function<void(index_t image, const Planes& planes)>& load,
                       const std::function<core::Array<double, 3>(index_t a, index_t b)>& run) {
    std::vector<Planes> images;
    for (const Content content : {Content::contrast, Content::bright, Content::stripes}) {
        const auto seed = static_cast<unsigned>(images.size() + 1);
        images.push_back(planes_of(content, problem.planes, problem.image, seed));
    }
    load(0, images[1]);
    for (const index_t i : {2, 0, 1}) load(i, images[static_cast<std::size_t>(i)]);
    Problem by_transforms = problem;
    by_transforms.method = Method::fft;
    for (index_t a = 0; a < 3; ++a) {
        for (index_t b = 0; b < 3; ++b) {
            SCOPED_TRACE(testing::Message() << "images " << a << " and " << b);
            const Expected expected(images[static_cast<std::size_t>(a)],
                                    images[static_cast<std::size_t>(b)], problem.lags);
            expect_sums(expected, by_transforms, run(a, b));
        }
    }
}

}  // namespace aperture::corr
