// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/dense_gpu.hpp"

#if APERTURE_CUDA
#include <algorithm>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_mapping.hpp"
#include "bench/gpu_calls.hpp"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;

/// Tasks that every mapping of factorisations can compute.
bool has_mappings(Task task) {
    return task == Task::cholesky || task == Task::lu || task == Task::pivoted_lu ||
           task == Task::solve || task == Task::gauss_jordan || task == Task::inverse ||
           task == Task::qr;
}

template <class T>
void add_method(const std::string& series, const BatchCase& which,
                const std::function<GpuMethod<T>(GpuBatch<T>&)>& method_of) {
    add_timed("gpu/" + series + "/" + type_name<T>() + "/" + std::to_string(which.n),
              [which, method_of](benchmark::State& state, const std::string& name) {
                  GpuBatch<T> on(which);
                  measure_call<T>(state, name, on, method_of(on), on.problems);
              });
}

/// The library by the mapping that it chooses and by the others, and the vendor.
template <class T>
void add_task(Task task, int n) {
    const std::string name = name_of(task);
    add_method<T>(name, {task, n, {}}, [task](GpuBatch<T>&) { return library_method<T>(task); });
    for (const auto& [mapping, its_name] : {std::pair{dense::Mapping::columns, "@columns"},
                                            {dense::Mapping::rows, "@rows"},
                                            {dense::Mapping::block, "@block"}}) {
        if (!has_mappings(task)) break;
        add_method<T>(name + its_name, {task, n, {}}, [task, its = mapping](GpuBatch<T>&) {
            GpuMethod<T> method = library_method<T>(task);
            method.call = [call = method.call, its](GpuBatch<T>& on) {
                const dense::ForcedMapping forced(its);
                call(on);
            };
            return method;
        });
    }
    if (has_vendor_method(task, n)) {
        add_method<T>("vendor_" + name, {task, n, lapack_storage}, vendor_method<T>);
    }
}

/// Vectors of up to 256 MiB, as many as `problems` or fewer.
template <class T>
void add_vectors(index_t n, index_t problems) {
    struct Vectors {
        core::Gpu gpu;
        Array<T, 2, Device> x, y;
        Array<T, 1, Device> dots;
        Array<dense::Real<T>, 1, Device> norms;

        Vectors(index_t many, index_t length)
            : x({many, length}), y({many, length}), dots({many}), norms({many}) {
            const auto bytes = static_cast<std::size_t>(x.size()) * sizeof(T);
            cudaMemsetAsync(x.data(), 0x3c, bytes, gpu.stream());
            cudaMemsetAsync(y.data(), 0x3c, bytes, gpu.stream());
        }
        core::View<const T, 2, Device> in_x() const { return x.view(); }
        core::View<const T, 2, Device> in_y() const { return y.view(); }
    };
    constexpr auto most_entries = static_cast<index_t>(256 * 1024 * 1024 / sizeof(T));
    problems = smoke ? 3 : std::min(problems, most_entries / n);
    const auto add = [&](const std::string& name, double operands, auto call) {
        const dense::Work work{2.0 * double(n), operands * double(n) * double(sizeof(T))};
        const std::string full = "gpu/" + name + "/" + type_name<T>() + "/" + std::to_string(n) +
                                 "x" + std::to_string(problems);
        add_measured(
            full,
            [n, problems, work, call](benchmark::State& state, const std::string& its) {
                Vectors on(problems, n);
                core::Timeline timeline;
                const int calls = smoke ? 1 : calls_in_a_row;
                const double best = measure(state, its, [&] {
                    return seconds_on(on.gpu, timeline, calls, [&](std::size_t) { call(on); });
                });
                report_rates<T>(state, on.gpu, work, problems, best);
            },
            0.02);
    };
    add("vector_dot", 2,
        [](Vectors& on) { dense::dot<T>(on.gpu, on.in_x(), on.in_y(), on.dots.view()); });
    add("vector_norm", 1, [](Vectors& on) { dense::norm<T>(on.gpu, on.in_x(), on.norms.view()); });
    add("vector_axpy", 3,
        [](Vectors& on) { dense::axpy<T>(on.gpu, T(1), on.in_x(), on.y.view()); });
}

}  // namespace

void register_dense_gpu() {
    if (!core::gpu_status().usable) return;
    for (const int n :
         smoke ? std::vector<int>{3, 8} : std::vector<int>{4, 8, 16, 32, 48, 64, 96, 128}) {
        for (const Task task : all_tasks) {
            if (!has_function(task, n)) continue;
            add_task<float>(task, n);
            add_task<double>(task, n);
            add_task<std::complex<float>>(task, n);
            add_task<std::complex<double>>(task, n);
        }
    }
    constexpr index_t any = index_t(1) << 40;
    for (const index_t n : smoke ? std::vector<index_t>{5}
                                 : std::vector<index_t>{4, 8, 16, 32, 64, 128, 1024, 4096, 65536}) {
        add_vectors<float>(n, any);
        add_vectors<double>(n, any);
    }
    add_vectors<float>(10'000'000, 4);
}

}  // namespace aperture::bench

#else

namespace aperture::bench {
void register_dense_gpu() {}
}  // namespace aperture::bench

#endif
