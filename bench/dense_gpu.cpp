// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/dense_gpu.hpp"

#if APERTURE_CUDA
#include <algorithm>
#include <bit>
#include <complex>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_mapping.hpp"
#include "aperture/dense/batch_model.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "aperture/dense/batch_spectral.hpp"
#include "bench/gpu_ceilings.hpp"
#include "bench/program.hpp"
#include "bench/vendor_batches.hpp"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;
using core::index_t;

template <class T>
constexpr const char* type_name() {
    if constexpr (std::same_as<T, float>) return "f32";
    if constexpr (std::same_as<T, double>) return "f64";
    if constexpr (std::same_as<T, std::complex<float>>) return "c64";
    return "c128";
}

/// The operands of all functions for one order and type: random matrices that are diagonally
/// dominant and Hermitian, so that every function works on them.
template <class T>
struct Operands {
    core::Gpu gpu;
    index_t n;
    index_t problems;
    Array<T, 3, Device> a, b, c;
    Array<T, 3, Device> sides;
    Array<T, 2, Device> x, y;
    Array<T, 1, Device> results;
    Array<dense::Real<T>, 1, Device> norms;
    Array<int, 1, Device> info;
    Array<int, 2, Device> pivots;

    explicit Operands(index_t order)
        : n(order),
          problems(smoke ? 33
                         : std::clamp<index_t>(
                               (index_t{256} << 20) / (order * order * index_t{sizeof(T)}), 2000,
                               1 << 21)),
          a({problems, n, n}),
          b(a.extent()),
          c(a.extent()),
          sides({problems, 1, n}),
          x({problems, n}),
          y(x.extent()),
          results({problems}),
          norms({problems}),
          info({problems}),
          pivots({problems, n}) {
        std::mt19937 generator(7);
        std::uniform_real_distribution<float> uniform(-1, 1);
        // A few different problems, again and again.
        const index_t different = std::min<index_t>(problems, 61);
        Array<T, 3> host({different, n, n});
        for (index_t p = 0; p < different; ++p) {
            for (index_t i = 0; i < n; ++i) {
                for (index_t j = 0; j <= i; ++j) {
                    T value = T(uniform(generator));
                    if constexpr (!std::same_as<T, dense::Real<T>>) {
                        if (i != j) value += T(0, uniform(generator));
                        host(p, j, i) = std::conj(value);
                    } else {
                        host(p, j, i) = value;
                    }
                    host(p, i, j) = value;
                }
                host(p, i, i) += dense::Real<T>(2 * n);
            }
        }
        const auto fill = [&](auto& array) {
            const index_t some = std::min(host.size(), array.size());
            core::copy<T, 1, core::Strided>(gpu,
                                            core::View<const T, 1, core::Host>(host.data(), {some}),
                                            core::View<T, 1, Device>(array.data(), {some}));
            for (index_t filled = some; filled < array.size(); filled *= 2) {
                cudaMemcpyAsync(array.data() + filled, array.data(),
                                std::size_t(std::min(filled, array.size() - filled)) * sizeof(T),
                                cudaMemcpyDeviceToDevice, gpu.stream());
            }
        };
        fill(a);
        fill(b);
        fill(c);
        fill(x);
        fill(y);
        fill(sides);
        gpu.synchronize();
    }

    core::View<const T, 3, Device> in_a() const { return a.view(); }
    core::View<const T, 3, Device> in_b() const { return b.view(); }
    core::View<const T, 2, Device> in_x() const { return x.view(); }
    /// The memory of y.
    core::View<dense::Real<T>, 2, Device> reals() {
        return {reinterpret_cast<dense::Real<T>*>(y.data()), {problems, n}};
    }
};

/// Pointers to every matrix of a batch, for the vendor's functions.
template <class T>
Array<typename Vendor<T>::Value*, 1, Device> pointers(core::Gpu& gpu, T* first, index_t problems,
                                                      index_t distance) {
    using Value = typename Vendor<T>::Value;
    Array<Value*, 1> host({problems});
    for (index_t p = 0; p < problems; ++p) {
        host(p) = reinterpret_cast<Value*>(first + p * distance);
    }
    Array<Value*, 1, Device> there({problems});
    core::copy<Value*, 1, core::Strided>(
        gpu, core::View<Value* const, 1, core::Host>(host.data(), {problems}), there.view());
    gpu.synchronize();
    return there;
}

/// Percent of the bound: of the fastest copy of the operands, or of the peak of multiply-adds.
template <class T>
void report(benchmark::State& state, core::Gpu& gpu, const dense::Work& work, index_t problems,
            double seconds) {
    const bool single = std::same_as<dense::Real<T>, float>;
    const double bytes = work.bytes * double(problems);
    const double flops = work.flops * double(problems);
    const double memory = 1e-9 * bytes / gpu_copy_gbs(gpu);
    const double arithmetic =
        1e-9 * flops / gpu_peak_gflops(gpu, single ? GpuUnit::fp32 : GpuUnit::fp64);
    state.counters["problems"] = double(problems);
    state.counters["GB/s"] = 1e-9 * bytes / seconds;
    state.counters["GFLOP/s"] = 1e-9 * flops / seconds;
    state.counters["%copy"] = 100 * memory / seconds;
    state.counters["%bound"] = 100 * std::max(memory, arithmetic) / seconds;
}

/// Times call() on operands; `restore`, which is timed too and subtracted, comes before each.
template <class T, class Call>
void run(benchmark::State& state, Operands<T>& on, const std::string& name, const dense::Work& work,
         const Call& call, const std::function<void()>& restore = nullptr) {
    core::Timeline timeline;
    const int calls = smoke ? 1 : calls_in_a_row;
    const double best = measure(state, name, [&] {
        const double all = seconds_on(on.gpu, timeline, calls, [&](std::size_t) {
            if (restore) restore();
            call();
        });
        if (!restore) return all;
        return all - seconds_on(on.gpu, timeline, calls, [&](std::size_t) { restore(); });
    });
    report<T>(state, on.gpu, work, on.problems, best);
}

template <class T>
void add_order(index_t n) {
    using dense::BatchOperation;
    using V = Vendor<T>;
    using Value = typename V::Value;
    const std::string of = std::string("/") + type_name<T>() + "/" + std::to_string(n);
    const auto work = [n](BatchOperation operation) {
        return dense::work_of(operation, {n, n, operation == BatchOperation::gemm ? n : 1},
                              dense::element_of<T>);
    };
    const auto add = [&](const std::string& name, dense::Work its_work, auto call) {
        add_measured(
            "gpu/" + name + of,
            [n, its_work, call](benchmark::State& state, const std::string& full) {
                Operands<T> on(n);
                run<T>(state, on, full, its_work, [&] { call(on); });
            },
            0.02);
    };
    // What is overwritten is restored.
    const auto add_in_place = [&](const std::string& name, dense::Work its_work, auto prepare) {
        add_measured(
            "gpu/" + name + of,
            [n, its_work, prepare](benchmark::State& state, const std::string& full) {
                Operands<T> on(n);
                const auto call = prepare(on);
                run<T>(state, on, full, its_work, call, [&] {
                    cudaMemcpyAsync(on.c.data(), on.a.data(), std::size_t(on.a.size()) * sizeof(T),
                                    cudaMemcpyDeviceToDevice, on.gpu.stream());
                });
            },
            0.02);
    };
    // The same by every mapping, in place of the one that the library chooses.
    const auto add_mappings = [&](const std::string& name, dense::Work its_work, auto call) {
        add(name, its_work, call);
        for (const auto& [mapping, its_name] : {std::pair{dense::Mapping::columns, "@columns"},
                                                {dense::Mapping::rows, "@rows"},
                                                {dense::Mapping::block, "@block"}}) {
            add(name + its_name, its_work, [call, its = mapping](Operands<T>& on) {
                const dense::ForcedMapping forced(its);
                call(on);
            });
        }
    };
    const T one(1), zero(0);
    add("dot", work(BatchOperation::dot),
        [](Operands<T>& on) { dense::dot<T>(on.gpu, on.in_x(), on.y.view(), on.results.view()); });
    add("gemv", work(BatchOperation::gemv), [=](Operands<T>& on) {
        dense::gemv<T>(on.gpu, dense::Op::none, one, on.in_a(), on.in_x(), zero, on.y.view());
    });
    add("gemm", work(BatchOperation::gemm), [=](Operands<T>& on) {
        dense::gemm<T>(on.gpu, dense::Op::none, dense::Op::none, one, on.in_a(), on.in_b(), zero,
                       on.c.view());
    });
    add("change_layout", {0, 2.0 * double(n * n) * sizeof(T)}, [](Operands<T>& on) {
        core::View<T, 3, Device> to = on.c.view();
        to.stride = {1, on.problems * on.n, on.problems};
        dense::change_layout<T>(on.gpu, on.in_a(), to);
    });
    const dense::Work cholesky = work(BatchOperation::cholesky);
    add_mappings("cholesky", {cholesky.flops, 1.5 * double(n * n) * sizeof(T)},
                 [](Operands<T>& on) {
                     dense::factor_cholesky<T>(on.gpu, on.in_a(), on.c.view(), on.info.view());
                 });
    const dense::Work lu = work(BatchOperation::lu);
    for (const auto pivoting : {dense::Pivoting::none, dense::Pivoting::partial}) {
        add_mappings(pivoting == dense::Pivoting::none ? "lu" : "pivoted_lu", lu,
                     [=](Operands<T>& on) {
                         dense::factor_lu<T>(on.gpu, pivoting, on.in_a(), on.c.view(),
                                             on.pivots.view(), on.info.view());
                     });
    }
    add_mappings("solve", work(BatchOperation::gauss_jordan), [](Operands<T>& on) {
        dense::solve_lu<T>(on.gpu, dense::Pivoting::partial, on.in_a(), on.sides.view(),
                           on.info.view());
    });
    add_mappings("gauss_jordan", work(BatchOperation::gauss_jordan), [](Operands<T>& on) {
        dense::solve_gauss_jordan<T>(on.gpu, on.in_a(), on.sides.view(), on.info.view());
    });
    add("solve_positive", work(BatchOperation::solve), [](Operands<T>& on) {
        dense::solve<T>(on.gpu, dense::Factorisation::cholesky, on.in_a(), on.sides.view(),
                        on.info.view(), {});
    });
    add_mappings("inverse", work(BatchOperation::invert), [](Operands<T>& on) {
        dense::invert<T>(on.gpu, on.in_a(), on.c.view(), on.info.view());
    });
    add_mappings("qr", work(BatchOperation::qr), [](Operands<T>& on) {
        dense::factor_qr<T>(on.gpu, on.in_a(), on.c.view(), on.y.view());
    });
    // How many operations they take depends on the matrices.
    const dense::Work eigen{0, 2.0 * double(n * n) * sizeof(T)};
    const dense::Work svd{0, 3.0 * double(n * n) * sizeof(T)};
    if (n <= dense::max_spectral_order) {
        add("eigen", eigen, [](Operands<T>& on) {
            dense::eigen_hermitian<T>(on.gpu, on.in_a(), on.reals(), on.c.view(), on.info.view());
        });
        add("svd", svd, [](Operands<T>& on) {
            dense::svd<T>(on.gpu, on.in_a(), on.b.view(), on.reals(), on.c.view(), on.info.view());
        });
    }

    const auto value = [](T number) { return std::bit_cast<Value>(number); };
    const auto cublas = [](Operands<T>& on) {
        static thread_local cublasHandle_t handle = [] {
            cublasHandle_t created = nullptr;
            cublasCreate(&created);
            return created;
        }();
        cublasSetStream(handle, on.gpu.stream());
        return handle;
    };
    const auto at = [](auto& array) { return reinterpret_cast<Value*>(array.data()); };
    add("cublas_gemm", work(BatchOperation::gemm), [=](Operands<T>& on) {
        const Value alpha = value(one), beta = value(zero);
        const auto order = static_cast<int>(on.n);
        V::gemm(cublas(on), CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &alpha, at(on.b), order,
                on.n * on.n, at(on.a), order, on.n * on.n, &beta, at(on.c), order, on.n * on.n,
                static_cast<int>(on.problems));
    });
    add("cublas_gemv", work(BatchOperation::gemv), [=](Operands<T>& on) {
        const Value alpha = value(one), beta = value(zero);
        const auto order = static_cast<int>(on.n);
        V::gemv(cublas(on), CUBLAS_OP_T, order, order, &alpha, at(on.a), order, on.n * on.n,
                at(on.x), 1, on.n, &beta, at(on.y), 1, on.n, static_cast<int>(on.problems));
    });
    for (const bool pivoted : {false, true}) {
        add_in_place(pivoted ? "cublas_pivoted_lu" : "cublas_lu", lu, [=](Operands<T>& on) {
            auto matrices = std::make_shared<Array<Value*, 1, Device>>(
                pointers(on.gpu, on.c.data(), on.problems, on.n * on.n));
            return [&on, matrices, cublas, pivoted] {
                const auto order = static_cast<int>(on.n);
                V::getrf(cublas(on), order, matrices->data(), order,
                         pivoted ? on.pivots.data() : nullptr, on.info.data(),
                         static_cast<int>(on.problems));
            };
        });
    }
    add_in_place("cublas_solve", work(BatchOperation::gauss_jordan), [=](Operands<T>& on) {
        auto matrices = std::make_shared<Array<Value*, 1, Device>>(
            pointers(on.gpu, on.c.data(), on.problems, on.n * on.n));
        auto vectors = std::make_shared<Array<Value*, 1, Device>>(
            pointers(on.gpu, on.sides.data(), on.problems, on.n));
        return [&on, matrices, vectors, cublas] {
            const auto order = static_cast<int>(on.n);
            const auto problems = static_cast<int>(on.problems);
            V::getrf(cublas(on), order, matrices->data(), order, on.pivots.data(), on.info.data(),
                     problems);
            int info = 0;
            V::getrs(cublas(on), CUBLAS_OP_N, order, 1, matrices->data(), order, on.pivots.data(),
                     vectors->data(), order, &info, problems);
        };
    });
    add_in_place("cublas_inverse", work(BatchOperation::invert), [=](Operands<T>& on) {
        auto matrices = std::make_shared<Array<Value*, 1, Device>>(
            pointers(on.gpu, on.c.data(), on.problems, on.n * on.n));
        auto inverses = std::make_shared<Array<Value*, 1, Device>>(
            pointers(on.gpu, on.b.data(), on.problems, on.n * on.n));
        return [&on, matrices, inverses, cublas] {
            const auto order = static_cast<int>(on.n);
            const auto problems = static_cast<int>(on.problems);
            // The faster one, where it is.
            constexpr int largest_of_matinv = 32;
            if (order <= largest_of_matinv) {
                V::matinv(cublas(on), order, matrices->data(), order, inverses->data(), order,
                          on.info.data(), problems);
                return;
            }
            V::getrf(cublas(on), order, matrices->data(), order, on.pivots.data(), on.info.data(),
                     problems);
            V::getri(cublas(on), order, matrices->data(), order, on.pivots.data(), inverses->data(),
                     order, on.info.data(), problems);
        };
    });
    add_in_place("cublas_qr", work(BatchOperation::qr), [=](Operands<T>& on) {
        auto matrices = std::make_shared<Array<Value*, 1, Device>>(
            pointers(on.gpu, on.c.data(), on.problems, on.n * on.n));
        auto factors = std::make_shared<Array<Value*, 1, Device>>(
            pointers(on.gpu, on.y.data(), on.problems, on.n));
        return [&on, matrices, factors, cublas] {
            const auto order = static_cast<int>(on.n);
            int info = 0;
            V::geqrf(cublas(on), order, order, matrices->data(), order, factors->data(), &info,
                     static_cast<int>(on.problems));
        };
    });
    const auto cusolver = [](Operands<T>& on) {
        static thread_local cusolverDnHandle_t handle = [] {
            cusolverDnHandle_t created = nullptr;
            cusolverDnCreate(&created);
            return created;
        }();
        cusolverDnSetStream(handle, on.gpu.stream());
        return handle;
    };
    add_in_place("cusolver_cholesky", {cholesky.flops, 1.5 * double(n * n) * sizeof(T)},
                 [=](Operands<T>& on) {
                     auto matrices = std::make_shared<Array<Value*, 1, Device>>(
                         pointers(on.gpu, on.c.data(), on.problems, on.n * on.n));
                     return [&on, matrices, cusolver] {
                         const auto order = static_cast<int>(on.n);
                         V::potrf(cusolver(on), CUBLAS_FILL_MODE_UPPER, order, matrices->data(),
                                  order, on.info.data(), static_cast<int>(on.problems));
                     };
                 });
    if (n <= dense::max_spectral_order) {
        add_in_place("cusolver_eigen", eigen, [=](Operands<T>& on) {
            static thread_local syevjInfo_t parameters = [] {
                syevjInfo_t created = nullptr;
                cusolverDnCreateSyevjInfo(&created);
                return created;
            }();
            const auto order = static_cast<int>(on.n);
            int size = 0;
            V::eigen_size(cusolver(on), CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, order,
                          at(on.c), order, on.reals().data, &size, parameters,
                          static_cast<int>(on.problems));
            auto space = std::make_shared<Array<Value, 1, Device>>(core::Extents<1>{size});
            return [&on, space, size, cusolver, at] {
                const auto its_order = static_cast<int>(on.n);
                V::eigen(cusolver(on), CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, its_order,
                         at(on.c), its_order, on.reals().data, space->data(), size, on.info.data(),
                         parameters, static_cast<int>(on.problems));
            };
        });
    }
    // The vendor's takes no larger ones.
    if (n <= 32) {
        add_in_place("cusolver_svd", svd, [=](Operands<T>& on) {
            static thread_local gesvdjInfo_t parameters = [] {
                gesvdjInfo_t created = nullptr;
                cusolverDnCreateGesvdjInfo(&created);
                return created;
            }();
            const auto order = static_cast<int>(on.n);
            int size = 0;
            auto v = std::make_shared<Array<T, 3, Device>>(on.a.extent());
            V::gesvd_size(cusolver(on), CUSOLVER_EIG_MODE_VECTOR, order, order, at(on.c), order,
                          on.reals().data, at(on.b), order, at(*v), order, &size, parameters,
                          static_cast<int>(on.problems));
            auto space = std::make_shared<Array<Value, 1, Device>>(core::Extents<1>{size});
            return [&on, v, space, size, cusolver, at] {
                const auto its_order = static_cast<int>(on.n);
                V::gesvd(cusolver(on), CUSOLVER_EIG_MODE_VECTOR, its_order, its_order, at(on.c),
                         its_order, on.reals().data, at(on.b), its_order, at(*v), its_order,
                         space->data(), size, on.info.data(), parameters,
                         static_cast<int>(on.problems));
            };
        });
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
                report<T>(state, on.gpu, work, problems, best);
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
    for (const index_t n :
         smoke ? std::vector<index_t>{3, 8} : std::vector<index_t>{4, 8, 16, 32, 48, 64, 96, 128}) {
        add_order<float>(n);
        add_order<double>(n);
        add_order<std::complex<float>>(n);
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
