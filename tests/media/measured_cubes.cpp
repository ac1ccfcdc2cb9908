// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Measured radar data, skipped if absent.
#include <gtest/gtest.h>

#include <cmath>

#include "aperture/media/cube_file.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/shared_data.hpp"

namespace aperture::media::tests {
namespace {

struct Measured {
    std::string file;
    std::string element;
    core::Extents<3> shape;
    double prf_hz;
};
void PrintTo(const Measured& cube, std::ostream* stream) { *stream << cube.file; }

class MeasuredCube : public testing::TestWithParam<Measured> {};

INSTANTIATE_TEST_SUITE_P(
    All, MeasuredCube,
    testing::Values(Measured{"mountaintop_t38", "complex64 {r,i}", {14, 16, 304}, 625},
                    Measured{"mountaintop_t38_i16", "int16 {r,i}", {14, 16, 403}, 625},
                    Measured{"openradar_walkers", "complex64 {r,i}", {8, 128, 128}, 1 / 184e-6},
                    Measured{"openradar_walkers_i16", "int16 {r,i}", {8, 128, 128}, 1 / 184e-6}),
    [](const auto& instance) { return instance.param.file; });

TEST_P(MeasuredCube, SaysWhatItIsAndHoldsPower) {
    const auto path = aperture::tests::shared_data("radar/" + GetParam().file + ".h5");
    if (!path) GTEST_SKIP() << "measured data not at hand (APERTURE_DATA, ../shared/data)";
    CubeReader reader({*path});
    const RadarCube& cube = reader.info();
    EXPECT_EQ(cube.element, GetParam().element);
    EXPECT_EQ(cube.shape(), GetParam().shape);
    EXPECT_EQ(cube.axis_rule, AxisRule::axes_attribute);
    EXPECT_EQ(cube.domain, Domain::pulse);
    ASSERT_TRUE(cube.prf_hz.has_value());
    EXPECT_NEAR(*cube.prf_hz, GetParam().prf_hz, 1e-9 * GetParam().prf_hz);
    EXPECT_TRUE(cube.element_spacing_wavelengths.has_value());

    core::Array<std::complex<float>, 3> samples(cube.shape());
    reader.read(samples);
    double power = 0;
    for (const std::complex<float>& sample : samples)
        power += std::norm(std::complex<double>(sample));
    EXPECT_TRUE(std::isfinite(power));
    EXPECT_GT(power, 0);
}

}  // namespace
}  // namespace aperture::media::tests
