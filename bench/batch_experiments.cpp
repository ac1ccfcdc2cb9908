// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The experiments of Ha et al. 2013, section IV, and of Anderson 2014, chapter 4, with the papers'
// functions, types, sizes and numbers of problems. scripts/batches makes tables and figures of the
// report, in which DEVICE/FIGURE/SERIES/TYPE/N is a point of a figure.
//   batch_experiments [--quick] [Google Benchmark's options]       --quick: a third of the
//   points, on a CPU with a quarter of the problems
#include <string>
#include <vector>

#include "bench/batch_experiments_gpu.hpp"
#include "bench/batch_problem.hpp"

namespace aperture::bench {
namespace {

/// Every third, and the last.
std::vector<int> fewer(const std::vector<int>& orders) {
    std::vector<int> some;
    for (std::size_t i = 0; i < orders.size(); i += 3) some.push_back(orders[i]);
    if (some.back() != orders.back()) some.push_back(orders.back());
    return some;
}

/// The library, and LAPACK called in a loop over problems, on the CPU.
template <class T>
void add_on_cpu(const Experiment& experiment) {
    const std::string figure = "cpu/" + experiment.figure + "/";
    const index_t problems = quick ? (experiment.problems + 3) / 4 : experiment.problems;
    const std::string task = name_of(experiment.task) + experiment.suffix;
    for (const int n : experiment.orders) {
        const auto add = [&](const std::string& series, const Storage& storage,
                             const BatchCall<T>& call) {
            if (!call) return;
            add_batch<T>(figure + series, {experiment.task, n, storage, problems}, call);
        };
        add(task, {}, library_call<T>(experiment.task));
        if (experiment.interleaved) {
            add(task + "@interleaved", {.interleaved = true}, library_call<T>(experiment.task));
        }
        // It has no factors without pivoting.
        const Task of_lapack = experiment.task == Task::lu ? Task::pivoted_lu : experiment.task;
        add("lapack_" + task, lapack_storage, lapack_call<T>(of_lapack));
    }
}

template <class T>
void add(Experiment experiment) {
    if (smoke) experiment.orders = {experiment.orders.front()};
    if (quick) experiment.orders = fewer(experiment.orders);
    add_on_cpu<T>(experiment);
    add_on_gpu<T>(experiment);
}
template <class T>
void add(const std::string& figure, Task task, const std::vector<int>& orders, index_t problems = 0,
         bool interleaved = false) {
    add<T>({figure, task, orders, problems, interleaved});
}

/// begin, begin + step, ... end
std::vector<int> range(int begin, int end, int step) {
    std::vector<int> all;
    for (int n = begin; n <= end; n += step) all.push_back(n);
    return all;
}

void register_all() {
    // Ha et al.: as many problems as keep the device busy, in fp64; the other type for comparison.
    add<double>("ha_8", Task::dot, {2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 256, 384, 512});
    add<float>("ha_8", Task::dot, {2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 256, 384, 512});
    add<double>("ha_9", Task::gemv, {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128});
    add<float>("ha_9", Task::gemv, {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128});
    add<double>("ha_10", Task::gemm, {2, 4, 8, 12, 16, 24, 31, 32, 33, 48, 64, 96, 128}, 0, true);
    add<float>("ha_10", Task::gemm, {2, 4, 8, 12, 16, 24, 31, 32, 33, 48, 64, 96, 128}, 0, true);
    for (const Task task : {Task::cholesky, Task::lu}) {
        add<double>("ha_11", task, {4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 120, 128}, 0, true);
        add<float>("ha_11", task, {4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 120, 128}, 0, true);
    }
    // Anderson.
    for (const Task task : {Task::qr, Task::lu}) {
        add<float>("anderson_4.2", task, range(3, 12, 1), 64'000, true);
        add<float>("anderson_4.7", task, range(8, 128, 8), 8'000);
        for (const index_t problems : {1, 10, 100, 1'000, 10'000}) {
            add<float>({"anderson_4.8",
                        task,
                        {4, 8, 16, 32, 56, 96, 128},
                        problems,
                        false,
                        Peers::batches,
                        std::string("@").append(std::to_string(problems))});
        }
    }
    add<float>("anderson_4.9", Task::qr, range(16, 128, 16), 8'000);
    add<float>("anderson_4.9", Task::pivoted_lu, range(16, 128, 16), 8'000);
    add<float>("anderson_4.5", Task::solve_by_qr, {16, 32, 56, 64, 96, 112}, 10'000);
    add<std::complex<float>>("anderson_6.5", Task::solve_positive, {18}, 10'000);
    // Every mapping of the factorisations, for the model.
    const std::vector<int> all_mappings{3,  4,  5,  6,  7,  8,   10,  12,  14, 16, 18,
                                        20, 24, 28, 31, 32, 33,  40,  44,  48, 56, 64,
                                        65, 72, 80, 88, 96, 104, 112, 120, 128};
    for (const Task task : {Task::cholesky, Task::lu, Task::qr}) {
        add_on_gpu<float>(
            {"model", task, smoke ? std::vector{3} : all_mappings, 0, false, Peers::none});
        if (smoke || quick) continue;
        add_on_gpu<double>({"model", task, fewer(all_mappings), 0, false, Peers::none});
        add_on_gpu<std::complex<float>>(
            {"model", task, fewer(all_mappings), 0, false, Peers::none});
    }
    register_gpu_experiments();
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    using namespace aperture::bench;
    quick = take_flag(argc, argv, "--quick");
    return run_program(argc, argv, register_all);
}
