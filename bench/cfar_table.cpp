// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The table of CFAR thresholds, libstap/cpu/cfar_table.inc, from seeded white noise:
//   cfar_table [--error E] [--smoke]
//     E: relative standard error of a rate of 1e-4 (default 0.02), three times that for 1e-6
//     --smoke: only a few draws
//
// Whitening and a rotation turn any Gaussian data into white data with the steering vector along
// the first axis. The output of a cell is then the residual of a regression of the first component
// d on the other n-1 components z: y = B d, where B depends only on z. Given z, the outputs are
// jointly Gaussian. The probability that |y_r|^2 exceeds t times the mean of the others is that of
// an indefinite Hermitian form with one positive eigenvalue, and is exact for any t. The rate is
// its mean over draws of z.
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/cfar_threshold.hpp"
#include "libstap/cpu/random_normal.hpp"

namespace aperture::bench {
namespace {

using core::index_t;
using stap::cfloat;
using stap::Problem;
using stap::TrainingWindow;
using stap::cpu::CfarTraining;
using stap::cpu::NormalStream;
using Matrix = Eigen::MatrixXcd;
using Vector = Eigen::VectorXcd;

bool smoke = false;
constexpr int decades = 10;

/// The parameters of one line of the table; its values are over rates.
struct Entry {
    CfarTraining training;
    double spread;
    int cells_per_order;
    int order;

    int cells() const { return cells_per_order * order; }
    int guard() const {
        if (training == CfarTraining::all) return 0;
        const double whole = training == CfarTraining::block ? 1 : 2;
        return static_cast<int>(std::lround(spread * cells() / whole));
    }
    /// Blocks on either side of the tested block that its reference cells reach.
    index_t blocks_beside() const { return (guard() + cells() / 2 + cells()) / cells(); }

    Problem problem() const {
        stap::Parameters parameters;
        parameters.detector = stap::Detector::cfar;
        parameters.training_block = cells();
        parameters.guard = guard();
        parameters.temporal_taps = 1;
        index_t range = 0;
        if (training == CfarTraining::block) {
            range = (2 * blocks_beside() + 1) * cells();
        } else if (training == CfarTraining::all) {
            parameters.training = stap::Training::all;
            range = 1 + std::lround(cells() / (1 - spread / 2));
        } else {
            parameters.training = stap::Training::sliding;
            range = 4 * (guard() + cells() / 2 + 1) + 2;
        }
        return stap::make_problem({order, 1, range, stap::Domain::doppler}, parameters, 1);
    }

    /// The cell under test; block training cycles through all positions.
    index_t cell(const Problem& problem, index_t draw) const {
        if (training == CfarTraining::sliding_at_end) return 0;
        if (training == CfarTraining::block) return blocks_beside() * cells() + draw % cells();
        return problem.shape.range_cells / 2;
    }
};

TrainingWindow trained_on(const Problem& problem, index_t cell) {
    if (problem.parameters.training != stap::Training::block)
        return stap::training_window(problem, cell);
    return {stap::training_cells(problem, stap::training_set_of(problem, cell)), {}};
}

bool holds(const TrainingWindow& window, index_t cell) {
    const auto inside = [cell](const stap::RangeSpan& span) {
        return span.begin <= cell && cell < span.end;
    };
    return inside(window.window) && !inside(window.excluded);
}

/// B: row 0 for the cell under test, then one row per reference cell.
Matrix output_map(const Problem& problem, index_t cell, const Matrix& z) {
    const index_t range = problem.shape.range_cells;
    const TrainingWindow reference = stap::reference_window(problem, cell);
    Matrix map = Matrix::Zero(reference.cells() + 1, range);
    Matrix sum = Matrix::Zero(z.rows(), z.rows());
    TrainingWindow before;
    index_t row = 1;
    for (index_t s = reference.window.begin; s < reference.window.end; ++s) {
        if (s != cell && !holds(reference, s)) continue;
        const index_t to = s == cell ? 0 : row++;
        map(to, s) = 1;
        const TrainingWindow window = trained_on(problem, s);
        for (index_t u = 0; u < range; ++u) {
            const int change = int(holds(window, u)) - int(holds(before, u));
            if (change != 0)
                sum.selfadjointView<Eigen::Lower>().rankUpdate(Vector(z.col(u)), double(change));
        }
        before = window;
        const Vector solved = sum.selfadjointView<Eigen::Lower>().llt().solve(z.col(s));
        for (index_t u = window.window.begin; u < window.window.end; ++u)
            if (holds(window, u)) map(to, u) -= z.col(u).dot(solved);
    }
    return map;
}

/// P(|y_0|^2 > tau sum of the other |y_i|^2) for jointly Gaussian y with covariance C. Let
/// tau kappa > 0 be the positive eigenvalue of C diag(1, -tau, ...) and l_i the others: P is the
/// product of 1 / (1 - l_i / (tau kappa)). In C's tridiagonal form (kappa + C)^-1 is a recursion.
class ExceedanceProbability {
  public:
    explicit ExceedanceProbability(const Matrix& covariance) {
        const Eigen::Tridiagonalization<Matrix> form(covariance);
        diagonal_ = form.diagonal();
        beside_ = form.subDiagonal();
    }

    /// Newton steps for log kappa within a bracket.
    double operator()(double tau) const {
        double low = -30;
        double high = 30;
        double x = 0;
        while (high - low > 1e-12) {
            const At at = evaluate(std::exp(x), tau);
            (at.excess > 0 ? high : low) = x;
            double next = x - std::clamp(at.excess / at.slope, -1.5, 1.5);
            if (!(at.slope > 0) || next <= low || next >= high) next = (low + high) / 2;
            if (std::abs(next - x) < 1e-11) return at.probability;
            x = next;
        }
        // Without a positive eigenvalue y_0 cannot exceed this tau.
        return 0;
    }

  private:
    struct At {
        double excess, slope, probability;
    };

    At evaluate(double kappa, double tau) const {
        const index_t last = diagonal_.size() - 1;
        // Rounding must not reduce a pivot of kappa + C below kappa.
        double pivot = std::max(kappa + diagonal_(last), kappa);
        double derivative = 1;
        double log_determinant = std::log(pivot);
        for (index_t i = last - 1; i >= 1; --i) {
            const double part = beside_(i) * beside_(i) / pivot;
            derivative = 1 + part * derivative / pivot;
            pivot = std::max(kappa + diagonal_(i) - part, kappa);
            log_determinant += std::log(pivot);
        }
        const double coupling = beside_(0) * beside_(0) / pivot;
        const double coupling_slope = -coupling * derivative / pivot;
        const double log_probability =
            static_cast<double>(last) * std::log(kappa) - log_determinant;
        return {tau * kappa - diagonal_(0) + coupling, (tau + coupling_slope) * kappa,
                std::exp(log_probability) / (1 + coupling_slope / tau)};
    }

    Eigen::VectorXd diagonal_, beside_;
};

/// Values at the thresholds of fixed weights for rates of 10^-1, 10^-2, ...
using OfDecades = std::array<double, decades>;

struct Rates {
    OfDecades mean{}, error{};  ///< error: relative standard error
};

struct Draw {
    double weight = 1;
    OfDecades probability{};
};

/// Sums over draws, for the weighted mean and its standard error.
struct Sums {
    double weights = 0;
    double squared_weights = 0;
    OfDecades first{}, mixed{}, second{};

    void add(const Draw& draw) {
        const double square = draw.weight * draw.weight;
        weights += draw.weight;
        squared_weights += square;
        for (std::size_t i = 0; i < decades; ++i) {
            first[i] += draw.weight * draw.probability[i];
            mixed[i] += square * draw.probability[i];
            second[i] += square * draw.probability[i] * draw.probability[i];
        }
    }
    Rates rates() const {
        Rates rates;
        for (std::size_t i = 0; i < decades; ++i) {
            const double mean = first[i] / weights;
            const double squares = second[i] - 2 * mean * mixed[i] + mean * mean * squared_weights;
            rates.mean[i] = mean;
            rates.error[i] = std::sqrt(std::max(squares, 0.0)) / first[i];
        }
        return rates;
    }
};

/// If each cell has its own weights, rare false alarms come from a strong z in the tested cell. Its
/// strength is drawn from a mixture, and the draw is weighted accordingly.
double strengthen(Eigen::Ref<Vector> z, index_t draw) {
    constexpr std::array strengths{1.0, 1.5, 2.3, 3.5};
    z *= std::sqrt(strengths[static_cast<std::size_t>(draw) % strengths.size()]);
    const double power = z.squaredNorm();
    double density = 0;
    for (const double s : strengths)
        density += std::exp(power - power / s - static_cast<double>(z.size()) * std::log(s));
    return strengths.size() / density;
}

Draw draw_one(const Entry& entry, const Problem& problem, index_t number) {
    NormalStream stream(
        {static_cast<std::uint64_t>(entry.training), static_cast<std::uint64_t>(2 * entry.spread),
         static_cast<std::uint64_t>(entry.cells_per_order), static_cast<std::uint64_t>(entry.order),
         static_cast<std::uint64_t>(number)});
    Matrix z(entry.order - 1, problem.shape.range_cells);
    for (index_t r = 0; r < z.cols(); ++r)
        for (index_t i = 0; i < z.rows(); ++i) z(i, r) = stream.normal();
    const index_t cell = entry.cell(problem, number);
    Draw draw;
    if (entry.training != CfarTraining::block) draw.weight = strengthen(z.col(cell), number);
    const Matrix map = output_map(problem, cell, z);
    const ExceedanceProbability probability(map * map.adjoint());
    const index_t references = stap::reference_window(problem, cell).cells();
    const double scale = stap::cpu::power_by_training(problem)[static_cast<std::size_t>(cell)] /
                         static_cast<double>(references);
    for (std::size_t i = 0; i < decades; ++i)
        draw.probability[i] = probability(
            scale * stap::cpu::fixed_weights_threshold(static_cast<double>(i + 1), references));
    return draw;
}

/// Draws until both errors are small enough, but for a few minutes at most.
Rates estimate(core::Cpu& cpu, const Entry& entry, double wanted_error) {
    const Problem problem = entry.problem();
    const index_t batch = smoke ? 8 : 1024;
    const auto most =
        smoke ? batch : index_t(std::clamp(2e10 / std::pow(entry.cells(), 3), 4096.0, 4e6));
    std::vector<Draw> draws(static_cast<std::size_t>(batch));
    Sums sums;
    Rates rates;
    for (index_t first = 0; first < most; first += batch) {
        core::for_each_task(cpu, batch, 0, [&](index_t i, std::byte*) {
            draws[static_cast<std::size_t>(i)] = draw_one(entry, problem, first + i);
        });
        for (const Draw& draw : draws) sums.add(draw);
        rates = sums.rates();
        if (rates.error[3] <= wanted_error && rates.error[5] <= 3 * wanted_error) break;
    }
    return rates;
}

/// The d for which the fixed-weights threshold of 10^-d has the rate 10^-wanted here.
double nominal_decades(const Rates& rates, double wanted) {
    double x = 0;
    double y = 0;
    for (std::size_t i = 0; i < decades; ++i) {
        const double next = -std::log10(rates.mean[i]);
        if (next >= wanted || i + 1 == decades) return x + (wanted - y) / (next - y);
        x = static_cast<double>(i + 1);
        y = next;
    }
    return x;
}

/// Prints the values in the table's order and the maximum standard errors.
void print_table(core::Cpu& cpu, double wanted_error) {
    std::printf("// Printed by bench/cfar_table --error %g; see there.\n", wanted_error);
    std::array<double, 3> worst{};  // of rates of 1e-4, 1e-6, 1e-8
    for (const CfarTraining training : stap::cpu::cfar_trainings) {
        for (const double spread : stap::cpu::cfar_spreads) {
            for (const int ratio : stap::cpu::cfar_cells_per_order) {
                for (const int order : stap::cpu::cfar_orders) {
                    const Rates rates =
                        estimate(cpu, {training, spread, ratio, order}, wanted_error);
                    for (const double wanted : stap::cpu::cfar_decades) {
                        const double factor = nominal_decades(rates, wanted) / wanted;
                        std::printf("%ld,", std::lround(1000 * (factor - 1)));
                    }
                    for (std::size_t i = 0; i < worst.size(); ++i)
                        worst[i] = std::max(worst[i], rates.error[3 + 2 * i]);
                }
                std::puts("");
                std::fflush(stdout);
            }
        }
    }
    std::printf("// Largest relative standard errors: %.2g at 1e-4, %.2g at 1e-6, %.2g at 1e-8.\n",
                worst[0], worst[1], worst[2]);
}

int run(int argc, char** argv) {
    double error = 0.02;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--smoke") == 0) {
            smoke = true;
        } else if (std::strcmp(argv[i], "--error") == 0 && i + 1 < argc) {
            error = std::strtod(argv[++i], nullptr);
        } else {
            throw core::InvalidArgument(core::text("unknown argument ", argv[i]));
        }
    }
    core::Cpu cpu;
    print_table(cpu, error);
    return 0;
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    try {
        return aperture::bench::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cfar_table: error: %s\n", error.what());
        return 1;
    }
}
