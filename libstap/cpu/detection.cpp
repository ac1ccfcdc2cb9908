// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/detection.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "aperture/core/shape.hpp"
#include "libstap/cpu/cfar_threshold.hpp"
#include "libstap/cpu/direction_rows.hpp"

namespace aperture::stap {

namespace {

/// E[(1 + factor(beta) x)^-(J-n+1)] over the loss factor beta ~ Beta(J-n+2, n-1): the false-alarm
/// rate of AMF and ACE. The truncated tails contribute less than 1e-9 of `pfa`. Integrates over
/// log(beta / (1 - beta)), in which the integrand is smooth where a narrow range of beta counts.
class FalseAlarmRate {
  public:
    FalseAlarmRate(Detector detector, double pfa, index_t cells, int order)
        : detector_(detector),
          exponent_(static_cast<double>(cells - order + 1)),
          a_(exponent_ + 1),
          b_(order - 1) {
        const auto low = [&](double a, double b) {
            const boost::math::beta_distribution<double> loss(a, b);
            const double beta = boost::math::quantile(loss, pfa * 1e-9);
            return std::log(beta) - std::log1p(-beta);
        };
        begin_ = low(a_, b_);
        end_ = -low(b_, a_);
        // The logarithm of a beta function would cancel where there are many cells.
        const double rest = b_ / (a_ + b_);
        const boost::math::beta_distribution<double> mirrored(b_, a_);
        log_scale_ = std::log(boost::math::pdf(mirrored, rest)) - (a_ - 1) * std::log1p(-rest) -
                     (b_ - 1) * std::log(rest);
    }

    double operator()(double x) const {
        const auto density = [&](double log_odds) {
            const double log_larger = -std::log1p(std::exp(-std::abs(log_odds)));
            const double log_beta = log_larger + std::min(log_odds, 0.0);
            const double log_rest = log_larger - std::max(log_odds, 0.0);
            const double factor = std::exp(detector_ == Detector::amf ? log_beta : log_rest);
            return std::exp(log_scale_ + a_ * log_beta + b_ * log_rest -
                            exponent_ * std::log1p(factor * x));
        };
        constexpr unsigned bisections = 12;
        constexpr double tolerance = 1e-11;
        return boost::math::quadrature::gauss_kronrod<double, 31>::integrate(density, begin_, end_,
                                                                             bisections, tolerance);
    }

  private:
    Detector detector_;
    double exponent_;
    double a_, b_;
    double begin_, end_;
    double log_scale_;  ///< 1 / B(a, b)
};

/// Solves rate(x) = pfa for x >= 0; `rate` decreases from 1 at 0. `scale` is near x or below it.
double where_rate_is(const FalseAlarmRate& rate, double pfa, double scale) {
    const auto excess = [&](double x) { return std::log(rate(x) / pfa); };
    double above = scale;
    while (excess(above) > 0) above *= 2;
    boost::uintmax_t iterations = 200;
    const auto [low, high] = boost::math::tools::toms748_solve(
        excess, 0.0, above, boost::math::tools::eps_tolerance<double>(40), iterations);
    return (low + high) / 2;
}

void check_rate(double pfa) {
    core::expects(pfa > 0 && pfa < 1, "false-alarm rate ", pfa, " is not between 0 and 1");
}

}  // namespace

double detection_threshold(Detector detector, double pfa, index_t cells, int order) {
    check_rate(pfa);
    core::expects(is_adaptive(detector),
                  "a threshold by cells and order requires an adaptive detector");
    const auto count = static_cast<double>(cells);
    core::expects(order >= 1 && cells >= order, cells, " training cells for order ", order,
                  ": the false-alarm rate requires at least as many cells as the order");
    const double exponent = count - order + 1;
    if (detector == Detector::glrt) return -std::expm1(std::log(pfa) / exponent);
    // Without loss, beta = 1.
    const double lossless = std::expm1(-std::log(pfa) / exponent);
    if (order == 1) {
        core::expects(detector == Detector::amf,
                      "ACE requires an order above 1; at order 1 it is 1 in every cell");
        return count * lossless;
    }
    const double x = where_rate_is(FalseAlarmRate(detector, pfa, cells, order), pfa, lossless);
    return detector == Detector::amf ? count * x : x / (1 + x);
}

std::vector<double> detection_thresholds(const Problem& problem, double pfa) {
    check_rate(pfa);
    const Detector detector = problem.parameters.detector;
    if (detector == Detector::cfar) return cpu::cfar_thresholds(problem, pfa);
    std::vector<double> thresholds;
    // Only cells at the ends differ in their number of training cells.
    std::map<index_t, double> of_cells;
    for (index_t r = 0; r < problem.shape.range_cells; ++r) {
        const index_t cells = independent_training_cells(problem, r);
        auto known = of_cells.find(cells);
        if (known == of_cells.end()) {
            const double value = detection_threshold(detector, pfa, cells, problem.order);
            known = of_cells.emplace(cells, value).first;
        }
        thresholds.push_back(known->second);
    }
    return thresholds;
}

namespace {

/// True if steering vector `other_d` has no larger value in the neighbouring Doppler bins
/// (wrapping) and range cells of a cell; of equal ones the first counts.
bool is_largest_of_vector(core::View<const float, 3, core::Host> statistic, index_t other_d,
                          index_t d, index_t k, index_t r) {
    const auto [vectors, bins, cells] = statistic.extent;
    const float value = statistic(d, k, r);
    const index_t position = (d * bins + k) * cells + r;
    for (index_t step = -1; step <= 1; ++step)
        for (index_t other_r = std::max<index_t>(r - 1, 0); other_r <= std::min(r + 1, cells - 1);
             ++other_r) {
            const index_t other_k = (k + step + bins) % bins;
            const float other = statistic(other_d, other_k, other_r);
            const bool first = (other_d * bins + other_k) * cells + other_r < position;
            if (other > value || (first && other == value)) return false;
        }
    return true;
}

/// True if no neighbour over steering, Doppler and range is larger.
bool is_local_maximum(core::View<const float, 3, core::Host> statistic, index_t row_length,
                      index_t d, index_t k, index_t r) {
    for (index_t row = -1; row <= 1; ++row)
        for (index_t column = -1; column <= 1; ++column) {
            const index_t other =
                neighbour_in_rows(statistic.extent[0], row_length, d, row, column);
            if (other >= 0 && !is_largest_of_vector(statistic, other, d, k, r)) return false;
        }
    return true;
}

}  // namespace

std::vector<Detection> find_detections(const Problem& problem, double pfa,
                                       core::View<const float, 3, core::Host> statistic,
                                       int row_length) {
    const int in_row = vectors_in_row(problem, row_length);
    core::expects_shape(
        "statistic", statistic,
        {problem.steering_vectors, problem.doppler_bins, problem.shape.range_cells});
    const std::vector<double> threshold = detection_thresholds(problem, pfa);
    std::vector<Detection> detections;
    for (index_t d = 0; d < statistic.extent[0]; ++d)
        for (index_t k = 0; k < statistic.extent[1]; ++k)
            for (index_t r = 0; r < statistic.extent[2]; ++r) {
                const double needed = threshold[static_cast<std::size_t>(r)];
                const double value = statistic(d, k, r);
                if (value > needed && is_local_maximum(statistic, in_row, d, k, r))
                    detections.push_back(
                        {static_cast<int>(d), static_cast<int>(k), r, value, needed});
            }
    std::sort(detections.begin(), detections.end(), [](const Detection& a, const Detection& b) {
        const auto place = [](const Detection& of) {
            return std::tuple(-of.statistic, of.steering_vector, of.doppler_bin, of.range_cell);
        };
        return place(a) < place(b);
    });
    return detections;
}

std::vector<Detection> detections_at(const Problem& problem, double pfa,
                                     const std::vector<Detection>& detections) {
    const std::vector<double> threshold = detection_thresholds(problem, pfa);
    std::vector<Detection> above;
    for (Detection detection : detections) {
        detection.threshold = threshold[static_cast<std::size_t>(detection.range_cell)];
        if (detection.statistic > detection.threshold) above.push_back(detection);
    }
    return above;
}

int nearest_doppler_bin(double doppler, int bins) {
    return static_cast<int>(std::lround(doppler * bins) + bins) % bins;
}

DetectionScore score_detections(const std::vector<Detection>& detections,
                                const std::vector<Target>& targets, int doppler_bins) {
    DetectionScore score;
    score.found.resize(targets.size());
    for (const Detection& detection : detections) {
        bool belongs = false;
        for (std::size_t t = 0; t < targets.size(); ++t) {
            const int bin = nearest_doppler_bin(targets[t].doppler, doppler_bins);
            const int bins_away = std::abs(detection.doppler_bin - bin);
            if (std::min(bins_away, doppler_bins - bins_away) > 1) continue;
            if (std::abs(detection.range_cell - targets[t].range_cell) > 1) continue;
            belongs = true;
            score.found[t] = true;
        }
        score.false_detections += !belongs;
    }
    score.found_targets = std::count(score.found.begin(), score.found.end(), true);
    return score;
}

}  // namespace aperture::stap
