// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/adaptive_cases.hpp"
#include "tests/stap/attempts_suite.hpp"
#include "tests/stap/failure_cases.hpp"
#include "tests/stap/gpu_run.hpp"
#include "tests/stap/many_matrices.hpp"
#include "tests/stap/perfect_accuracy.hpp"

namespace aperture::stap::kernel_cases {
namespace {

class GpuAdaptive : public GpuTest, public testing::WithParamInterface<Case> {};

TEST_P(GpuAdaptive, AgreesWithTheOracle) {
    const Problem problem = GetParam().problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    expect_oracle(problem, cube, steering, run_gpu(problem, cube, steering));
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuAdaptive, testing::ValuesIn(shapes_cases()));
INSTANTIATE_TEST_SUITE_P(Pairs, GpuAdaptive, testing::ValuesIn(pairs_cases()));
INSTANTIATE_TEST_SUITE_P(Options, GpuAdaptive, testing::ValuesIn(options_cases()));
INSTANTIATE_TEST_SUITE_P(Specialised, GpuAdaptive, testing::ValuesIn(specialised_cases()));
INSTANTIATE_TEST_SUITE_P(Windows, GpuAdaptive, testing::ValuesIn(windows_cases()));
INSTANTIATE_TEST_SUITE_P(Detectors, GpuAdaptive, testing::ValuesIn(detectors_cases()));
INSTANTIATE_TEST_SUITE_P(Cublas, GpuAdaptive,
                         testing::Values(Case{.implementation = Implementation::cublas},
                                         Case{.channels = 6,
                                              .range_cells = 130,
                                              .training_block = 64,
                                              .vectors = 16,
                                              .detector = Detector::amf,
                                              .loading = {0.1, true},
                                              .implementation = Implementation::cublas},
                                         Case{.range_cells = 32,
                                              .implementation = Implementation::cublas}));

constexpr auto cublas = Implementation::cublas;

class GpuCublas : public GpuTest {};

TEST_F(GpuCublas, WritesToTheRowsOfEveryRunsOutput) {
    const Problem problem = Case{.implementation = cublas}.problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    const HostResults wanted = run_gpu(problem, cube, steering);
    core::Gpu gpu;
    const auto device_cube = to_device(gpu, cube);
    DeviceResults results(gpu, HostResults(problem));
    auto views = results.views(problem);
    Pipeline<core::Gpu> pipeline(gpu, problem, steering.view());
    const auto [vectors, bins, cells] = wanted.output.extent();
    core::Array<cfloat, 3> padded({vectors, bins, cells + 3});
    core::Array<cfloat, 3, core::Device> output(padded.extent());
    for (const index_t pitch : {cells, cells + 3}) {
        views.output = {output.data(), {vectors, bins, cells}, {bins * pitch, pitch, 1}};
        pipeline.run(device_cube.view(), views, nullptr);
        to_host(gpu, output, padded);
        for (index_t row = 0; row < vectors * bins; ++row)
            for (index_t r = 0; r < cells; ++r)
                ASSERT_EQ(padded.data()[row * pitch + r], wanted.output.data()[row * cells + r])
                    << pitch << ", " << row << ", " << r;
    }
}

class GpuLoading : public GpuTest {};

TEST_F(GpuLoading, ChangesFromRunToRun) {
    for (const auto implementation :
         {Implementation::fused, Implementation::staged, Implementation::cublas}) {
        Case c{.implementation = implementation};
        const auto cube = noise_cube(c.problem());
        const auto steering = random_steering(c.problem());
        core::Gpu gpu;
        const auto device_cube = to_device(gpu, cube);
        Pipeline<core::Gpu> pipeline(gpu, c.problem(), steering.view());
        for (const DiagonalLoading loading : {DiagonalLoading{0.5}, DiagonalLoading{0.1, true}}) {
            c.loading = loading;
            const HostResults wanted = run_gpu(c.problem(), cube, steering);
            DeviceResults results(gpu, wanted);
            pipeline.set_loading(loading);
            pipeline.run(device_cube.view(), results.views(c.problem()), nullptr);
            HostResults found(c.problem());
            results.fetch(gpu, found);
            expect_same_bits(wanted, found);
        }
    }
}

class GpuFailure : public GpuTest {};

TEST_F(GpuFailure, StaysInItsTrainingSet) {
    for (const Case& c : failure_cases()) expect_failure_to_stay(c, run_gpu);
    expect_failure_to_stay({.range_cells = 64, .training_block = 32, .implementation = cublas},
                           run_gpu);
}

TEST_F(GpuFailure, NamesTheCellThatCarriesTheCovariance) {
    for (const Case& c : removed_cell_cases()) expect_removed_cell_to_be_named(c, run_gpu);
}

TEST_F(GpuFailure, CellAveragingLeavesOutWhatIsNotFinite) {
    expect_cell_averaging_to_leave_out_what_is_not_finite(run_gpu);
}

class GpuAccuracy : public GpuTest {};

TEST_F(GpuAccuracy, EveryMatrixOfPerfectsInput) {
    for (const char* size : {"small", "medium", "large"}) {
        expect_perfect_accuracy(size, Implementation::fused, run_gpu);
        expect_perfect_accuracy(size, staged, run_gpu);
    }
}

TEST_F(GpuAccuracy, WeightingOfPerfectsWhiteInput) {
    for (const char* size : {"small", "medium", "large"}) {
        expect_perfect_weighting(size, Implementation::fused, run_gpu);
        expect_perfect_weighting(size, staged, run_gpu);
    }
}

class GpuScale : public GpuTest, public testing::WithParamInterface<index_t> {};

TEST_P(GpuScale, EveryMatrixIsRight) {
    for (const Implementation implementation : {Implementation::fused, staged, cublas}) {
        expect_every_matrix(many_matrices(GetParam(), 4, implementation), run_gpu);
    }
    expect_every_matrix(many_matrices(GetParam(), 1, Implementation::fused), run_gpu);
}

INSTANTIATE_TEST_SUITE_P(Sets, GpuScale, testing::Values(65535, 65536, 65537, 600000));

class GpuAttempts : public GpuTest {};

TEST_F(GpuAttempts, RepeatAndLoadWhatNeedsIt) { expect_attempts(run_gpu); }

}  // namespace
}  // namespace aperture::stap::kernel_cases
