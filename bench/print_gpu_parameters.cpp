// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// gpu_parameters [FILE]: measures and prints the GPU's parameters for the model of batches; writes
// them to FILE as JSON, too.
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu_parameters.hpp"

namespace {

using Rows = std::vector<std::pair<std::string, double>>;

Rows rows_of(const aperture::dense::DeviceParameters& device) {
    Rows rows{{"multiprocessors", device.multiprocessors},
              {"registers", device.registers},
              {"shared_bytes", device.shared_bytes},
              {"clock_ghz", device.clock_ghz},
              {"launch_us", device.launch_us},
              {"global_latency_cycles", device.global_latency},
              {"global_bandwidth_gbs", device.global_bandwidth},
              {"shared_latency_cycles", device.shared_latency},
              {"shared_bandwidth_gbs", device.shared_bandwidth}};
    for (const auto& barrier : device.barriers) {
        rows.emplace_back("barrier_" + std::to_string(barrier.threads) + "_threads_cycles",
                          barrier.cycles);
    }
    for (const auto& [type, arithmetic] :
         {std::pair("fp32", device.fp32), std::pair("fp64", device.fp64)}) {
        const auto add = [&rows, prefix = std::string(type) + '_'](const char* name, double value) {
            rows.emplace_back(prefix + name, value);
        };
        add("multiply_add_cycles", arithmetic.multiply_add);
        add("division_cycles", arithmetic.division);
        add("square_root_cycles", arithmetic.square_root);
        add("reciprocal_root_cycles", arithmetic.reciprocal_root);
        add("multiply_adds_a_cycle", arithmetic.multiply_adds_a_cycle);
    }
    return rows;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace aperture;
    const core::GpuStatus status = core::gpu_status();
    if (!status.usable) {
        std::cerr << "gpu_parameters: " << status.reason << '\n';
        return 2;
    }
    core::Gpu gpu;
    const Rows rows = rows_of(bench::measure_gpu_parameters(gpu));

    const std::time_t now = std::time(nullptr);
    std::cout << gpu.name() << ", " << std::put_time(std::gmtime(&now), "%F") << '\n';
    for (const auto& [name, value] : rows) {
        std::cout << std::left << std::setw(32) << name << std::right << std::setw(10) << std::fixed
                  << std::setprecision(2) << value << '\n';
    }
    if (argc < 2) return 0;
    std::ofstream file(argv[1]);
    file << "{\"device\": \"" << gpu.name() << "\", \"date\": \""
         << std::put_time(std::gmtime(&now), "%F") << '"';
    for (const auto& [name, value] : rows) file << ",\n \"" << name << "\": " << value;
    file << "}\n";
    file.close();
    if (!file) std::cerr << "gpu_parameters: cannot write " << argv[1] << '\n';
    return file ? 0 : 2;
}
