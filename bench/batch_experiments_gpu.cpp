// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_experiments_gpu.hpp"

#if APERTURE_CUDA
#include <algorithm>
#include <utility>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "bench/gpu_parameters.hpp"
#include "bench/vendor_loops.hpp"

namespace aperture::bench {
namespace {

/// Problems of a loop of single calls, which takes as long for each of more.
index_t calls_of_loop() { return quick ? 50 : 500; }

template <class T>
GpuCall<T> gpu_library_call(Task task) {
    using On = GpuBatch<T>;
    const auto lu = [](On& on, dense::Pivoting pivoting) {
        dense::factor_lu<T>(on.gpu, pivoting, on.in_a(), on.out_c(), on.pivots.view(),
                            on.info.view());
    };
    switch (task) {
        case Task::dot:
            return [](On& on) { dense::dot<T>(on.gpu, on.in_x(), on.in_y(), on.results.view()); };
        case Task::gemv:
            return [](On& on) {
                dense::gemv<T>(on.gpu, dense::Op::none, T(1), on.in_a(), on.in_x(), T(0),
                               on.y.view());
            };
        case Task::gemm:
            return [](On& on) {
                dense::gemm<T>(on.gpu, dense::Op::none, dense::Op::none, T(1), on.in_a(), on.in_b(),
                               T(0), on.out_c());
            };
        case Task::cholesky:
            return [](On& on) {
                dense::factor_cholesky<T>(on.gpu, on.in_a(), on.out_c(), on.info.view());
            };
        case Task::lu:
            return [lu](On& on) { lu(on, dense::Pivoting::none); };
        case Task::pivoted_lu:
            return [lu](On& on) { lu(on, dense::Pivoting::partial); };
        case Task::solve_positive:
            return [](On& on) {
                dense::solve<T>(on.gpu, dense::Factorisation::cholesky, on.in_a(), on.sides.view(),
                                on.info.view(), {});
            };
        case Task::solve_by_qr:
            return [](On& on) {
                dense::least_squares<T>(on.gpu, on.in_a(), std::as_const(on.sides).view(),
                                        on.sides.view(), on.info.view());
            };
        case Task::qr:
            return [](On& on) { dense::factor_qr<T>(on.gpu, on.in_a(), on.out_c(), on.y.view()); };
        default:
            return nullptr;
    }
}

/// Milliseconds by the model; of all but factors, those of the bytes.
template <class T>
double predicted_ms(GpuBatch<T>& on) {
    static const dense::DeviceParameters device = measure_gpu_parameters(on.gpu);
    const auto factors = [&](dense::BatchOperation operation) {
        return 1e3 *
               dense::predict_factors(device, operation, on.n, dense::element_of<T>, on.problems);
    };
    switch (on.host.task) {
        case Task::lu:
            return factors(dense::BatchOperation::lu);
        case Task::qr:
            return factors(dense::BatchOperation::qr);
        case Task::cholesky:
            return factors(dense::BatchOperation::cholesky);
        default:
            return 1e3 * dense::predict_in_thread(device, on.host.work, on.problems);
    }
}

}  // namespace

template <class T>
void add_on_gpu(const Experiment& experiment) {
    if (!core::gpu_status().usable) return;
    const std::string figure = "gpu/" + experiment.figure + "/";
    const std::string task = name_of(experiment.task) + experiment.suffix;
    const bool solves =
        experiment.task == Task::solve_by_qr || experiment.task == Task::solve_positive;
    // The vendor has no LU without pivoting on single problems.
    const Task of_vendor = experiment.task == Task::lu ? Task::pivoted_lu : experiment.task;
    const bool in_place =
        of_vendor == Task::cholesky || of_vendor == Task::pivoted_lu || of_vendor == Task::qr;
    for (const int n : experiment.orders) {
        const auto add = [&](const std::string& series, const BatchCase& which, auto measure_on) {
            add_timed(figure + series + "/" + type_name<T>() + "/" + std::to_string(n),
                      [which, measure_on](benchmark::State& state, const std::string& name) {
                          GpuBatch<T> on(which);
                          measure_on(state, name, on);
                      });
        };
        const auto add_library = [&](const std::string& series, bool interleaved) {
            add(series, {experiment.task, n, {.interleaved = interleaved}, experiment.problems},
                [solves](benchmark::State& state, const std::string& name, GpuBatch<T>& on) {
                    measure_call<T>(state, name, on, gpu_library_call<T>(on.host.task), on.problems,
                                    solves);
                    state.counters["predicted_ms"] = predicted_ms(on);
                });
        };
        add_library(task, false);
        if (experiment.interleaved) add_library(task + "@interleaved", true);
        if (solves || experiment.peers == Peers::none) continue;
        const BatchCase which{of_vendor, n, lapack_storage, experiment.problems};
        for (const bool spread : {false, true}) {
            if (experiment.peers == Peers::batches) break;
            add((spread ? "cuda_streams_" : "cuda_loop_") + task, which,
                [=](benchmark::State& state, const std::string& name, GpuBatch<T>& on) {
                    const index_t calls = std::min(on.problems, calls_of_loop());
                    measure_call<T>(state, name, on, loop_of_calls<T>(spread, calls), calls,
                                    in_place);
                });
        }
        if (of_vendor == Task::dot) continue;
        add("cuda_batch_" + task, which,
            [=](benchmark::State& state, const std::string& name, GpuBatch<T>& on) {
                measure_call<T>(state, name, on, batched_call(on), on.problems, in_place);
            });
    }
}
template void add_on_gpu<float>(const Experiment&);
template void add_on_gpu<double>(const Experiment&);
template void add_on_gpu<std::complex<float>>(const Experiment&);

}  // namespace aperture::bench

#else

namespace aperture::bench {

template <class T>
void add_on_gpu(const Experiment& /*experiment*/) {}
template void add_on_gpu<float>(const Experiment&);
template void add_on_gpu<double>(const Experiment&);
template void add_on_gpu<std::complex<float>>(const Experiment&);

}  // namespace aperture::bench

#endif
