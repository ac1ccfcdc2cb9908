// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/stap/failure_cases.hpp"
#include "tests/stap/random_input.hpp"

// The fused pipeline of a CPU: sizes around its lanes and tiles, rows with padding, failures.

namespace aperture::stap::kernel_cases {
namespace {

/// Rows of range cells with `padding` elements between them that must not change.
template <class T, int Rank>
struct Padded {
    core::Array<T, Rank> whole;
    core::View<T, Rank, core::Host> view;

    Padded(core::Extents<Rank> extents, index_t padding, T value) {
        const index_t wanted = extents[Rank - 1];
        extents[Rank - 1] += padding;
        whole = core::Array<T, Rank>(extents);
        std::fill(whole.begin(), whole.end(), value);
        view = whole.view().slice(Rank - 1, 0, wanted);
    }
};

constexpr float untouched = 12345.0f;

template <class Values>
double snr_db(const Values& found, const auto& wanted) {
    oracle::SnrDb snr;
    for (index_t i = 0; i < wanted.size(); ++i)
        snr.add(wanted.data()[i], oracle::Complex(found.data()[i]));
    return snr.value();
}

class CpuFused : public testing::TestWithParam<std::pair<Case, index_t>> {};

// The covariance of N_R cells of white data has a condition of about (1 + sqrt(n/N_R))^2 / (1 -
// sqrt(n/N_R))^2. The weights lose that much of fp32's 130 dB.
TEST_P(CpuFused, AgreesWithTheOracle) {
    const auto& [c, padding] = GetParam();
    const Problem problem = c.problem();
    const core::Extents<3> map{c.vectors, c.doppler_bins, c.range_cells};
    const auto noise = random_normal<3>({c.channels, c.doppler_bins, c.range_cells}, 7);
    const auto steering = random_normal<2>({c.vectors, problem.order}, 8);
    Padded<cfloat, 3> cube(noise.extent(), padding, cfloat(untouched));
    for (index_t i = 0; i < c.channels; ++i)
        for (index_t k = 0; k < c.doppler_bins; ++k)
            std::copy_n(&noise(i, k, 0), c.range_cells, &cube.view(i, k, 0));
    Padded<cfloat, 3> output(map, padding, cfloat(untouched));
    Padded<float, 3> statistic(map, padding, untouched);
    HostResults results(problem);
    Results<core::Host> views = results.views(problem);
    views.output = output.view;
    views.statistic = statistic.view;
    core::Cpu cpu(2);
    Pipeline<core::Cpu>(cpu, problem, steering).run(cube.view, views, nullptr);

    const oracle::Adapted wanted = oracle::adapt(problem, oracle::widen(noise), steering);
    EXPECT_GE(snr_db(results.covariance, wanted.covariance), 130.0);
    EXPECT_GE(snr_db(results.weights, wanted.weights), 100.0);
    for (int info : results.info) EXPECT_EQ(info, 0);
    for (float ratio : results.pivot_ratio) EXPECT_TRUE(ratio >= 1 && std::isfinite(ratio));
    oracle::SnrDb snr;
    for (index_t d = 0; d < c.vectors; ++d)
        for (index_t k = 0; k < c.doppler_bins; ++k)
            for (index_t r = 0; r < c.range_cells + padding; ++r) {
                const bool inside = r < c.range_cells;
                if (inside) {
                    snr.add(wanted.output(d, k, r), oracle::Complex(output.whole(d, k, r)));
                } else {
                    ASSERT_EQ(output.whole(d, k, r), cfloat(untouched));
                }
                if (inside && c.detector != Detector::none) {
                    const double expected = wanted.statistic(d, k, r);
                    ASSERT_NEAR(statistic.whole(d, k, r), expected, 1e-3 * (1 + expected))
                        << d << " " << k << " " << r;
                } else {
                    ASSERT_EQ(statistic.whole(d, k, r), untouched);
                }
            }
    EXPECT_GE(snr.value(), 100.0);
}

/// L, T, K, N, N_R and D; K and N not multiples of lanes and blocks, odd sizes.
std::vector<std::pair<Case, index_t>> shapes() {
    return {{Case{4, 3, 32, 64, 32, 16}, 0},   {Case{6, 3, 48, 128, 64, 16}, 0},
            {Case{8, 3, 16, 128, 64, 16}, 0},  {Case{1, 3, 3, 7, 7, 1}, 0},
            {Case{1, 1, 1, 1, 1, 1}, 0},       {Case{1, 1, 5, 9, 4, 5}, 0},
            {Case{2, 3, 17, 41, 20, 5}, 0},    {Case{3, 5, 15, 67, 33, 17}, 0},
            {Case{5, 3, 37, 101, 47, 3}, 0},   {Case{7, 1, 33, 70, 64, 64}, 0},
            {Case{10, 5, 11, 150, 149, 2}, 0}, {Case{9, 1, 40, 97, 96, 7}, 0},
            {Case{23, 3, 4, 211, 200, 4}, 0},  {Case{70, 1, 3, 300, 290, 2}, 0},
            {Case{2, 1, 300, 10, 9, 2}, 0}};
}

std::vector<std::pair<Case, index_t>> options() {
    std::vector<std::pair<Case, index_t>> cases(15, {Case{4, 3, 19, 75, 34, 6}, 0});
    const auto of = [&](std::size_t i) -> Case& { return cases[i].first; };
    constexpr auto gauss_jordan = dense::Factorisation::gauss_jordan;
    of(0).detector = Detector::amf;
    of(1).detector = Detector::ace;
    of(2).detector = Detector::glrt;
    of(3) = {5, 1, 7, 80, 64, 3};
    of(3).detector = Detector::cfar;
    of(4) = {6, 3, 5, 128, 64, 5};
    of(4).detector = Detector::ace;
    of(5).taps = 5;
    of(5).channels = 3;
    of(5).detector = Detector::glrt;
    for (const std::size_t i : {4, 5, 6}) of(i).solver = gauss_jordan;
    for (const std::size_t i : {5, 7, 11, 14}) of(i).precision = Precision::mixed;
    of(8).loading = {0.5, false};
    of(9).loading = {0.1, true};
    of(9).training_block = 5;
    of(10).loading = {0.5, false};
    of(10).detector = of(11).detector = Detector::amf;
    of(11).loading = {0.1, true};
    cases[12].second = 5;
    of(13).range_cells = 64;
    of(13).training_block = 32;
    cases[13].second = 8;
    of(14).detector = Detector::glrt;
    cases[14].second = 3;
    return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CpuFused, testing::ValuesIn(shapes()));
INSTANTIATE_TEST_SUITE_P(Options, CpuFused, testing::ValuesIn(options()));

TEST(CpuPipeline, WritesCovariancesAndWeightsOnlyIfWanted) {
    const Problem problem = Case{.detector = Detector::ace}.problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    const HostResults all = run_cpu(problem, cube, steering);
    HostResults bare(problem);
    Results<core::Host> views = bare.views(problem);
    views.covariance = views.weights = {};
    core::Cpu cpu(2);
    Pipeline<core::Cpu>(cpu, problem, steering).run(cube, views, nullptr);
    EXPECT_TRUE(std::equal(all.output.begin(), all.output.end(), bare.output.begin()));
    EXPECT_TRUE(std::equal(all.statistic.begin(), all.statistic.end(), bare.statistic.begin()));
}

TEST(CpuFailure, StaysInItsTrainingSet) {
    for (Case c : {failure_cases()[0], failure_cases()[1]}) {
        c.detector = Detector::glrt;
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
            expect_failure_to_stay(c, run_cpu, bad);
    }
}

TEST(CpuFailure, CellAveragingLeavesOutWhatIsNotFinite) {
    expect_cell_averaging_to_leave_out_what_is_not_finite(run_cpu);
}

TEST(CpuFailure, NamesTheCellThatCarriesTheCovariance) {
    for (const Case& c : removed_cell_cases()) expect_removed_cell_to_be_named(c, run_cpu);
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
