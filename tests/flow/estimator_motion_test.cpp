// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Accuracy for known motions of a smooth scene.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/flow/scene.hpp"

namespace aperture::flow {
namespace {

constexpr Shape large{96, 128};
constexpr index_t border = 10;

/// Upper bounds on a setup's endpoint errors, in pixels.
struct Reached {
    Setup setup;
    double parts;   ///< median for a shift by fractions of pixels
    double whole;   ///< median for a shift by whole pixels, which interpolation does not blur
    double turned;  ///< mean for a rotation or zoom
};
void PrintTo(const Reached& reached, std::ostream* stream) { PrintTo(reached.setup, stream); }

class KnownMotion : public testing::TestWithParam<Reached> {
  protected:
    std::vector<double> errors_of(const Scene& scene, const Motion& motion) const {
        const ImagePair pair(scene, large, motion);
        return distances(estimated(pair.image0, pair.image1, GetParam().setup.parameters()),
                         pair.truth, border);
    }
};

constexpr Method hs = Method::horn_schunck;
constexpr Method lk = Method::lucas_kanade;

INSTANTIATE_TEST_SUITE_P(Setups, KnownMotion,
                         testing::Values(Reached{{Preset::fast, hs, 0}, 0.015, 1e-5, 0.013},
                                         Reached{{Preset::accurate, hs, 0}, 0.015, 1e-3, 0.018},
                                         Reached{{Preset::accurate, lk, 0}, 0.015, 1e-3, 0.036},
                                         Reached{{Preset::fast, hs, 0.95}, 0.025, 3e-5, 0.03},
                                         Reached{{Preset::fast, lk, 0}, 0.015, 8e-4, 0.033},
                                         Reached{{Preset::fast, lk, 0.95}, 0.03, 2.6e-3, 0.055},
                                         Reached{{Preset::thesis, hs, 0}, 0.05, 0.03, 0.08},
                                         Reached{{Preset::thesis, hs, 0.95}, 0.05, 0.035, 0.06},
                                         Reached{{Preset::thesis, lk, 0}, 0.05, 1.5e-3, 0.055},
                                         Reached{{Preset::thesis, lk, 0.95}, 0.05, 3e-3, 0.06}),
                         [](const auto& instance) { return name_of(instance.param.setup); });

TEST_P(KnownMotion, ByPartsOfPixelsIsFound) {
    EXPECT_LT(median_of(errors_of(Scene(), Motion::shift(0.3, -0.4))), GetParam().parts);
    EXPECT_LT(median_of(errors_of(Scene(), Motion::shift(2.5, 1.25))), GetParam().parts);
}

TEST_P(KnownMotion, ByWholePixelsIsFound) {
    EXPECT_LT(median_of(errors_of(Scene(), Motion::shift(-6, 4))), GetParam().whole);
}

TEST_P(KnownMotion, OfARotationIsFound) {
    const Motion rotation = Motion::about_middle(large, 0.02, 1);
    EXPECT_LT(mean_of(errors_of(Scene(2), rotation)), GetParam().turned);
}

TEST_P(KnownMotion, OfAZoomIsFound) {
    const Motion zoom = Motion::about_middle(large, 0, 1.02);
    EXPECT_LT(mean_of(errors_of(Scene(2), zoom)), GetParam().turned);
}

}  // namespace
}  // namespace aperture::flow
