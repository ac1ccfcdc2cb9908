// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_peers.hpp"

#include <complex>
#include <concepts>
#include <string>

#include "bench/batch_problem.hpp"

namespace aperture::bench {
namespace {

/// Whether all operands and results are matrices.
bool has_layouts(Task task) {
    return task == Task::gemm || task == Task::cholesky || task == Task::lu ||
           task == Task::pivoted_lu || task == Task::inverse || task == Task::qr;
}

/// Eigen takes minutes to compile. Complex numbers of fp64 have LAPACK alone.
#if APERTURE_BENCH_EIGEN
template <class T>
inline constexpr bool has_eigen = !std::same_as<T, std::complex<double>>;
#else
template <class T>
inline constexpr bool has_eigen = std::same_as<T, float>;
#endif

/// One after the other, so that all meet the machine in the same state.
template <class T>
void add_task(Task task, int n) {
    const auto add = [&](const std::string& before, const std::string& after,
                         const Storage& storage, const BatchCall<T>& call) {
        if (call) add_batch<T>("cpu/" + before + name_of(task) + after, {task, n, storage}, call);
    };
    add("", "", {}, library_call<T>(task));
    if (has_layouts(task)) add("", "@interleaved", {.interleaved = true}, library_call<T>(task));
    if constexpr (has_eigen<T>) {
        add("eigen_", "", eigen_storage, eigen_call<T>(task));
        add("eigen_fixed_", "", eigen_storage, eigen_fixed_call<T>(task, n));
    }
    add("lapack_", "", lapack_storage, lapack_call<T>(task));
}

}  // namespace

void register_batches() {
    for (const Task task : all_tasks) {
        for (const int n : batch_orders()) {
            if (!has_function(task, n)) continue;
            add_task<float>(task, n);
            add_task<double>(task, n);
            add_task<std::complex<float>>(task, n);
            add_task<std::complex<double>>(task, n);
        }
    }
}

}  // namespace aperture::bench
