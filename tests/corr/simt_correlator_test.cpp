// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <numbers>

#include "libcorr/gpu/correlator.cuh"
#include "tests/corr/correlation_cases.hpp"

namespace aperture::corr {
namespace {

using core::Array;
using core::Complex;

/// The transforms of FftCorrelation as they are defined, in double precision.
class DefinedTransforms {
  public:
    DefinedTransforms(core::Simt&, const gpu::TransformSizes& sizes) : sizes_(sizes) {}

    static int good_length(int n) { return n + n % 2; }

    void rows(const float* from, Complex<float>* to) const {
        for (index_t i = 0; i < index_t{sizes_.image_rows} * sizes_.planes; ++i) {
            transform(
                sizes_.columns, -1, sizes_.frequencies(),
                [&](int x) { return Number(from[i * sizes_.columns + x]); },
                [&](int k, Number sum) { to[i * sizes_.frequencies() + k] = single(sum); });
        }
    }
    void columns(const Complex<float>* from, Complex<float>* to) const {
        transform_columns(from, to, index_t{sizes_.planes} * sizes_.frequencies(), -1);
    }
    void columns_back(Complex<float>* both) const {
        transform_columns(both, both, index_t{sizes_.surfaces} * sizes_.frequencies(), 1);
    }
    void rows_back(const Complex<float>* from, float* to) const {
        for (index_t i = 0; i < index_t{sizes_.lag_rows} * sizes_.surfaces; ++i) {
            const Complex<float>* const row = from + i * sizes_.frequencies();
            transform(
                sizes_.columns, 1, sizes_.columns,
                [&](int k) {
                    const bool upper = k < sizes_.frequencies();
                    const Number value = number(row[upper ? k : sizes_.columns - k]);
                    return upper ? value : std::conj(value);
                },
                [&](int x, Number sum) {
                    to[i * sizes_.columns + x] = static_cast<float>(sum.real());
                });
        }
    }

  private:
    using Number = std::complex<double>;
    static Number number(Complex<float> x) {
        return {static_cast<double>(x.re), static_cast<double>(x.im)};
    }
    static Complex<float> single(Number x) {
        return {static_cast<float>(x.real()), static_cast<float>(x.imag())};
    }
    template <class Load, class Store>
    static void transform(int length, int sign, int outputs, const Load& load, const Store& store) {
        std::vector<Number> values;
        std::vector<Number> roots;
        for (int i = 0; i < length; ++i) {
            values.push_back(load(i));
            roots.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * i / length));
        }
        for (int k = 0; k < outputs; ++k) {
            Number sum{};
            for (int i = 0; i < length; ++i) {
                sum += values[static_cast<std::size_t>(i)] *
                       roots[static_cast<std::size_t>(index_t{i} * k % length)];
            }
            store(k, sum);
        }
    }
    void transform_columns(const Complex<float>* from, Complex<float>* to, index_t columns,
                           int sign) const {
        for (index_t x = 0; x < columns; ++x) {
            transform(
                sizes_.rows, sign, sizes_.rows,
                [&](int y) { return number(from[y * columns + x]); },
                [&](int k, Number sum) { to[k * columns + x] = single(sum); });
        }
    }

    gpu::TransformSizes sizes_;
};

Array<double, 3> correlated(core::Simt& simt, const Planes& a, const Planes& b,
                            const Problem& problem) {
    const Shape extent = problem.lags.extent();
    Array<double, 3> sums(
        {problem.images * (problem.each_plane ? problem.planes : 1), extent.rows, extent.columns});
    std::fill(sums.begin(), sums.end(), std::nan(""));
    gpu::DeviceCorrelator<core::Simt, DefinedTransforms>(simt, problem)
        .run(a.view(), b.view(), sums.view());
    return sums;
}

Correlate in_order(core::LaneOrder order) {
    return [order](const Planes& a, const Planes& b, const Problem& problem) {
        core::Simt simt(order);
        return correlated(simt, a, b, problem);
    };
}

class SimtCorrelations : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, SimtCorrelations,
                         testing::Values(Case{{1, 1}, {1, 1}}, Case{{1, 40}, {1, 40, true}},
                                         Case{{40, 1}, {40, 1, true}}, Case{{9, 17}, {5, 17}},
                                         Case{{33, 49}, {17, 20, true}}, Case{{6, 150}, {3, 131}}),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(SimtCorrelations, AreTheOracles) {
    const Case& c = GetParam();
    expect_the_oracles(Content::bright, c,
                       device_ways({1, c.image, c.lags, Method::fft, false}, Tiles::some),
                       in_order(core::LaneOrder::forward));
}

TEST(SimtPlanes, InAnyOrderOfThreadsAreTheOracles) {
    const Case c{{9, 21}, {5, 8, true}};
    const auto expect = [&](Content content, bool each_plane, core::LaneOrder order) {
        expect_the_oracles(content, c,
                           device_ways({5, c.image, c.lags, Method::fft, each_plane}, Tiles::some),
                           in_order(order));
    };
    expect(Content::stripes, false, core::LaneOrder::random);
    expect(Content::bright, true, core::LaneOrder::reverse);
}

TEST(SimtCorrelators, TakeSeveralImagesAtOnce) {
    core::Simt simt;
    const Shape shape{20, 30};
    const Planes a = planes_of(Content::bright, 6, shape, 7);
    const Planes b = planes_of(Content::bright, 6, shape, 8);
    for (const Method method : {Method::direct, Method::fft}) {
        for (const bool each_plane : {false, true}) {
            const Problem one{2, shape, {9, 7, true}, method, each_plane};
            Problem all = one;
            all.images = 3;
            const Array<double, 3> sums = correlated(simt, a, b, all);
            for (index_t i = 0; i < 3; ++i) {
                const auto part = [&](const Planes& planes) {
                    Planes image({2, shape.rows, shape.columns});
                    std::copy_n(planes.data() + i * image.size(), image.size(), image.data());
                    return image;
                };
                const Array<double, 3> of_one = correlated(simt, part(a), part(b), one);
                EXPECT_TRUE(
                    std::equal(of_one.begin(), of_one.end(), sums.data() + i * of_one.size()));
            }
        }
    }
}

TEST(SimtCorrelators, RefuseTilesThatThereAreNot) {
    core::Simt simt;
    Problem problem{1, {20, 30}, {5, 5}, Method::direct};
    problem.direct.tile = Shape{8, 8};
    using Correlator = gpu::DeviceCorrelator<core::Simt, DefinedTransforms>;
    EXPECT_THAT([&] { Correlator(simt, problem); },
                testing::ThrowsMessage<core::InvalidArgument>(testing::HasSubstr(
                    "a tile of 8x8 displacements, expected one of 32x64, 16x128, 64x32")));
}

TEST(TilePartitions, CoverEveryRowOfEveryTileOnce) {
    for (const Case& c : cases()) {
        for (const index_t count : {1, 7, 500}) {
            const Shape tile{16, 64};
            const auto all = gpu::partition_tiles(c.image, c.lags, tile, count, 8, 2);
            for (const gpu::TileParts& parts : all.tiles) {
                const auto* part = &all.parts[static_cast<std::size_t>(parts.first)];
                const index_t lag = part->lag_y;
                EXPECT_EQ(part->lag_x % 4, 0);
                EXPECT_EQ(part->begin, std::max<index_t>(lag, 0) - 1);
                for (int i = 0; i < parts.count; ++i) {
                    EXPECT_GT(part[i].end, part[i].begin);
                    EXPECT_LE(part[i].end, part[i].begin + 8);
                    if (i > 0) {
                        EXPECT_EQ(part[i].begin, part[i - 1].end);
                        EXPECT_EQ(part[i].lag_x, part->lag_x);
                        EXPECT_EQ(part[i].lag_y, part->lag_y);
                    }
                }
                EXPECT_EQ(part[parts.count - 1].end,
                          std::min(c.image.rows, c.image.rows + lag + tile.rows - 1));
            }
        }
    }
}

}  // namespace
}  // namespace aperture::corr
