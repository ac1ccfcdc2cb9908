// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/false_alarm_rate.hpp"

#include <cmath>

#include "aperture/stap/detection.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/stap/owned_results.hpp"

namespace aperture::stap::false_alarms {

using core::Host;

namespace {

constexpr int pulses = 16;
constexpr double azimuth_degrees = 20;

const char* name(Detector detector) {
    switch (detector) {
        case Detector::amf:
            return "amf";
        case Detector::ace:
            return "ace";
        case Detector::glrt:
            return "glrt";
        case Detector::cfar:
            return "cfar";
        default:
            return "none";
    }
}

/// Number of values above the thresholds of their range cells.
double exceedances(core::View<const float, 3, Host> statistic,
                   const std::vector<double>& thresholds) {
    const auto [directions, bins, cells] = statistic.extent;
    double count = 0;
    for (index_t r = 0; r < cells; ++r)
        for (index_t k = 0; k < bins; ++k)
            count += statistic(0, k, r) > thresholds[static_cast<std::size_t>(r)];
    return count;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Case& c) {
    const char* trainings[] = {"block", "sliding", "all"};
    return out << name(c.detector) << ' ' << trainings[static_cast<int>(c.training)] << " n "
               << c.order() << " N_R " << c.training_block << " G " << c.guard << ' '
               << (c.solver == dense::Factorisation::cholesky ? "cholesky" : "gauss-jordan")
               << " CNR " << c.cnr_db << " dB";
}

Problem problem_of(const Case& c, index_t range_cells) {
    Parameters p;
    p.training_block = c.training_block;
    p.training = c.training;
    p.guard = c.guard;
    p.temporal_taps = c.taps;
    p.detector = c.detector;
    p.solver = c.solver;
    p.implementation = c.implementation;
    p.precision = c.precision;
    return make_problem({c.channels, pulses, range_cells, Domain::pulse}, p, 1);
}

core::Array<cfloat, 3> draw(core::Cpu& cpu, const Case& c, index_t range_cells, int seed) {
    ClutterScene scene;
    scene.shape = {c.channels, pulses, range_cells, Domain::pulse};
    scene.cnr_db = c.cnr_db;
    scene.seed = static_cast<std::uint64_t>(seed);
    return simulate(cpu, scene);
}

core::Array<cfloat, 2> steering_of(const Problem& problem) {
    const Parameters& p = problem.parameters;
    return steering_vectors(
        static_cast<int>(problem.shape.channels), 0.5, {azimuth_degrees},
        temporal_response(p.taper, pulses, problem.doppler_bins, p.temporal_taps));
}

std::vector<Case> covering_cases() {
    // Indices of CNR, order, cells, detector, training and solver, found by a search.
    constexpr int rows[15][6] = {{0, 0, 1, 0, 2, 0}, {1, 1, 1, 1, 0, 1}, {2, 2, 2, 1, 1, 0},
                                 {3, 0, 2, 1, 2, 1}, {4, 1, 2, 1, 2, 0}, {0, 2, 2, 2, 0, 1},
                                 {1, 0, 2, 0, 1, 0}, {2, 1, 0, 0, 2, 1}, {3, 2, 0, 0, 0, 0},
                                 {4, 0, 0, 2, 0, 1}, {0, 1, 0, 1, 1, 0}, {1, 2, 0, 2, 2, 1},
                                 {2, 0, 1, 2, 0, 0}, {3, 1, 1, 2, 1, 1}, {4, 2, 1, 0, 1, 1}};
    constexpr double cnr_db[] = {0, 40, 53, 60, 80};
    constexpr int channels[] = {4, 8, 20};
    constexpr int taps[] = {1, 3, 3};
    constexpr Detector detectors[] = {Detector::amf, Detector::ace, Detector::glrt};
    constexpr Training trainings[] = {Training::block, Training::sliding, Training::all};
    constexpr dense::Factorisation solvers[] = {dense::Factorisation::cholesky,
                                                dense::Factorisation::gauss_jordan};
    std::vector<Case> cases;
    for (const auto& row : rows) {
        Case c;
        c.cnr_db = cnr_db[row[0]];
        c.channels = channels[row[1]];
        c.taps = taps[row[1]];
        const int cells[] = {c.order() + 2, 2 * c.order(), 64};
        c.training_block = cells[row[2]];
        c.detector = detectors[row[3]];
        c.training = trainings[row[4]];
        c.solver = solvers[row[5]];
        cases.push_back(c);
    }
    return cases;
}

Run on_cpu(core::Cpu& cpu) {
    return [&cpu](const Problem& problem, core::View<const cfloat, 3, Host> cube,
                  core::View<const cfloat, 2, Host> steering, const Results<Host>& results) {
        Pipeline<core::Cpu>(cpu, problem, steering).run(cube, results, nullptr);
    };
}

#if APERTURE_CUDA
Run on_gpu(core::Gpu& gpu) {
    return [&gpu](const Problem& problem, core::View<const cfloat, 3, Host> cube,
                  core::View<const cfloat, 2, Host> steering, const Results<Host>& results) {
        run_streamed(gpu, problem, cube, steering, results, 0, nullptr);
    };
}
#endif

std::vector<Rate> measure(core::Cpu& cpu, const Run& run, const Case& c,
                          const std::vector<double>& pfa, int seeds, index_t range_cells) {
    const Problem problem = problem_of(c, range_cells);
    const auto steering = steering_of(problem);
    OwnedResults results(problem);
    std::vector<std::vector<double>> thresholds;
    for (const double p : pfa) thresholds.push_back(detection_thresholds(problem, p));
    std::vector<double> sum(pfa.size(), 0), squares(pfa.size(), 0);
    for (int seed = 1; seed <= seeds; ++seed) {
        const auto cube = draw(cpu, c, range_cells, seed);
        Results<Host> views = results.views();
        views.covariance = {};
        views.weights = {};
        run(problem, cube.view(), steering.view(), views);
        for (std::size_t i = 0; i < pfa.size(); ++i) {
            const double expected = pfa[i] * double(problem.doppler_bins) * double(range_cells);
            const double ratio = exceedances(results.statistic.view(), thresholds[i]) / expected;
            sum[i] += ratio;
            squares[i] += ratio * ratio;
        }
    }
    std::vector<Rate> rates;
    for (std::size_t i = 0; i < pfa.size(); ++i) {
        const double mean = sum[i] / seeds;
        const double variance = std::max(squares[i] / seeds - mean * mean, 0.0);
        rates.push_back({pfa[i], mean, std::sqrt(variance / (seeds - 1))});
    }
    return rates;
}

}  // namespace aperture::stap::false_alarms
