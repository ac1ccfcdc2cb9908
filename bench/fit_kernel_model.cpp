// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// fit_kernel_model PARAMETERS MODEL: fits the costs of libdense's factorisations to measurements,
// for libdense/kernel_model.hpp after a kernel has changed. PARAMETERS is gpu_parameters.json and
// MODEL model.csv, which scripts/batches leaves. Prints costs, and how far off their predictions
// are.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "libdense/kernel_model.hpp"

namespace {

using namespace aperture::dense;

struct Point {
    BatchOperation operation;
    ElementType element;
    int order;
    double problems;
    double seconds;
};

/// Numbers of a JSON file that has one on each line.
std::map<std::string, double> read_numbers(const char* path) {
    std::ifstream file(path);
    std::map<std::string, double> numbers;
    for (std::string line; std::getline(file, line);) {
        const std::size_t begin = line.find('"');
        const std::size_t end = line.find("\": ");
        if (begin == end || end == std::string::npos) continue;
        std::istringstream value(line.substr(end + 3));
        value >> numbers[line.substr(begin + 1, end - begin - 1)];
    }
    return numbers;
}

DeviceParameters read_device(const char* path) {
    std::map<std::string, double> from = read_numbers(path);
    DeviceParameters device;
    device.multiprocessors = static_cast<int>(from["multiprocessors"]);
    device.registers = static_cast<int>(from["registers"]);
    device.shared_bytes = static_cast<int>(from["shared_bytes"]);
    device.clock_ghz = from["clock_ghz"];
    device.launch_us = from["launch_us"];
    device.global_latency = from["global_latency_cycles"];
    device.global_bandwidth = from["global_bandwidth_gbs"];
    for (int threads = 32; threads <= 1024; threads *= 2) {
        device.barriers.push_back(
            {threads, from["barrier_" + std::to_string(threads) + "_threads_cycles"]});
    }
    return device;
}

/// Of lines gpu,OPERATION TYPE,ORDER,PROBLEMS,MILLISECONDS,...
std::vector<Point> read_points(const char* path) {
    std::ifstream file(path);
    std::vector<Point> points;
    for (std::string line; std::getline(file, line);) {
        std::ranges::replace(line, ',', ' ');
        std::istringstream fields(line);
        std::string device, operation, type;
        Point point{};
        if (!(fields >> device >> operation >> type >> point.order >> point.problems >>
              point.seconds)) {
            continue;
        }
        point.seconds *= 1e-3;
        point.operation = operation == "lu"   ? BatchOperation::lu
                          : operation == "qr" ? BatchOperation::qr
                                              : BatchOperation::cholesky;
        point.element = type == "f32"   ? element_type<float>
                        : type == "f64" ? element_type<double>
                                        : element_type<std::complex<float>>;
        points.push_back(point);
    }
    return points;
}

/// Costs are exp(x) times those that are compiled in.
KernelCosts costs_of(const Eigen::VectorXd& x) {
    KernelCosts costs;
    for (std::size_t i = 0; i < all_kernel_costs.size(); ++i) {
        costs.*all_kernel_costs[i].second *= std::exp(x(static_cast<Eigen::Index>(i)));
    }
    return costs;
}

/// Logarithms of predicted over measured times.
Eigen::VectorXd errors_of(const DeviceParameters& device, const std::vector<Point>& points,
                          const Eigen::VectorXd& x) {
    const KernelCosts costs = costs_of(x);
    Eigen::VectorXd errors(static_cast<Eigen::Index>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) {
        const Point& at = points[i];
        errors(static_cast<Eigen::Index>(i)) =
            std::log(predict_factors(device, at.operation, at.order, at.element,
                                     static_cast<aperture::core::index_t>(at.problems), costs) /
                     at.seconds);
    }
    return errors;
}

/// The least squares of the errors, by Gauss-Newton steps; a pull to where they begin, which are
/// counts of instructions, decides what measurements do not.
Eigen::VectorXd fit(const DeviceParameters& device, const std::vector<Point>& points) {
    constexpr double pull = 1;
    constexpr double step = 1e-4;
    constexpr int steps = 30;
    const auto count = static_cast<Eigen::Index>(all_kernel_costs.size());
    Eigen::VectorXd x = Eigen::VectorXd::Zero(count);
    for (int it = 0; it < steps; ++it) {
        const Eigen::VectorXd errors = errors_of(device, points, x);
        Eigen::MatrixXd slopes(errors.size(), count);
        for (Eigen::Index i = 0; i < count; ++i) {
            Eigen::VectorXd moved = x;
            moved(i) += step;
            slopes.col(i) = (errors_of(device, points, moved) - errors) / step;
        }
        Eigen::MatrixXd normal = slopes.transpose() * slopes;
        normal.diagonal().array() += pull * pull;
        const Eigen::VectorXd change =
            normal.ldlt().solve(-(slopes.transpose() * errors + pull * pull * x));
        x += change.cwiseMax(-0.5).cwiseMin(0.5);
    }
    return x;
}

void print_errors(const char* of, const Eigen::VectorXd& errors) {
    std::vector<double> off;
    for (const double error : errors) off.push_back(100 * std::abs(std::expm1(error)));
    std::ranges::sort(off);
    std::cout << of << ": median " << off[off.size() / 2] << " %, worst " << off.back() << " %\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: fit_kernel_model PARAMETERS MODEL\n";
        return 1;
    }
    const DeviceParameters device = read_device(argv[1]);
    const std::vector<Point> points = read_points(argv[2]);
    if (points.empty()) {
        std::cerr << "fit_kernel_model: no measurements in " << argv[2] << '\n';
        return 2;
    }
    const auto count = static_cast<Eigen::Index>(all_kernel_costs.size());
    print_errors("before", errors_of(device, points, Eigen::VectorXd::Zero(count)));
    const Eigen::VectorXd x = fit(device, points);
    const KernelCosts costs = costs_of(x);
    for (const auto& [name, cost] : all_kernel_costs) {
        std::cout << name << " = " << costs.*cost << '\n';
    }
    const Eigen::VectorXd errors = errors_of(device, points, x);
    print_errors("after", errors);
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double error = errors(static_cast<Eigen::Index>(i));
        if (std::abs(error) > 0.25) {
            std::cout << "order " << points[i].order << ", operation "
                      << static_cast<int>(points[i].operation) << ": " << std::exp(error) << '\n';
        }
    }
    return 0;
}
