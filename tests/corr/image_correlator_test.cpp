// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/image_correlator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "aperture/core/error.hpp"
#include "aperture/corr/pair_correlator.hpp"
#include "aperture/corr/pair_peaks.hpp"
#include "aperture/corr/radial_spectrum.hpp"
#include "tests/corr/oracle.hpp"
#include "tests/corr/plane_images.hpp"
#include "tests/ended_runs.hpp"

namespace aperture::corr {
namespace {

using core::Cpu;
using Mask = core::Array<float, 2>;
constexpr Shape shape{33, 47};

/// An image of `channels`, with values around 128.
Planes image_of(unsigned seed, index_t channels = 3) {
    return normal_planes(channels, shape, seed, 128, 40);
}

Mask mask_of(index_t first_row) {
    Mask mask({shape.rows, shape.columns});
    std::fill(mask.begin(), mask.end(), 0.0F);
    std::fill(&mask(first_row, 3), mask.end(), 7.0F);
    return mask;
}

/// No mask, one, or one for each of a pair.
std::vector<Mask> masks_of(int count) {
    std::vector<Mask> masks;
    for (int i = 0; i < count; ++i) masks.push_back(mask_of(4 + 3 * i));
    return masks;
}

std::vector<std::vector<double>> values_of(const Surfaces& surfaces) {
    const auto values = [](const auto& array) {
        return std::vector<double>(array.begin(), array.end());
    };
    return {values(surfaces.surface), values(surfaces.planes), values(surfaces.counts)};
}

/// The same by the parts that ImageCorrelator consists of.
Surfaces surfaces_by_parts(Cpu& cpu, const Parameters& parameters, const Problem& problem,
                           const Planes& a, const Planes& b, const std::vector<Mask>& masks) {
    const bool pair = &a != &b;
    const auto planes_of = [&](const Planes& image, const Mask* mask) {
        Planes planes({problem.planes, shape.rows, shape.columns});
        const auto derive = [&](PlaneKind kind, const auto& from, const auto& to) {
            ImagePlanes<Cpu> image_planes(cpu, kind, parameters.normalized());
            if (mask == nullptr) {
                image_planes.derive(from, to);
            } else {
                image_planes.derive(from, mask->view(), to);
            }
        };
        if (parameters.planes) {
            derive(*parameters.planes, image.view(), planes.view());
        } else {
            for (index_t p = 0; p < problem.planes; ++p) {
                derive(PlaneKind::grey, image.view().slice(0, p, p + 1),
                       planes.view().slice(0, p, p + 1));
            }
        }
        return planes;
    };
    const Planes of_a = planes_of(a, masks.empty() ? nullptr : &masks.front());
    const Planes of_b = planes_of(b, masks.empty() ? nullptr : &masks.back());
    SurfaceEstimator<Cpu> estimator(cpu, problem, parameters.estimator);
    Surfaces surfaces;
    surfaces.reshape(problem);
    const PlanesView<core::Host> other = pair ? of_b.view() : of_a.view();
    if (masks.empty()) {
        estimator.run(of_a, other, surfaces.views());
    } else {
        estimator.run(of_a, other, masks.front(), masks.back(), surfaces.views());
    }
    return surfaces;
}

std::vector<Parameters> all_parameters() {
    std::vector<Parameters> all;
    for (const Estimator estimator : {Estimator::raw, Estimator::unbiased, Estimator::pearson}) {
        for (const std::optional<PlaneKind> planes :
             {std::optional(PlaneKind::lab_orientation), std::optional(PlaneKind::grey),
              std::optional<PlaneKind>()}) {
            for (const Method method : {Method::direct, Method::fft}) {
                Parameters parameters;
                parameters.planes = planes;
                parameters.estimator = estimator;
                parameters.method = method;
                all.push_back(parameters);
            }
        }
    }
    return all;
}

class ImageCorrelators : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Masks, ImageCorrelators, testing::Values(0, 1, 2));

TEST_P(ImageCorrelators, AreTheirParts) {
    Cpu cpu(1);
    const Planes a = image_of(1);
    const Planes b = image_of(2);
    for (const bool pair : {false, true}) {
        if (GetParam() == 2 && !pair) continue;
        for (const Parameters& parameters : all_parameters()) {
            SCOPED_TRACE(testing::Message() << pair << static_cast<int>(parameters.estimator)
                                            << parameters.planes.has_value());
            ImageCorrelator<Cpu> correlator(cpu, parameters, a.extent(), pair,
                                            masks_of(GetParam()));
            const Planes& other = pair ? b : a;
            correlator.run(other, other);
            correlator.run(a, other);
            const auto expected = values_of(surfaces_by_parts(cpu, parameters, correlator.problem(),
                                                              a, other, masks_of(GetParam())));
            EXPECT_EQ(values_of(correlator.surfaces()), expected);
            Surfaces surfaces;
            surfaces.reshape(correlator.problem());
            correlator.correlate(a, other, surfaces.views());
            EXPECT_EQ(values_of(surfaces), expected);
        }
    }
}

TEST(ImageCorrelators, FinishImagesInTheOrderOfTheirBegin) {
    Cpu cpu(2);
    const Planes images[] = {image_of(1), image_of(2, 1), image_of(3)};
    for (const Estimator estimator : {Estimator::unbiased, Estimator::pearson}) {
        Parameters parameters;
        parameters.estimator = estimator;
        parameters.each_plane = false;
        ImageCorrelator<Cpu> together(cpu, parameters, images[0].extent(), false);
        ImageCorrelator<Cpu> alone(cpu, parameters, images[0].extent(), false);
        together.begin(images[0]);
        for (int i = 0; i < 3; ++i) {
            if (i < 2) together.begin(images[i + 1]);
            const ImageTimes times = together.finish();
            EXPECT_EQ(times.stages.size(), 2U);
            EXPECT_EQ(times.transfer_ms, 0);
            alone.run(images[i]);
            EXPECT_EQ(values_of(together.surfaces()), values_of(alone.surfaces()));
            EXPECT_EQ(together.surfaces().planes.size(), 0);
        }
    }
}

TEST(ImageCorrelators, HaveDefaultsThatFollowFromTheImages) {
    const Parameters parameters;
    const Lags of_one = parameters.lags(shape, false);
    EXPECT_EQ(of_one.rows, 17);
    EXPECT_EQ(of_one.columns, 24);
    EXPECT_FALSE(of_one.both_signs);
    EXPECT_TRUE(parameters.lags(shape, true).both_signs);
    EXPECT_EQ(parameters.normalized(), Normalization::plane);
    Parameters of_planes;
    of_planes.planes.reset();
    EXPECT_EQ(of_planes.normalized(), Normalization::none);
    of_planes.normalization = Normalization::plane;
    EXPECT_EQ(of_planes.normalized(), Normalization::plane);

    Cpu cpu(1);
    ImageCorrelator<Cpu> correlator(cpu, parameters, {3, 33, 47}, true);
    ASSERT_TRUE(correlator.choice());
    EXPECT_EQ(correlator.problem().method, correlator.choice()->method);
    EXPECT_EQ(correlator.problem().planes, 4);
    Parameters exact;
    exact.precision = Precision::fp64;
    ImageCorrelator<Cpu> direct(cpu, exact, {3, 33, 47}, true);
    EXPECT_FALSE(direct.choice());
    EXPECT_EQ(direct.problem().method, Method::direct);
}

TEST(ImageCorrelators, RefuseWhatCannotBe) {
    Cpu cpu(1);
    const Planes image = image_of(1);
    const auto make = [&](const Parameters& parameters, bool pair, std::vector<Mask> masks) {
        const ImageCorrelator<Cpu> made(cpu, parameters, image.extent(), pair, std::move(masks));
    };
    Parameters parameters;
    parameters.offsets = Shape{34, 1};
    EXPECT_THROW(make(parameters, false, {}), core::InvalidArgument);
    parameters.offsets.reset();
    EXPECT_THROW(make(parameters, false, masks_of(2)), core::InvalidArgument);
    EXPECT_THROW(make(parameters, true, masks_of(3)), core::InvalidArgument);
    std::vector<Mask> narrow;
    narrow.emplace_back(core::Extents<2>{33, 46});
    EXPECT_THROW(make(parameters, true, std::move(narrow)), core::InvalidArgument);

    ImageCorrelator<Cpu> correlator(cpu, parameters, image.extent(), false);
    EXPECT_THROW(correlator.run(image_of(2), image), core::InvalidArgument);
    EXPECT_THROW(correlator.run(Planes({3, 33, 46})), core::InvalidArgument);
    EXPECT_THROW(correlator.run(Planes({2, 33, 47})), core::InvalidArgument);
    EXPECT_THROW(correlator.begin(Planes({3, 34, 47})), core::InvalidArgument);
    correlator.run(image);
}

TEST(ImageCorrelators, EndAtCheckpoints) {
    Cpu cpu(1);
    const Planes a = image_of(1);
    const Planes b = image_of(2);
    for (const int masks : {0, 2}) {
        for (const Parameters& parameters : all_parameters()) {
            ImageCorrelator<Cpu> correlator(cpu, parameters, a.extent(), true, masks_of(masks));
            tests::expect_same_after_ended_runs(cpu, [&] {
                correlator.run(a, b);
                return values_of(correlator.surfaces());
            });
        }
    }
    Parameters parameters;
    ImageCorrelator<Cpu> correlator(cpu, parameters, a.extent(), false);
    tests::expect_same_after_ended_runs(cpu, [&] {
        correlator.begin(a);
        correlator.finish();
        return values_of(correlator.surfaces());
    });
}

TEST(PairsAndSpectra, EndAtCheckpoints) {
    Cpu cpu(1);
    const Planes a = image_of(1);
    const Planes b = image_of(2);
    const Lags lags{9, 11, true};
    PairCorrelator<Cpu> correlator(cpu, {3, shape, lags}, 2);
    tests::expect_same_after_ended_runs(cpu, [&] {
        correlator.load(0, a);
        correlator.load(1, b);
        const PairPeaks found =
            find_pair_peaks(std::vector{energy(cpu, a), energy(cpu, b)}, lags,
                            [&](index_t i, index_t j, core::View<double, 3, core::Host> sums) {
                                correlator.run(i, j, sums);
                            },
                            {});
        return std::vector<double>(found.peaks.begin(), found.peaks.end());
    });

    // An image that was ended has no part in the mean.
    core::Cpu other(1);
    RadialSpectrum ended(cpu, shape);
    RadialSpectrum expected(other, shape);
    tests::expect_same_after_ended_runs(cpu, [&] {
        ended.add(a);
        expected.add(a);
        return ended.average().power == expected.average().power;
    });
}

}  // namespace
}  // namespace aperture::corr
