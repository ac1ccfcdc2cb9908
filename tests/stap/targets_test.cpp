// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "aperture/stap/attempts.hpp"
#include "aperture/stap/simulation.hpp"
#include "tests/stap/kernel_cases.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/problem_with_statistic.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

using oracle::Complex;
using oracle::Matrix;
using oracle::Vector;
using std::numbers::pi;

/// A run with its inputs.
struct Observation {
    Problem problem;
    DirectionGrid grid;
    core::Array<cfloat, 2> steering;
    core::Array<cfloat, 3> cube;
    OwnedResults results;
    core::Cpu cpu{2};

    Observation(const Problem& p, DirectionGrid directions, core::Array<cfloat, 3> samples)
        : problem(p), grid(std::move(directions)), cube(std::move(samples)), results(p) {
        const Parameters& of = p.parameters;
        const auto response = temporal_response(of.taper, static_cast<int>(p.shape.pulses),
                                                p.doppler_bins, of.temporal_taps);
        steering = steering_vectors(grid.elements, grid.directions, response);
        Pipeline<core::Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);
    }

    std::vector<Detection> detections(double pfa = 1e-6) const {
        return find_detections(problem, pfa, results.statistic, grid.row_length);
    }
    MergedDetections merge(const std::vector<Detection>& detections) {
        return merge_detections(cpu, problem, steering, grid, cube, results.views(), detections);
    }
};

DirectionGrid line_of_azimuths(int channels, double first, double last, int count) {
    DirectionGrid grid{uniform_line(channels, 0.5), {}, 0};
    for (int i = 0; i < count; ++i)
        grid.directions.push_back({first + (last - first) * i / (count - 1), 0});
    return grid;
}

/// Two rows of three elements, three elevations of five azimuths.
DirectionGrid planar_grid() {
    DirectionGrid grid{{}, {}, 5};
    for (int row = 0; row < 2; ++row)
        for (int column = 0; column < 3; ++column)
            grid.elements.push_back({0.5 * column, 0.5 * row, 0.0});
    for (const double elevation : {-30.0, 0.0, 25.0})
        for (const double azimuth : {-45.0, -20.0, 0.0, 15.0, 40.0})
            grid.directions.push_back({azimuth, elevation});
    return grid;
}

struct Wave {
    index_t range_cell;
    double doppler;
    Direction direction;
    double amplitude;
};

/// Unit noise and waves in the pulse domain.
core::Array<cfloat, 3> cube_of(const CubeShape& shape, const std::vector<ElementPosition>& elements,
                               const std::vector<Wave>& waves, unsigned seed) {
    auto cube = random_normal<3>({shape.channels, shape.pulses, shape.range_cells}, seed);
    for (const Wave& wave : waves) {
        const auto space = spatial_steering(elements, wave.direction);
        for (index_t c = 0; c < shape.channels; ++c)
            for (index_t p = 0; p < shape.pulses; ++p)
                cube(c, p, wave.range_cell) +=
                    cfloat(space[std::size_t(c)] *
                           std::polar(wave.amplitude, 2 * pi * wave.doppler * double(p)));
    }
    return cube;
}

/// D(delta) by its definition.
Complex pulse_response(const Problem& problem, double delta) {
    const bool pulses = problem.shape.domain == Domain::pulse;
    const auto count = static_cast<int>(problem.shape.pulses);
    const std::vector<double> taper =
        signal::taper_weights(pulses ? problem.parameters.taper : signal::Taper{}, count);
    Complex sum = 0;
    for (int p = 0; p < count; ++p) sum += std::polar(taper[std::size_t(p)], 2 * pi * delta * p);
    return sum;
}

/// w / |w^H v| of a detection, with the cell under test left out of its covariance; zero where that
/// is singular.
Vector filter_of(const Observation& run, const oracle::Cube& cube, const Detection& b) {
    const Problem& p = run.problem;
    oracle::Estimate e = oracle::weight_estimate(p, cube, b.doppler_bin, b.range_cell);
    double trained = e.sum.trace().real();
    if (p.parameters.training == Training::all) {
        const RangeSpan left_out = training_window(p, b.range_cell).excluded;
        for (index_t r = left_out.begin; r < left_out.end; ++r)
            trained += oracle::snapshot(p, cube, b.doppler_bin, r).squaredNorm();
    }
    if (p.parameters.training == Training::block) {
        const Vector x = oracle::snapshot(p, cube, b.doppler_bin, b.range_cell);
        e.sum -= x * x.adjoint();
    }
    const int attempt = run.results.attempt(b.doppler_bin, training_set_of(p, b.range_cell));
    e.sum +=
        Matrix(automatic_loading(attempt) * trained / p.order * Matrix::Identity(p.order, p.order));
    const Vector v = oracle::steering_vector(run.steering, b.steering_vector);
    const auto w = oracle::solve(e.sum, v);
    return w ? Vector(*w / std::abs(w->dot(v))) : Vector(Vector::Zero(p.order));
}

/// The snapshots in the bin of B of the wave of A, 1 in the bin of A's strongest detection.
Vector wave_in_bin(const Observation& run, const EstimatedTarget& a, const Detection& b) {
    const Problem& p = run.problem;
    const int taps = p.parameters.temporal_taps;
    const bool known = !run.grid.directions.empty();
    std::vector<Complex> space;
    if (known)
        space = spatial_steering(run.grid.elements, {a.azimuth_degrees, a.elevation_degrees});
    Vector s(p.order);
    for (int i = 0; i < p.order; ++i) {
        const int bin = b.doppler_bin - (taps - 1) / 2 + i % taps;
        const int middle = i / taps * taps + taps / 2;
        s(i) = (known ? space[std::size_t(i / taps)]
                      : Complex(run.steering(a.strongest.steering_vector, middle))) *
               pulse_response(p, a.doppler - double(bin) / p.doppler_bins) /
               pulse_response(p, a.doppler - double(a.strongest.doppler_bin) / p.doppler_bins);
    }
    return s;
}

/// Targets of detections as merge_detections should assign them by README.md, given the positions
/// of `merged`.
std::vector<int> expected_assignment(const Observation& run,
                                     const std::vector<Detection>& detections,
                                     const MergedDetections& merged) {
    const oracle::Cube cube = kernel_cases::doppler_cube_of(run.problem, run.cube);
    std::vector<Vector> filters;
    for (const Detection& d : detections) filters.push_back(filter_of(run, cube, d));
    std::vector<int> assigned;
    std::vector<std::size_t> strongest;  // detections of targets
    for (std::size_t i = 0; i < detections.size(); ++i) {
        const Detection& b = detections[i];
        const auto output = [&](std::size_t of) {
            const Vector x =
                oracle::snapshot(run.problem, cube, detections[of].doppler_bin, b.range_cell);
            return std::abs(filters[of].dot(x));
        };
        double most = 0;
        int found = -1;
        for (std::size_t t = 0; t < strongest.size(); ++t) {
            const EstimatedTarget& a = merged.targets.at(t);
            if (std::abs(a.strongest.range_cell - b.range_cell) > 1) continue;
            const double shown =
                output(strongest[t]) * std::abs(filters[i].dot(wave_in_bin(run, a, b)));
            if (shown > most) {
                most = shown;
                found = static_cast<int>(t);
            }
        }
        if (found < 0 || output(i) > 2 * most) {
            found = static_cast<int>(strongest.size());
            strongest.push_back(i);
        }
        assigned.push_back(found);
    }
    return assigned;
}

struct MergeCase {
    const char* name;
    Training training;
    int guard;
    int taps;
    int doppler_bins;
    signal::Taper::Kind taper = signal::Taper::Kind::none;
    bool planar = false;
    bool unknown_directions = false;
    bool doppler_domain = false;
    DiagonalLoading loading{};
    int training_block = 40;
};
void PrintTo(const MergeCase& c, std::ostream* stream) { *stream << c.name; }

class Merge : public testing::TestWithParam<MergeCase> {
  protected:
    static Observation run() {
        const MergeCase& c = GetParam();
        const DirectionGrid grid = c.planar ? planar_grid() : line_of_azimuths(6, -60, 60, 17);
        Parameters parameters;
        parameters.training = c.training;
        parameters.guard = c.guard;
        parameters.temporal_taps = c.taps;
        parameters.doppler_bins = c.doppler_bins;
        parameters.taper.kind = c.taper;
        parameters.training_block = c.training_block;
        parameters.loading = c.loading;
        parameters.detector = Detector::amf;
        CubeShape shape{6, 16, 100, Domain::pulse};
        auto cube = cube_of(shape, grid.elements,
                            {{20, 0.13, {12, 5}, 8},
                             {21, 0.35, {-33, -20}, 6},
                             {60, -0.29, {3, 20}, 12},
                             {60, 0.21, {40, 0}, 2.5},
                             {99, -0.5, {-8, -4}, 5}},
                            11);
        if (c.doppler_domain) {
            shape.domain = Domain::doppler;
            parameters.doppler_bins = 0;
            const auto bins = oracle::doppler(cube, std::vector<double>(16, 1), 16);
            std::transform(bins.begin(), bins.end(), cube.begin(),
                           [](const Complex& x) { return cfloat(x); });
        }
        return {make_problem(shape, parameters, int(grid.directions.size())), grid,
                std::move(cube)};
    }
};

using enum Training;
INSTANTIATE_TEST_SUITE_P(
    Runs, Merge,
    testing::Values(
        MergeCase{"block", block, 0, 3, 16}, MergeCase{"block_padded", block, 0, 3, 40},
        MergeCase{"block_one_tap_taper", block, 0, 1, 32, signal::Taper::Kind::hamming},
        MergeCase{"block_absolute_loading", block, 0, 3, 16, {}, false, false, false, {3, false}},
        MergeCase{"sliding", sliding, 0, 3, 16}, MergeCase{"sliding_guard", sliding, 2, 3, 32},
        MergeCase{
            "sliding_relative_loading", sliding, 1, 3, 16, {}, false, false, false, {0.1, true}},
        MergeCase{"all", all, 0, 3, 16}, MergeCase{"all_guard_padded", all, 2, 3, 64},
        MergeCase{"all_loading", all, 1, 1, 16, {}, false, false, false, {0.2, true}},
        MergeCase{"all_taper", all, 2, 5, 32, signal::Taper::Kind::hann},
        MergeCase{"planar", all, 1, 3, 16, {}, true},
        MergeCase{"planar_block", block, 0, 1, 32, {}, true},
        MergeCase{"unknown_directions", all, 2, 3, 32, {}, false, true},
        MergeCase{"doppler_domain", sliding, 1, 3, 16, {}, false, false, true}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(Merge, AssignsByWhatFiltersShow) {
    Observation given = run();
    if (GetParam().unknown_directions) given.grid = {};
    const auto detections = given.detections(1e-4);
    const MergedDetections merged = given.merge(detections);
    EXPECT_EQ(merged.target_of, expected_assignment(given, detections, merged));
    // Waves are found, and have side lobes.
    EXPECT_GE(merged.targets.size(), 3u);
    EXPECT_LT(merged.targets.size(), detections.size());
    std::vector<int> counts(merged.targets.size(), 0);
    for (const int target : merged.target_of) ++counts[std::size_t(target)];
    for (std::size_t t = 0; t < counts.size(); ++t) {
        EXPECT_EQ(merged.targets[t].detections, counts[t]);
        EXPECT_GE(merged.targets[t ? t - 1 : 0].strongest.statistic,
                  merged.targets[t].strongest.statistic);
        EXPECT_EQ(std::isnan(merged.targets[t].azimuth_degrees), GetParam().unknown_directions);
        EXPECT_EQ(std::isnan(merged.targets[t].elevation_degrees), GetParam().unknown_directions);
    }
}

TEST_P(Merge, DoesNotDependOnThreads) {
    Observation given = run();
    const auto detections = given.detections();
    const auto one = given.merge(detections);
    given.cpu = core::Cpu(3);
    const auto three = given.merge(detections);
    EXPECT_EQ(one.target_of, three.target_of);
    for (std::size_t t = 0; t < one.targets.size(); ++t) {
        EXPECT_EQ(one.targets[t].doppler, three.targets[t].doppler);
        EXPECT_EQ(one.targets[t].statistic, three.targets[t].statistic);
    }
}

TEST_P(Merge, AllVectorsOfSomeCells) {
    Observation given = run();
    std::vector<Detection> detections;
    double statistic = 1000;
    for (const index_t cell : {60, 61, 59})
        for (const int bin : {11, 3})
            for (int d = 0; d < given.problem.steering_vectors; ++d)
                detections.push_back({d, bin, cell, statistic--, 1});
    const MergedDetections merged = given.merge(detections);
    EXPECT_EQ(merged.target_of, expected_assignment(given, detections, merged));
}

TEST(Targets, HaveTheLoadingOfTheRun) {
    const DirectionGrid grid = line_of_azimuths(6, -60, 60, 17);
    const CubeShape shape{6, 16, 100, Domain::pulse};
    auto cube = cube_of(shape, grid.elements, {{60, -0.29, {3, 0}, 12}}, 11);
    // The last two channels are one: nothing but loading makes R definite.
    for (index_t p = 0; p < 16; ++p)
        for (index_t r = 0; r < 100; ++r) cube(5, p, r) = cube(4, p, r);
    for (const Training training : {block, sliding, all}) {
        Parameters parameters;
        parameters.training = training;
        parameters.training_block = 40;
        parameters.temporal_taps = 1;
        parameters.doppler_bins = 32;
        parameters.detector = Detector::amf;
        core::Array<cfloat, 3> copy(cube.extent());
        std::copy(cube.begin(), cube.end(), copy.begin());
        Observation given(make_problem(shape, parameters, 17), grid, std::move(copy));
        std::fill(given.results.attempt.begin(), given.results.attempt.end(), last_attempt);
        std::vector<Detection> detections;
        double statistic = 1000;
        for (const int bin : {23, 20, 26, 3})
            for (const int d : {8, 3, 14}) detections.push_back({d, bin, 60, statistic--, 1});
        const MergedDetections merged = given.merge(detections);
        EXPECT_LT(merged.targets.size(), detections.size());
        EXPECT_EQ(merged.target_of, expected_assignment(given, detections, merged));
    }
}

/// A simulated scene observed by a line of eight elements.
Observation simulated(const std::vector<Target>& targets, Training training, double cnr_db) {
    ClutterScene scene;
    scene.shape = {8, 32, 256, Domain::pulse};
    scene.cnr_db = cnr_db;
    scene.patches = 91;
    scene.targets = targets;
    Parameters parameters;
    parameters.training = training;
    parameters.guard = training == block ? 0 : 2;
    parameters.training_block = 96;
    parameters.doppler_bins = 64;
    parameters.detector = Detector::amf;
    core::Cpu cpu;
    return {make_problem(scene.shape, parameters, 31), line_of_azimuths(8, -60, 60, 31),
            simulate(cpu, scene)};
}

TEST(Targets, PlantedOneIsOneAtItsPosition) {
    const Target planted{120, 0.2655, 13, 12};
    for (const Training training : {block, sliding, all})
        for (const double cnr_db : {-double(INFINITY), 40.0}) {
            SCOPED_TRACE(testing::Message()
                         << "training " << static_cast<int>(training) << ", CNR " << cnr_db);
            Observation run = simulated({planted}, training, cnr_db);
            const auto detections = run.detections();
            EXPECT_GT(detections.size(), 3u);
            const auto merged = run.merge(detections);
            ASSERT_EQ(merged.targets.size(), 1u);
            const EstimatedTarget& target = merged.targets[0];
            EXPECT_NEAR(target.range_cell, 120, 0.1);
            // Clutter tilts the statistic over Doppler.
            EXPECT_NEAR(target.doppler, 0.2655, 0.15 / 32);
            // The beam is 13 degrees wide.
            EXPECT_NEAR(target.azimuth_degrees, 13, 1);
            EXPECT_EQ(target.elevation_degrees, 0);
            EXPECT_EQ(target.detections, static_cast<int>(detections.size()));
            EXPECT_GE(target.statistic, target.strongest.statistic);
        }
}

TEST(Targets, TwoInOneCellStayTwo) {
    // Apart in Doppler, in azimuth, and by one range cell.
    for (const Target& other :
         {Target{120, 0.375, 13, 10}, Target{120, 0.2655, -25, 10}, Target{121, -0.2, -20, 6}}) {
        Observation run = simulated({{120, 0.2655, 13, 10}, other}, all, -INFINITY);
        const auto merged = run.merge(run.detections());
        ASSERT_EQ(merged.targets.size(), 2u);
        const bool first =
            std::abs(merged.targets[0].azimuth_degrees - other.azimuth_degrees) < 2 &&
            std::abs(merged.targets[0].doppler - other.doppler) < 0.01;
        const EstimatedTarget& found = merged.targets[first ? 0 : 1];
        EXPECT_NEAR(found.doppler, other.doppler, 0.1 / 32);
        EXPECT_NEAR(found.azimuth_degrees, other.azimuth_degrees, 1.5);
        EXPECT_NEAR(found.range_cell, double(other.range_cell), 0.2);
    }
}

TEST(Targets, PositionInElevation) {
    DirectionGrid grid{{}, {}, 9};
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column)
            grid.elements.push_back({0.5 * column, 0.5 * row, 0.0});
    for (int elevation = -30; elevation <= 30; elevation += 10)
        for (int azimuth = -40; azimuth <= 40; azimuth += 10)
            grid.directions.push_back({double(azimuth), double(elevation)});
    Parameters parameters;
    parameters.training = all;
    parameters.temporal_taps = 1;
    parameters.detector = Detector::amf;
    const CubeShape shape{16, 16, 200, Domain::pulse};
    const Problem problem = make_problem(shape, parameters, 63);
    Observation run(problem, grid, cube_of(shape, grid.elements, {{70, 0.25, {-17, 14}, 4}}, 4));
    const auto merged = run.merge(run.detections());
    ASSERT_EQ(merged.targets.size(), 1u);
    EXPECT_NEAR(merged.targets[0].azimuth_degrees, -17, 1);
    EXPECT_NEAR(merged.targets[0].elevation_degrees, 14, 1);
}

TEST(Targets, OfNoDetectionsAreNone) {
    ProblemWithStatistic made;
    EXPECT_TRUE(made.merge({}).targets.empty());
    EXPECT_TRUE(made.merge({}).target_of.empty());
}

TEST(Targets, WithoutCovarianceAreTheirOwn) {
    ProblemWithStatistic made;
    // No energy in two bins: nothing to factor, nothing that a filter shows.
    for (index_t c = 0; c < 2; ++c)
        for (index_t r = 0; r < 30; ++r) made.cube(c, 2, r) = made.cube(c, 3, r) = 0;
    made.cube(0, 5, 4) = NAN;
    const std::vector<Detection> detections{
        {1, 2, 5, 9, 1}, {1, 3, 5, 8, 1}, {7, 2, 5, 7, 1}, {1, 5, 5, 6, 1}, {1, 6, 5, 5, 1}};
    const auto merged = made.merge(detections);
    EXPECT_EQ(merged.target_of, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Targets, FarInRangeAreTheirOwn) {
    ProblemWithStatistic made;
    // The same direction and bin, two cells apart, and between them.
    EXPECT_EQ(made.merge({{5, 3, 9, 9, 1}, {5, 3, 11, 8, 1}}).target_of, (std::vector<int>{0, 1}));
    EXPECT_EQ(made.merge({{5, 3, 9, 9, 1}, {5, 3, 10, 8, 1}, {5, 3, 8, 7, 1}}).target_of,
              (std::vector<int>{0, 0, 0}));
}

TEST(Targets, OfMoreThanOneRunAreThoseOfOne) {
    Observation run = simulated({{120, 0.2655, 13, 12}}, all, 40);
    Problem half = run.problem;
    OwnedResults joined(run.problem);
    for (const auto& [first, last] : {std::pair{0, 16}, std::pair{16, 31}}) {
        half.steering_vectors = last - first;
        Results<core::Host> part = joined.views();
        part.output = part.output.slice(0, first, last);
        part.statistic = part.statistic.slice(0, first, last);
        Pipeline<core::Cpu>(run.cpu, half, run.steering.view().slice(0, first, last))
            .run(run.cube, part, nullptr);
    }
    EXPECT_TRUE(std::equal(joined.statistic.begin(), joined.statistic.end(),
                           run.results.statistic.begin()));
    const auto detections = run.detections();
    EXPECT_EQ(merge_detections(run.cpu, run.problem, run.steering, run.grid, run.cube,
                               joined.views(), detections)
                  .target_of,
              run.merge(detections).target_of);
}

TEST(Targets, RefuseWhatDoesNotFit) {
    using Error = core::InvalidArgument;
    const std::vector<Detection> one{{5, 3, 9, 9, 1}};
    const auto refuses = [&](void (*spoil)(ProblemWithStatistic&)) {
        ProblemWithStatistic made;
        spoil(made);
        EXPECT_THROW(made.merge(one), Error);
    };
    refuses([](ProblemWithStatistic& m) { m.problem.parameters.detector = Detector::none; });
    refuses([](ProblemWithStatistic& m) { m.steering = random_normal<2>({12, 3}, 1); });
    refuses([](ProblemWithStatistic& m) { m.grid.row_length = 5; });
    refuses([](ProblemWithStatistic& m) { m.grid.directions.pop_back(); });
    refuses([](ProblemWithStatistic& m) { m.grid.elements.pop_back(); });
    refuses([](ProblemWithStatistic& m) { m.cube = random_normal<3>({2, 8, 29}, 1); });
    refuses([](ProblemWithStatistic& m) { m.results.statistic.reshape({11, 8, 30}); });
    refuses([](ProblemWithStatistic& m) { m.results.attempt.reshape({8, 2}); });
    ProblemWithStatistic made;
    for (const Detection& outside : {Detection{12, 0, 0, 1, 1}, Detection{-1, 0, 0, 1, 1},
                                     Detection{0, 8, 0, 1, 1}, Detection{0, 0, 30, 1, 1}})
        EXPECT_THROW(made.merge({outside}), Error);
    EXPECT_THROW(made.merge({{5, 3, 9, 9, 1}, {5, 3, 20, 10, 1}}), Error);
    EXPECT_NO_THROW(made.merge(one));
}

}  // namespace
}  // namespace aperture::stap
