// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_experiments_gpu.hpp"

#if APERTURE_CUDA
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <utility>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "bench/block_shapes.hpp"
#include "bench/gpu_parameters.hpp"
#include "bench/vendor_calls.hpp"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;

constexpr int streams = 16;
/// A loop of more single calls takes as long for each.
constexpr index_t most_calls = 2000;

/// A batch in both memories: the host's checks results.
template <class T>
class GpuBatch {
  public:
    explicit GpuBatch(const BatchCase& which)
        : host(which),
          n(which.n),
          problems(host.problems),
          a(host.a.extent()),
          b(host.b.extent()),
          c(host.c.extent()),
          x(host.x.extent()),
          y(host.y.extent()),
          sides(host.sides.extent()),
          results(host.results.extent()),
          info(host.info.extent()),
          pivots(host.pivots.extent()) {
        host.restore();
        to_device(host.a, a);
        to_device(host.b, b);
        to_device(host.x, x);
        to_device(host.y, y);
        to_device(host.sides, sides);
        gpu.synchronize();
    }

    core::Gpu gpu;
    BatchProblem<T> host;
    const int n;
    const index_t problems;
    Array<T, 3, Device> a, b, c;
    Array<T, 2, Device> x, y;
    Array<T, 3, Device> sides;
    Array<T, 1, Device> results;
    Array<int, 1, Device> info;
    Array<int, 2, Device> pivots;

    core::View<const T, 3, Device> in_a() const { return laid_out<const T>(a); }
    core::View<const T, 3, Device> in_b() const { return laid_out<const T>(b); }
    core::View<T, 3, Device> out_c() { return laid_out<T>(c); }
    core::View<const T, 2, Device> in_x() const { return x.view(); }
    core::View<const T, 2, Device> in_y() const { return y.view(); }

    /// Restores what functions in place overwrite: c by a, and the right-hand sides.
    void restore() {
        copy_bytes(c.data(), a.data(), std::min(a.size(), c.size()));
        copy_bytes(sides.data(), x.data(), sides.size());
    }
    /// The worst error of a sample of the first `checked` problems.
    double error(index_t checked) {
        to_host(c, host.c);
        to_host(y, host.y);
        to_host(sides, host.sides);
        to_host(results, host.results);
        to_host(pivots, host.pivots);
        gpu.synchronize();
        double worst = 0;
        for (index_t p = 0; p < checked; p += std::max<index_t>(checked / 37, 1)) {
            const double here = host.error(p);
            if (!(here <= worst)) worst = here;
        }
        return worst;
    }

  private:
    template <class U, class Batch>
    core::View<U, 3, Device> laid_out(Batch& batch) const {
        core::View<U, 3, Device> view(batch.data(), batch.extent());
        if (host.storage.interleaved) view.stride = {1, problems * n, problems};
        return view;
    }
    void copy_bytes(T* to, const T* from, index_t number) {
        if (number == 0) return;
        cudaMemcpyAsync(to, from, std::size_t(number) * sizeof(T), cudaMemcpyDeviceToDevice,
                        gpu.stream());
    }
    template <class U, int rank>
    void to_device(const Array<U, rank>& from, Array<U, rank, Device>& to) {
        if (from.size() == 0) return;
        cudaMemcpyAsync(to.data(), from.data(), std::size_t(from.size()) * sizeof(U),
                        cudaMemcpyHostToDevice, gpu.stream());
    }
    template <class U, int rank>
    void to_host(const Array<U, rank, Device>& from, Array<U, rank>& to) {
        if (from.size() == 0) return;
        cudaMemcpyAsync(to.data(), from.data(), std::size_t(from.size()) * sizeof(U),
                        cudaMemcpyDeviceToHost, gpu.stream());
    }
};

template <class T>
using GpuCall = std::function<void(GpuBatch<T>&)>;

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

struct Handles {
    cublasHandle_t blas = nullptr;
    cusolverDnHandle_t solver = nullptr;
    std::array<cudaStream_t, streams> streams_{};
    std::array<cudaEvent_t, streams> events{};
    cudaEvent_t begin{};

    Handles() {
        cublasCreate(&blas);
        cusolverDnCreate(&solver);
        for (auto& stream : streams_) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        for (auto& event : events) cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
    }
};

Handles& handles() {
    static thread_local Handles kept;
    return kept;
}

template <class T>
auto vendor_value(T number) {
    return std::bit_cast<typename Vendor<T>::Value>(number);
}
template <class T, class Batch>
auto* vendor_data(Batch& array, index_t offset) {
    return reinterpret_cast<typename Vendor<T>::Value*>(const_cast<T*>(array.data()) + offset);
}

/// One problem by the vendor's function, in the handles' stream. `work` is its scratch memory.
template <class T>
void single_call(GpuBatch<T>& on, index_t p, typename Vendor<T>::Value* work, int words) {
    using V = VendorCall<T>;
    Handles& with = handles();
    const auto one = vendor_value(T(1));
    const auto zero = vendor_value(T(0));
    const index_t matrix = p * on.n * on.n;
    const index_t vector = p * on.n;
    switch (on.host.task) {
        case Task::dot:
            V::dot(with.blas, on.n, vendor_data<T>(on.x, vector), 1, vendor_data<T>(on.y, vector),
                   1, vendor_data<T>(on.results, p));
            break;
        case Task::gemv:
            V::gemv(with.blas, CUBLAS_OP_N, on.n, on.n, &one, vendor_data<T>(on.a, matrix), on.n,
                    vendor_data<T>(on.x, vector), 1, &zero, vendor_data<T>(on.y, vector), 1);
            break;
        case Task::gemm:
            V::gemm(with.blas, CUBLAS_OP_N, CUBLAS_OP_N, on.n, on.n, on.n, &one,
                    vendor_data<T>(on.a, matrix), on.n, vendor_data<T>(on.b, matrix), on.n, &zero,
                    vendor_data<T>(on.c, matrix), on.n);
            break;
        case Task::cholesky:
            V::potrf(with.solver, CUBLAS_FILL_MODE_LOWER, on.n, vendor_data<T>(on.c, matrix), on.n,
                     work, words, on.info.data() + p);
            break;
        case Task::pivoted_lu:
            V::getrf(with.solver, on.n, on.n, vendor_data<T>(on.c, matrix), on.n, work,
                     on.pivots.data() + vector, on.info.data() + p);
            break;
        default:
            V::geqrf(with.solver, on.n, on.n, vendor_data<T>(on.c, matrix), on.n,
                     vendor_data<T>(on.y, vector), work, words, on.info.data() + p);
    }
}

/// Words of scratch memory of a single call.
template <class T>
int words_of(GpuBatch<T>& on) {
    using V = VendorCall<T>;
    const cusolverDnHandle_t solver = handles().solver;
    auto* const c = vendor_data<T>(on.c, 0);
    int words = 0;
    if (on.host.task == Task::cholesky) {
        V::potrf_words(solver, CUBLAS_FILL_MODE_LOWER, on.n, c, on.n, &words);
    } else if (on.host.task == Task::pivoted_lu) {
        V::getrf_words(solver, on.n, on.n, c, on.n, &words);
    } else if (on.host.task == Task::qr) {
        V::geqrf_words(solver, on.n, on.n, c, on.n, &words);
    }
    return words;
}

/// The first problems, one call each; in several streams if `spread`.
template <class T>
GpuCall<T> loop_of_calls(bool spread) {
    auto memory = std::make_shared<Array<T, 2, Device>>();
    return [spread, memory](GpuBatch<T>& on) {
        Handles& with = handles();
        const int words = words_of(on);
        memory->reshape({streams, std::max(words, 1)});
        cublasSetPointerMode(with.blas, on.host.task == Task::dot ? CUBLAS_POINTER_MODE_DEVICE
                                                                  : CUBLAS_POINTER_MODE_HOST);
        cudaEventRecord(with.begin, on.gpu.stream());
        for (int s = 0; spread && s < streams; ++s) {
            cudaStreamWaitEvent(with.streams_[s], with.begin);
        }
        for (index_t p = 0; p < std::min(on.problems, most_calls); ++p) {
            const auto s = static_cast<std::size_t>(p % streams);
            const cudaStream_t stream = spread ? with.streams_[s] : on.gpu.stream();
            cublasSetStream(with.blas, stream);
            cusolverDnSetStream(with.solver, stream);
            single_call(on, p, vendor_data<T>(*memory, index_t(s) * std::max(words, 1)), words);
        }
        for (std::size_t s = 0; spread && s < streams; ++s) {
            cudaEventRecord(with.events[s], with.streams_[s]);
            cudaStreamWaitEvent(on.gpu.stream(), with.events[s]);
        }
        cublasSetPointerMode(with.blas, CUBLAS_POINTER_MODE_HOST);
    };
}

/// Pointers to every matrix or vector of a batch.
template <class T>
std::shared_ptr<Array<typename Vendor<T>::Value*, 1, Device>> pointers(core::Gpu& gpu, T* first,
                                                                       index_t problems,
                                                                       index_t distance) {
    using Value = typename Vendor<T>::Value;
    std::vector<Value*> host;
    for (index_t p = 0; p < problems; ++p) {
        host.push_back(reinterpret_cast<Value*>(first + p * distance));
    }
    auto there = std::make_shared<Array<Value*, 1, Device>>(core::Extents<1>{problems});
    cudaMemcpyAsync(there->data(), host.data(), host.size() * sizeof(Value*),
                    cudaMemcpyHostToDevice, gpu.stream());
    gpu.synchronize();
    return there;
}

/// The vendor's function for the whole batch, after its pointers have been made.
template <class T>
GpuCall<T> batched_call(GpuBatch<T>& first) {
    using V = Vendor<T>;
    const Task task = first.host.task;
    if (task == Task::gemv || task == Task::gemm) {
        return [task](GpuBatch<T>& on) {
            const auto one = vendor_value(T(1));
            const auto zero = vendor_value(T(0));
            const index_t size = index_t{on.n} * on.n;
            const auto problems = static_cast<int>(on.problems);
            cublasSetStream(handles().blas, on.gpu.stream());
            if (task == Task::gemm) {
                V::gemm(handles().blas, CUBLAS_OP_N, CUBLAS_OP_N, on.n, on.n, on.n, &one,
                        vendor_data<T>(on.a, 0), on.n, size, vendor_data<T>(on.b, 0), on.n, size,
                        &zero, vendor_data<T>(on.c, 0), on.n, size, problems);
            } else {
                V::gemv(handles().blas, CUBLAS_OP_N, on.n, on.n, &one, vendor_data<T>(on.a, 0),
                        on.n, size, vendor_data<T>(on.x, 0), 1, on.n, &zero,
                        vendor_data<T>(on.y, 0), 1, on.n, problems);
            }
        };
    }
    if (task != Task::cholesky && task != Task::pivoted_lu && task != Task::qr) return nullptr;
    auto matrices = pointers(first.gpu, first.c.data(), first.problems, index_t{first.n} * first.n);
    auto vectors = pointers(first.gpu, first.y.data(), first.y.size() > 0 ? first.problems : 0,
                            index_t{first.n});
    return [task, matrices, vectors](GpuBatch<T>& on) {
        const auto problems = static_cast<int>(on.problems);
        cublasSetStream(handles().blas, on.gpu.stream());
        cusolverDnSetStream(handles().solver, on.gpu.stream());
        if (task == Task::cholesky) {
            V::potrf(handles().solver, CUBLAS_FILL_MODE_LOWER, on.n, matrices->data(), on.n,
                     on.info.data(), problems);
        } else if (task == Task::pivoted_lu) {
            V::getrf(handles().blas, on.n, matrices->data(), on.n, on.pivots.data(), on.info.data(),
                     problems);
        } else {
            int info = 0;
            V::geqrf(handles().blas, on.n, on.n, matrices->data(), on.n, vectors->data(), &info,
                     problems);
        }
    };
}

/// Milliseconds by the model: factors above order 32 by blocks, everything else by its bytes.
template <class T>
double predicted_ms(GpuBatch<T>& on) {
    static const dense::DeviceParameters device = measure_gpu_parameters(on.gpu);
    const Task task = on.host.task;
    constexpr int largest_in_registers = 32;
    // Registers are enough for so many blocks of 16 x 16 threads.
    constexpr int threads = 256;
    constexpr int blocks = 4;
    const bool factors = task == Task::lu || task == Task::qr || task == Task::cholesky;
    if (!factors || on.n <= largest_in_registers) {
        return 1e3 * dense::predict_in_thread(device, on.host.work, on.problems);
    }
    const auto operation = task == Task::lu   ? dense::BatchOperation::lu
                           : task == Task::qr ? dense::BatchOperation::qr
                                              : dense::BatchOperation::cholesky;
    return 1e3 * dense::predict_in_block(device, operation, {on.n, on.n, 1}, threads,
                                         dense::element_of<T>, blocks, on.problems)
                     .seconds;
}

/// Checks the first `count` problems' results, then times call and reports the rates.
template <class T>
void measure_call(benchmark::State& state, const std::string& name, GpuBatch<T>& on,
                  const GpuCall<T>& call, index_t count, bool in_place) {
    if (in_place) on.restore();
    call(on);
    const double error = on.error(count);
    const double limit = 30.0 * on.n * double(std::numeric_limits<dense::Real<T>>::epsilon());
    state.counters["error"] = error;
    if (!(error <= limit)) return fail(state, "the result is wrong");

    core::Timeline timeline;
    const int calls = smoke || count < on.problems ? 1 : calls_in_a_row;
    const double best = measure(state, name, [&] {
        const double all = seconds_on(on.gpu, timeline, calls, [&](std::size_t) {
            if (in_place) on.restore();
            call(on);
        });
        if (!in_place) return all;
        return all - seconds_on(on.gpu, timeline, calls, [&](std::size_t) { on.restore(); });
    });
    state.counters["problems"] = double(count);
    state.counters["GB/s"] = 1e-9 * on.host.work.bytes * double(count) / best;
    state.counters["GFLOP/s"] = 1e-9 * on.host.work.flops * double(count) / best;
}

}  // namespace

template <class T>
void add_on_gpu(const Experiment& experiment) {
    if (!core::gpu_status().usable) return;
    const std::string figure = "gpu/" + experiment.figure + "/";
    const std::string task = name_of(experiment.task) + experiment.suffix;
    // The vendor has no LU without pivoting on single problems.
    const Task of_vendor = experiment.task == Task::lu ? Task::pivoted_lu : experiment.task;
    const bool solves =
        experiment.task == Task::solve_by_qr || experiment.task == Task::solve_positive;
    for (const int n : experiment.orders) {
        const std::string end = std::string("/") + type_name<T>() + "/" + std::to_string(n);
        const auto add_library = [&](const std::string& series, bool interleaved) {
            const BatchCase which{
                experiment.task, n, {.interleaved = interleaved}, experiment.problems};
            add_measured(
                figure + series + end,
                [which, solves](benchmark::State& state, const std::string& name) {
                    GpuBatch<T> on(which);
                    measure_call<T>(state, name, on, gpu_library_call<T>(which.task), on.problems,
                                    solves);
                    state.counters["predicted_ms"] = predicted_ms(on);
                },
                0.02);
        };
        add_library(task, false);
        if (experiment.interleaved) add_library(task + "@interleaved", true);
        if (solves) continue;
        const BatchCase which{of_vendor, n, lapack_storage, experiment.problems};
        const bool in_place =
            of_vendor == Task::cholesky || of_vendor == Task::pivoted_lu || of_vendor == Task::qr;
        for (const bool spread : {false, true}) {
            add_measured(
                figure + (spread ? "cuda_streams_" : "cuda_loop_") + task + end,
                [which, spread, in_place](benchmark::State& state, const std::string& name) {
                    GpuBatch<T> on(which);
                    measure_call<T>(state, name, on, loop_of_calls<T>(spread),
                                    std::min(on.problems, most_calls), in_place);
                },
                0.02);
        }
        if (of_vendor == Task::dot) continue;
        add_measured(
            figure + "cuda_batch_" + task + end,
            [which, in_place](benchmark::State& state, const std::string& name) {
                GpuBatch<T> on(which);
                measure_call<T>(state, name, on, batched_call(on), on.problems, in_place);
            },
            0.02);
    }
}
template void add_on_gpu<float>(const Experiment&);
template void add_on_gpu<double>(const Experiment&);
template void add_on_gpu<std::complex<float>>(const Experiment&);

void register_gpu_experiments() {
    if (!core::gpu_status().usable) return;
    const auto add = [](const std::string& series, int order, double bytes, auto seconds_of) {
        add_measured(
            "gpu/" + series + "/" + std::to_string(order),
            [=](benchmark::State& state, const std::string& name) {
                core::Gpu gpu;
                const double best = measure(state, name, [&] { return seconds_of(gpu); });
                state.counters["GB/s"] = 1e-9 * bytes / best;
            },
            0.02);
    };
    for (const int threads : {64, 128, 192, 256, 512, 768, 1024}) {
        add("ha_table_1/axpy/f64", threads, axpy_bytes(),
            [=](core::Gpu& gpu) { return axpy_seconds(gpu, threads); });
    }
    for (const int in_a_row : {1, 2, 4, 8, 16, 32}) {
        add("ha_table_2/copy/f32", in_a_row, copy_bytes<float>(),
            [=](core::Gpu& gpu) { return copy_seconds<float>(gpu, in_a_row); });
        add("ha_table_2/copy/f64", in_a_row, copy_bytes<double>(),
            [=](core::Gpu& gpu) { return copy_seconds<double>(gpu, in_a_row); });
    }
}

}  // namespace aperture::bench

#else

namespace aperture::bench {

template <class T>
void add_on_gpu(const Experiment& /*experiment*/) {}
template void add_on_gpu<float>(const Experiment&);
template void add_on_gpu<double>(const Experiment&);
template void add_on_gpu<std::complex<float>>(const Experiment&);

void register_gpu_experiments() {}

}  // namespace aperture::bench

#endif
