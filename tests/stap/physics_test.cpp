// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"

// Predictions of the theory of adaptive arrays for the whole pipeline, on simulated scenes.

namespace aperture::stap {
namespace {

using core::Cpu;
using oracle::Complex;
using oracle::Matrix;
using oracle::Vector;

ClutterScene clutter_and_jammer(const CubeShape& shape) {
    ClutterScene scene;
    scene.shape = shape;
    scene.cnr_db = 40;
    scene.patches = 61;
    scene.jammers = {{-40, 30}};
    return scene;
}

/// Reed, Mallett & Brennan 1974: with N_R training cells of order n, the mean SINR of the sample
/// weights is (N_R + 2 - n) / (N_R + 1) of the maximum.
TEST(Physics, SinrLossFollowsReedMallettBrennan) {
    const ClutterScene scene = clutter_and_jammer({4, 16, 36 * 250, Domain::pulse});
    Parameters parameters;
    parameters.doppler_bins = 16;
    parameters.training_block = 36;
    Cpu cpu;
    const auto cube = simulate(cpu, scene);
    const auto steering = steering_vectors(4, 0.5, {20}, temporal_response({}, 16, 16, 3));
    const Problem problem = make_problem(scene.shape, parameters, 1);
    OwnedResults results(problem);
    Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);

    const std::vector<Matrix> truth = oracle::snapshot_covariances(scene, 16, 3);
    const Vector v = oracle::steering_vector(steering, 0);
    double sum = 0;
    double sum_of_squares = 0;
    for (index_t b = 0; b < problem.training_sets; ++b) {
        double loss = 0;
        // Bins whose snapshots share no Doppler bin.
        const std::vector<index_t> bins = {1, 4, 7, 10, 13};
        for (index_t k : bins) {
            const Matrix& r = truth[static_cast<std::size_t>(k)];
            Vector w(problem.order);
            for (index_t i = 0; i < problem.order; ++i) w(i) = Complex(results.weights(k, b, 0, i));
            const double sinr = std::norm(w.dot(v)) / w.dot(r * w).real();
            const double best = v.dot(*oracle::solve(r, v)).real();
            loss += sinr / best / double(bins.size());
        }
        sum += loss;
        sum_of_squares += loss * loss;
    }
    const auto blocks = static_cast<double>(problem.training_sets);
    const double mean = sum / blocks;
    const double error = std::sqrt((sum_of_squares / blocks - mean * mean) / blocks);
    EXPECT_LT(error, 0.01);
    EXPECT_NEAR(mean, (36.0 + 2 - 12) / (36 + 1), 4 * error);
}

/// gamma w^H v = 1, tested from outside: a cell that contains v and is not a training cell yields y
/// = 1.
TEST(Physics, SteeringVectorPassesUndistorted) {
    const CubeShape shape{4, 16, 96, Domain::doppler};
    const ClutterScene scene = clutter_and_jammer({4, 16, 96, Domain::pulse});
    Cpu cpu;
    const auto steering = steering_vectors(4, 0.5, {-30, 10, 55}, {1.0});
    for (Training training : {Training::sliding, Training::all}) {
        Parameters parameters;
        parameters.training = training;
        parameters.training_block = 32;
        parameters.temporal_taps = 1;
        auto cube = simulate(cpu, scene);
        constexpr index_t cell = 40;
        for (index_t k = 0; k < 16; ++k)
            for (index_t c = 0; c < 4; ++c) cube(c, k, cell) = steering(k % 3, c);
        const Problem problem = make_problem(shape, parameters, 3);
        OwnedResults results(problem);
        Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);
        for (index_t k = 0; k < 16; ++k)
            EXPECT_LT(std::abs(results.output(k % 3, k, cell) - cfloat(1)), 1e-4f) << "bin " << k;
    }
}

/// Targets in clutter and jamming, observed by a fan of beams, and a classification of detections.
class PlantedTargets {
  public:
    /// Which targets are found, and the numbers of other detections by kind.
    struct Tally {
        std::vector<bool> found;
        int side_lobes = 0;
        int false_alarms = 0;
    };

    /// The cube contains `known` and `ghosts`; only `known` count as targets.
    explicit PlantedTargets(const std::vector<Target>& known,
                            const std::vector<Target>& ghosts = {})
        : known_(known), scene_(clutter_and_jammer({channels, pulses, 512, Domain::pulse})) {
        scene_.targets = known;
        scene_.targets.insert(scene_.targets.end(), ghosts.begin(), ghosts.end());
        for (int azimuth = -60; azimuth <= 60; azimuth += azimuth_step)
            azimuths_.push_back(azimuth);
        steering_ = steering_vectors(channels, spacing, azimuths_,
                                     temporal_response({}, pulses, pulses, taps));
        for (const Target& target : known_) responses_.push_back(true_response(target));
    }

    Problem problem(Training training) const {
        Parameters parameters;
        parameters.training = training;
        parameters.temporal_taps = taps;
        parameters.detector = Detector::amf;
        parameters.guard = training == Training::block ? 0 : 2;
        return make_problem(scene_.shape, parameters, static_cast<int>(azimuths_.size()));
    }

    Tally detect(Training training, double pfa) {
        const Problem given = problem(training);
        OwnedResults results(given);
        Pipeline<Cpu>(cpu_, given, steering_).run(simulate(cpu_, scene_), results.views(), nullptr);
        Tally tally{std::vector<bool>(known_.size(), false)};
        for (const Detection& detection : find_detections(given, pfa, results.statistic)) {
            const auto target =
                std::find_if(known_.begin(), known_.end(), [&](const Target& candidate) {
                    return candidate.range_cell == detection.range_cell;
                });
            if (target == known_.end()) {
                ++tally.false_alarms;
                continue;
            }
            const auto i = static_cast<std::size_t>(target - known_.begin());
            if (in_main_lobe(*target, detection.steering_vector, detection.doppler_bin)) {
                if (is_at(*target, detection)) tally.found[i] = true;
            } else if (is_side_lobe(responses_[i], detection)) {
                ++tally.side_lobes;
            } else {
                ++tally.false_alarms;
            }
        }
        return tally;
    }

    /// The maximum number of side lobes: peaks of the targets' true responses outside their main
    /// lobes, at most 3 dB below the threshold.
    int expected_side_lobes(double threshold) const {
        int count = 0;
        for (std::size_t i = 0; i < known_.size(); ++i)
            for (int d = 0; d < static_cast<int>(azimuths_.size()); ++d)
                for (int k = 0; k < pulses; ++k)
                    count += !in_main_lobe(known_[i], d, k) && is_peak(responses_[i], d, k) &&
                             responses_[i](d, k) >= threshold / 2;
        return count;
    }

  private:
    using Response = core::Array<double, 2>;
    static constexpr int channels = 6;
    static constexpr int pulses = 32;  // and Doppler bins
    static constexpr int taps = 3;
    static constexpr int main_lobe_bins = 1 + (taps - 1) / 2;
    static constexpr double spacing = 0.5;
    static constexpr int azimuth_step = 5;
    /// Minimum side lobe relative to the threshold. A side lobe of -10 dB exceeds the threshold if
    /// noise has the amplitude 0.7; noise alone would need 1.
    static constexpr double least_lobe = 0.1;

    static double bins_from(const Target& target, int k) {
        return std::remainder(k - target.doppler * pulses, double(pulses));
    }

    /// At most one Doppler bin and one beam from the target.
    bool is_at(const Target& target, const Detection& detection) const {
        const double azimuth = azimuths_[static_cast<std::size_t>(detection.steering_vector)];
        return std::abs(bins_from(target, detection.doppler_bin)) <= 1 &&
               std::abs(azimuth - target.azimuth_degrees) <= azimuth_step;
    }

    /// Within the main lobe from null to null: on either side, one over the aperture in wavelengths
    /// in sin(azimuth), and one Doppler bin plus the bins that a snapshot spans.
    bool in_main_lobe(const Target& target, int d, int k) const {
        const auto sine = [](double degrees) { return std::sin(degrees * std::numbers::pi / 180); };
        const double beam =
            sine(azimuths_[static_cast<std::size_t>(d)]) - sine(target.azimuth_degrees);
        return std::abs(bins_from(target, k)) <= main_lobe_bins &&
               std::abs(beam) <= 1 / (channels * spacing);
    }

    /// At most the true side lobe plus noise that alone would not exceed the threshold.
    static bool is_side_lobe(const Response& response, const Detection& detection) {
        const double lobe = response(detection.steering_vector, detection.doppler_bin);
        const double most = std::sqrt(lobe) + std::sqrt(detection.threshold);
        return lobe >= least_lobe * detection.threshold && detection.statistic <= most * most;
    }

    static bool is_peak(const Response& response, int d, int k) {
        for (int other = std::max(d - 1, 0);
             other <= std::min(d + 1, int(response.extent()[0]) - 1); ++other)
            for (int step = -1; step <= 1; ++step)
                if (response(other, (k + step + pulses) % pulses) > response(d, k)) return false;
        return true;
    }

    /// The statistic of a target alone with the true covariance, |v^H R^-1 t|^2 / (v^H R^-1 v),
    /// over [D][K].
    Response true_response(const Target& target) const {
        core::Array<cfloat, 3> tone({channels, pulses, 1});
        const auto space = spatial_steering(channels, spacing, target.azimuth_degrees);
        for (index_t c = 0; c < channels; ++c)
            for (index_t p = 0; p < pulses; ++p)
                tone(c, p, 0) = cfloat(
                    space[static_cast<std::size_t>(c)] *
                    std::polar(std::pow(10, target.snr_db / 20),
                               2 * std::numbers::pi * target.doppler * static_cast<double>(p)));
        const auto bins = oracle::doppler(tone, std::vector<double>(pulses, 1), pulses);
        const std::vector<Matrix> truth = oracle::snapshot_covariances(scene_, pulses, taps);
        const Problem given = problem(Training::block);
        Response response({given.steering_vectors, pulses});
        for (index_t k = 0; k < pulses; ++k) {
            const Matrix& r = truth[static_cast<std::size_t>(k)];
            const Vector t = oracle::snapshot(given, bins, k, 0);
            for (index_t d = 0; d < given.steering_vectors; ++d) {
                const Vector v = oracle::steering_vector(steering_, d);
                const Vector w = *oracle::solve(r, v);
                response(d, k) = std::norm(w.dot(t)) / v.dot(w).real();
            }
        }
        return response;
    }

    std::vector<Target> known_;
    ClutterScene scene_;
    std::vector<double> azimuths_;
    core::Array<cfloat, 2> steering_;
    std::vector<Response> responses_;
    Cpu cpu_;
};

constexpr double target_pfa = 1e-6;
const std::vector<Target> planted = {
    {40, -0.3, 20, 0}, {170, 0.375, 20, 0}, {300, -0.125, 20, 3}, {500, 0.45, 20, 3}};

TEST(Physics, PlantedTargetsAreFound) {
    PlantedTargets targets(planted);
    for (Training training : {Training::block, Training::sliding, Training::all}) {
        SCOPED_TRACE(static_cast<int>(training));
        const Problem problem = targets.problem(training);
        const double threshold = detection_threshold(
            Detector::amf, target_pfa, independent_training_cells(problem, 256), problem.order);
        const auto [found, side_lobes, false_alarms] = targets.detect(training, target_pfa);
        EXPECT_EQ(found, std::vector<bool>(planted.size(), true));
        EXPECT_GT(side_lobes, 0);
        EXPECT_LE(side_lobes, targets.expected_side_lobes(threshold));
        // 25 x 32 x 512 cells at 1e-6: 0.4 alarms; one run of ten thousand has more than four.
        EXPECT_LE(false_alarms, 4);
    }
}

/// Another target in a target's range cell is an alarm, not a side lobe: far off in Doppler and
/// azimuth, at the target's azimuth, and at its Doppler.
TEST(Physics, AnotherTargetInTheRangeCellIsNoSideLobe) {
    const int alarms = PlantedTargets(planted).detect(Training::all, target_pfa).false_alarms;
    for (const Target& ghost :
         {Target{300, 0.25, -30, 0}, Target{300, -0.28, 20, 0}, Target{300, -0.125, -20, 3}}) {
        const auto with = PlantedTargets(planted, {ghost}).detect(Training::all, target_pfa);
        EXPECT_EQ(with.found, std::vector<bool>(planted.size(), true));
        EXPECT_GT(with.false_alarms, alarms) << ghost.doppler << ", " << ghost.azimuth_degrees;
    }
}

}  // namespace
}  // namespace aperture::stap
