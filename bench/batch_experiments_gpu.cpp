// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_experiments_gpu.hpp"

#if APERTURE_CUDA
#include <algorithm>

#include "bench/gpu_calls.hpp"
#include "bench/gpu_parameters.hpp"
#include "bench/vendor_loops.hpp"

namespace aperture::bench {
namespace {

/// Problems of a loop of single calls, which takes as long for each of more.
index_t calls_of_loop() { return quick ? 50 : 500; }

/// Milliseconds by the model; of all but factors, those of the bytes.
template <class T>
double predicted_ms(GpuBatch<T>& on) {
    static const dense::DeviceParameters device = measure_gpu_parameters(on.gpu);
    const auto factors = [&](dense::BatchOperation operation) {
        return 1e3 *
               dense::predict_factors(device, operation, on.n, dense::element_type<T>, on.problems);
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
                [](benchmark::State& state, const std::string& name, GpuBatch<T>& on) {
                    measure_call<T>(state, name, on, library_method<T>(on.host.task), on.problems);
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
                    measure_call<T>(state, name, on, loop_of_calls<T>(on.host.task, spread, calls),
                                    calls);
                });
        }
        if (!has_vendor_method(of_vendor, n)) continue;
        add("cuda_batch_" + task, which,
            [=](benchmark::State& state, const std::string& name, GpuBatch<T>& on) {
                measure_call<T>(state, name, on, vendor_method(on), on.problems);
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
