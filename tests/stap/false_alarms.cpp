// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// false_alarms [cpu|gpu]: false-alarm rates at 1e-4 to 1e-6, and planted targets, in clutter of 40
// to 80 dB. Exit status 1 if a rate is not the requested one or a target is lost.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "aperture/stap/attempts.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/stap/false_alarm_rate.hpp"
#include "tests/stap/owned_results.hpp"

namespace aperture::stap::false_alarms {
namespace {

using core::index_t;

/// The time of a case grows with its cells, so cases with a covariance per cell have fewer.
index_t range_cells(const Case& c) {
    if (c.order() == 4) return 102400;
    if (c.training == Training::block) return 51200;
    return c.order() > 24 ? 3200 : 25600;
}

bool report(const std::string& what, const Rate& rate) {
    std::cout << std::left << std::setw(56) << what << " pfa " << rate.pfa << ": " << std::fixed
              << std::setprecision(3) << rate.ratio << " +- " << rate.error << std::defaultfloat
              << std::setprecision(6) << (rate.holds() ? "" : "  NOT HELD") << std::endl;
    return rate.holds();
}

bool measure_covering(core::Cpu& cpu, const Run& run) {
    bool good = true;
    for (const Case& c : covering_cases()) {
        std::ostringstream name;
        name << c;
        for (const Rate& rate : measure(cpu, run, c, {1e-3, 1e-4, 1e-5}, 8, range_cells(c)))
            good &= report(name.str(), rate);
    }
    return good;
}

/// Detections of a scene of 8 channels, 32 pulses and 6400 range cells in nine directions.
std::vector<Detection> detect(core::Cpu& cpu, const Run& run, ClutterScene scene, double pfa) {
    scene.shape = {8, 32, 6400, Domain::pulse};
    const auto cube = simulate(cpu, scene);
    Parameters p;
    p.detector = Detector::amf;
    constexpr int directions = 9;
    const Problem problem = make_problem(scene.shape, p, directions);
    std::vector<double> azimuths;
    for (int i = 0; i < directions; ++i) azimuths.push_back(-60 + 15 * i);
    const auto steering =
        steering_vectors(8, scene.spacing_wavelengths, azimuths,
                         temporal_response(p.taper, 32, problem.doppler_bins, p.temporal_taps));
    OwnedResults results(problem);
    Results<core::Host> views = results.views();
    views.covariance = {};
    views.weights = {};
    run(problem, cube.view(), steering.view(), views);
    return find_detections(problem, pfa, results.statistic.view());
}

/// Eight seeds of 1.84 million cells each at 1e-6: at most 14.7 false alarms are expected. Twice as
/// many do not happen by chance.
bool count_false_alarms(core::Cpu& cpu, const Run& run) {
    bool good = true;
    for (const double cnr_db : {45, 50, 53, 60, 70, 80}) {
        std::size_t detections = 0;
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
            ClutterScene scene;
            scene.cnr_db = cnr_db;
            scene.seed = seed;
            detections += detect(cpu, run, scene, 1e-6).size();
        }
        const bool few = detections <= 29;
        std::cout << "CNR " << cnr_db << " dB, eight seeds: " << detections
                  << " detections without a target, at most 14.7 expected"
                  << (few ? "" : "  TOO MANY") << std::endl;
        good &= few;
    }
    return good;
}

bool find_targets(core::Cpu& cpu, const Run& run) {
    bool good = true;
    for (const double cnr_db : {40, 53, 60, 80}) {
        ClutterScene scene;
        scene.cnr_db = cnr_db;
        scene.seed = 7;
        scene.targets = {{200, 0.25, 0, 0}, {350, -0.125, 15, 5}, {500, 0.375, -30, 3}};
        const auto detections = detect(cpu, run, scene, 1e-6);
        for (const Target& target : scene.targets) {
            const auto is_it = [&](const Detection& d) {
                const int bin = (static_cast<int>(std::lround(target.doppler * 32)) + 32) % 32;
                return d.range_cell == target.range_cell && d.doppler_bin == bin;
            };
            const auto found = std::find_if(detections.begin(), detections.end(), is_it);
            std::cout << "CNR " << cnr_db << " dB, target of " << target.snr_db
                      << " dB at range cell " << target.range_cell << ": ";
            if (found == detections.end()) {
                std::cout << "LOST" << std::endl;
                good = false;
            } else {
                std::cout << std::fixed << std::setprecision(1) << 10 * std::log10(found->statistic)
                          << " dB" << std::defaultfloat << std::setprecision(6) << std::endl;
            }
        }
    }
    return good;
}

/// v^H R^-1 v of every matrix and one direction, from weights.
std::vector<double> gains(const Problem& problem, const OwnedResults& results,
                          core::View<const cfloat, 2, core::Host> steering) {
    std::vector<double> gains;
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        for (index_t b = 0; b < problem.training_sets; ++b) {
            double gain = 0;
            for (index_t i = 0; i < problem.order; ++i)
                gain += (std::conj(std::complex<double>(results.weights(k, b, 0, i))) *
                         std::complex<double>(steering(0, i)))
                            .real();
            gains.push_back(gain);
        }
    }
    return gains;
}

/// Reports the maximum error of fp32 where it is trusted, and the distance of the limit from the
/// first error above 1 %.
bool check_trust(core::Cpu& cpu, const Run& run) {
    constexpr double allowed = 0.01;
    double worst_trusted = 0;
    double least_wrong = std::numeric_limits<double>::infinity();
    for (Case c : covering_cases()) {
        if (c.training == Training::all) continue;
        c.detector = Detector::none;
        for (const double cnr_db : {0, 10, 20, 30, 35, 40, 45, 50, 60, 70, 80}) {
            c.cnr_db = cnr_db;
            const index_t cells = c.training == Training::block ? 2560 : 320;
            const auto cube = draw(cpu, c, cells, 3);
            std::vector<double> of[2];
            std::vector<double> products;
            for (const Precision precision : {Precision::fp32, Precision::mixed}) {
                c.precision = precision;
                const Problem problem = problem_of(c, cells);
                const auto steering = steering_of(problem);
                OwnedResults results(problem);
                run(problem, cube.view(), steering.view(), results.views());
                of[precision == Precision::mixed] = gains(problem, results, steering.view());
                if (precision == Precision::mixed) continue;
                for (index_t i = 0; i < results.info.size(); ++i) {
                    products.push_back(results.info.data()[i] != 0
                                           ? std::numeric_limits<double>::infinity()
                                           : 0x1p-24 * problem.order *
                                                 results.pivot_ratio.data()[i]);
                }
            }
            for (std::size_t i = 0; i < products.size(); ++i) {
                const double error = std::abs(of[0][i] - of[1][i]) / of[1][i];
                if (products[i] <= trust_limit) worst_trusted = std::max(worst_trusted, error);
                if (!(error <= allowed)) least_wrong = std::min(least_wrong, products[i]);
            }
        }
    }
    const bool good = worst_trusted <= allowed && least_wrong >= 10 * trust_limit;
    std::cout << "fp32: worst error of v^H R^-1 v where it is trusted " << worst_trusted
              << "; least roundoff x order x pivot ratio with an error above 1 % " << least_wrong
              << ", " << least_wrong / trust_limit << " times the limit"
              << (good ? "" : "  TOO CLOSE") << std::endl;
    return good;
}

int run_all(const std::string& device) {
    core::Cpu cpu;
    Run run = on_cpu(cpu);
#if APERTURE_CUDA
    std::optional<core::Gpu> gpu;
    if (device == "gpu") run = on_gpu(gpu.emplace());
#else
    core::expects(device == "cpu", "built without CUDA: there is no ", device);
#endif
    bool good = check_trust(cpu, run);
    good &= find_targets(cpu, run);
    good &= count_false_alarms(cpu, run);
    good &= measure_covering(cpu, run);
    std::cout << (good ? "all held" : "NOT ALL HELD") << std::endl;
    return good ? 0 : 1;
}

}  // namespace
}  // namespace aperture::stap::false_alarms

int main(int argc, char** argv) {
    try {
        return aperture::stap::false_alarms::run_all(argc > 1 ? argv[1] : "cpu");
    } catch (const std::exception& error) {
        std::cerr << "false_alarms: error: " << error.what() << '\n';
        return 2;
    }
}
