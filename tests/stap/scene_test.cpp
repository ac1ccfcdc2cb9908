// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/targets.hpp"
#include "tests/shared_data.hpp"
#include "tests/stap/owned_results.hpp"

// Targets in files of radar data.

namespace aperture::stap {
namespace {

struct Found {
    std::size_t detections;
    std::vector<EstimatedTarget> targets;
};

Found find_targets(const std::filesystem::path& file, int azimuths, int guard) {
    media::CubeReader reader({file});
    const media::RadarCube& info = reader.info();
    core::Array<cfloat, 3> cube(info.shape());
    reader.read(cube);
    Parameters parameters;
    parameters.training = Training::all;
    parameters.guard = guard;
    parameters.detector = Detector::amf;
    const Problem problem = make_problem(
        {info.channels, info.pulses, info.range_cells, Domain::pulse}, parameters, azimuths);
    DirectionGrid grid{uniform_line(static_cast<int>(info.channels),
                                    info.element_spacing_wavelengths.value_or(0.5)),
                       {},
                       0};
    for (int i = 0; i < azimuths; ++i)
        grid.directions.push_back({-60 + 120.0 * i / (azimuths - 1), 0});
    const auto response = temporal_response({}, static_cast<int>(info.pulses), problem.doppler_bins,
                                            parameters.temporal_taps);
    const auto steering = steering_vectors(grid.elements, grid.directions, response);
    OwnedResults results(problem);
    core::Cpu cpu;
    Pipeline<core::Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);
    const auto detections = find_detections(problem, 1e-6, results.statistic);
    return {
        detections.size(),
        merge_detections(cpu, problem, steering, grid, cube, results.views(), detections).targets};
}

TEST(SceneTargets, AreTheThreePlantedOnes) {
    const Found found = find_targets(APERTURE_SCENE, 25, 2);
    EXPECT_EQ(found.detections, 14u);
    ASSERT_EQ(found.targets.size(), 3u);
    const std::vector<Target> planted{
        {64, -0.125, 20, 0}, {30, 0.25, 0, 0}, {100, -0.4375, -30, 0}};
    for (std::size_t t = 0; t < 3; ++t) {
        EXPECT_NEAR(found.targets[t].range_cell, double(planted[t].range_cell), 0.1);
        // Of 16 pulses: a fifth of a bin.
        EXPECT_NEAR(found.targets[t].doppler, planted[t].doppler, 0.2 / 16);
        EXPECT_NEAR(found.targets[t].azimuth_degrees, planted[t].azimuth_degrees, 1);
    }
}

TEST(SceneTargets, MountainTopTestTargetIsTheStrongest) {
    const auto file = tests::shared_data("radar/mountaintop_t38.h5");
    if (!file) GTEST_SKIP() << "no measured data";
    const Found found = find_targets(*file, 49, 4);
    ASSERT_FALSE(found.targets.empty());
    // Its documented Doppler and azimuth; the range cell is where adaptive processing has it.
    EXPECT_NEAR(found.targets[0].range_cell, 147, 1);
    EXPECT_NEAR(found.targets[0].doppler, 0.25, 0.01);
    EXPECT_NEAR(found.targets[0].azimuth_degrees, 14, 1);
}

}  // namespace
}  // namespace aperture::stap
