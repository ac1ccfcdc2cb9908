// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <vector>

#include "bench/batch_loop.hpp"

namespace aperture::bench {
namespace {

#if APERTURE_LAPACK
template <class T>
struct Lapack;

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses): LAPACK's.
#define APERTURE_LAPACK_FUNCTIONS(T, s)                                                          \
    extern "C" {                                                                                 \
    void s##gemm_(const char*, const char*, const int*, const int*, const int*, const T*,        \
                  const T*, const int*, const T*, const int*, const T*, T*, const int*);         \
    void s##gemv_(const char*, const int*, const int*, const T*, const T*, const int*, const T*, \
                  const int*, const T*, T*, const int*);                                         \
    void s##potrf_(const char*, const int*, T*, const int*, int*);                               \
    void s##potrs_(const char*, const int*, const int*, const T*, const int*, T*, const int*,    \
                   int*);                                                                        \
    void s##getrf_(const int*, const int*, T*, const int*, int*, int*);                          \
    void s##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*,    \
                   const int*, int*);                                                            \
    void s##getri_(const int*, T*, const int*, const int*, T*, const int*, int*);                \
    void s##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);            \
    }                                                                                            \
    template <>                                                                                  \
    struct Lapack<T> {                                                                           \
        static constexpr auto gemm = s##gemm_;                                                   \
        static constexpr auto gemv = s##gemv_;                                                   \
        static constexpr auto potrf = s##potrf_;                                                 \
        static constexpr auto potrs = s##potrs_;                                                 \
        static constexpr auto getrf = s##getrf_;                                                 \
        static constexpr auto getrs = s##getrs_;                                                 \
        static constexpr auto getri = s##getri_;                                                 \
        static constexpr auto geqrf = s##geqrf_;                                                 \
    };
APERTURE_LAPACK_FUNCTIONS(float, s)
APERTURE_LAPACK_FUNCTIONS(double, d)
APERTURE_LAPACK_FUNCTIONS(std::complex<float>, c)
APERTURE_LAPACK_FUNCTIONS(std::complex<double>, z)
#undef APERTURE_LAPACK_FUNCTIONS
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)

template <class T>
struct LapackBatch {
    using On = BatchProblem<T>;
    using L = Lapack<T>;

    static constexpr int one = 1;
    static T* matrix(core::Array<T, 3>& array, const On& on, index_t p) {
        return array.data() + p * on.n * on.n;
    }
    /// A copy of a matrix, to be factored in place.
    static T* copied(On& on, index_t p, T* to) {
        std::copy_n(matrix(on.a, on, p), on.n * on.n, to);
        return to;
    }
    static std::vector<T> workspace(int entries) {
        return std::vector<T>(static_cast<std::size_t>(entries));
    }

    static void gemm(On& on) {
        const T alpha(1), beta(0);
        for_each_problem(on, [&](index_t p) {
            L::gemm("N", "N", &on.n, &on.n, &on.n, &alpha, matrix(on.a, on, p), &on.n,
                    matrix(on.b, on, p), &on.n, &beta, matrix(on.c, on, p), &on.n);
        });
    }
    static void gemv(On& on) {
        const T alpha(1), beta(0);
        for_each_problem(on, [&](index_t p) {
            L::gemv("N", &on.n, &on.n, &alpha, matrix(on.a, on, p), &on.n, on.x.data() + p * on.n,
                    &one, &beta, on.y.data() + p * on.n, &one);
        });
    }
    static void cholesky(On& on) {
        for_each_problem(on, [&](index_t p) {
            L::potrf("L", &on.n, copied(on, p, matrix(on.c, on, p)), &on.n, &on.info(p));
        });
    }
    static void pivoted_lu(On& on) {
        for_each_problem(on, [&](index_t p) {
            L::getrf(&on.n, &on.n, copied(on, p, matrix(on.c, on, p)), &on.n,
                     on.pivots.data() + p * on.n, &on.info(p));
        });
    }
    static void solve(On& on) {
        for_each_problem(
            on, [&] { return workspace(on.n * on.n); },
            [&](index_t p, auto& factors) {
                int* const pivots = on.pivots.data() + p * on.n;
                L::getrf(&on.n, &on.n, copied(on, p, factors.data()), &on.n, pivots, &on.info(p));
                L::getrs("N", &on.n, &one, factors.data(), &on.n, pivots,
                         on.sides.data() + p * on.n, &on.n, &on.info(p));
            });
    }
    static void solve_positive(On& on) {
        for_each_problem(
            on, [&] { return workspace(on.n * on.n); },
            [&](index_t p, auto& factors) {
                L::potrf("L", &on.n, copied(on, p, factors.data()), &on.n, &on.info(p));
                L::potrs("L", &on.n, &one, factors.data(), &on.n, on.sides.data() + p * on.n, &on.n,
                         &on.info(p));
            });
    }
    static void substitute_lu(On& on) {
        for_each_problem(on, [&](index_t p) {
            L::getrs("N", &on.n, &one, matrix(on.a, on, p), &on.n, on.pivots.data() + p * on.n,
                     on.sides.data() + p * on.n, &on.n, &on.info(p));
        });
    }
    static void substitute_cholesky(On& on) {
        for_each_problem(on, [&](index_t p) {
            L::potrs("L", &on.n, &one, matrix(on.a, on, p), &on.n, on.sides.data() + p * on.n,
                     &on.n, &on.info(p));
        });
    }
    static constexpr int columns_at_once = 64;
    static void inverse(On& on) {
        const int words = columns_at_once * on.n;
        for_each_problem(
            on, [&] { return workspace(words); },
            [&](index_t p, auto& work) {
                T* const c = copied(on, p, matrix(on.c, on, p));
                int* const pivots = on.pivots.data() + p * on.n;
                L::getrf(&on.n, &on.n, c, &on.n, pivots, &on.info(p));
                L::getri(&on.n, c, &on.n, pivots, work.data(), &words, &on.info(p));
            });
    }
    static void qr(On& on) {
        const int words = columns_at_once * on.n;
        for_each_problem(
            on, [&] { return workspace(words); },
            [&](index_t p, auto& work) {
                L::geqrf(&on.n, &on.n, copied(on, p, matrix(on.c, on, p)), &on.n,
                         on.y.data() + p * on.n, work.data(), &words, &on.info(p));
            });
    }
};

/// Threads inside a call are of no use to problems this small.
void use_one_thread_a_call() {
    const auto set_threads =
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
    if (set_threads != nullptr) set_threads(1);
}
#endif

}  // namespace

#if APERTURE_LAPACK
template <class T>
BatchCall<T> lapack_call(Task task) {
    use_one_thread_a_call();
    using Batch = LapackBatch<T>;
    switch (task) {
        case Task::gemv:
            return Batch::gemv;
        case Task::gemm:
            return Batch::gemm;
        case Task::cholesky:
            return Batch::cholesky;
        case Task::pivoted_lu:
            return Batch::pivoted_lu;
        case Task::solve:
            return Batch::solve;
        case Task::solve_positive:
            return Batch::solve_positive;
        case Task::inverse:
            return Batch::inverse;
        case Task::qr:
            return Batch::qr;
        case Task::substitute_lu:
            return Batch::substitute_lu;
        case Task::substitute_cholesky:
            return Batch::substitute_cholesky;
        default:
            return nullptr;
    }
}
#else
template <class T>
BatchCall<T> lapack_call(Task /*task*/) {
    return nullptr;
}
#endif
template BatchCall<float> lapack_call<float>(Task);
template BatchCall<double> lapack_call<double>(Task);
template BatchCall<std::complex<float>> lapack_call<std::complex<float>>(Task);
template BatchCall<std::complex<double>> lapack_call<std::complex<double>>(Task);

}  // namespace aperture::bench
