// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The launch of kernels with a problem in the registers of a few lanes: compiled when an order is
// first used, or ahead.

#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "libcore/gpu/compile_kernel.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/apply_factors.cuh"
#include "libdense/gpu/cholesky_in_rows.cuh"
#include "libdense/gpu/in_columns.cuh"
#include "libdense/gpu/in_rows.cuh"
#include "libdense/gpu/qr_in_columns.cuh"
#include "libdense/gpu/tuning.hpp"

#if defined(__CUDACC__)
#include "libcore/gpu/specialise.hpp"
#endif

namespace aperture::dense {

/// The kernel files of this library, for the run-time compiler.
std::span<const core::KernelText> kernel_texts();

namespace detail {

template <class E>
std::string type_name() {
    const std::string real = std::is_same_v<RealOf<E>, float> ? "float" : "double";
    return core::is_complex<E> ? "aperture::core::Complex<" + real + ">" : real;
}

/// The source of a kernel in one of this library's files.
inline core::KernelSource kernel_source(const char* file) {
    return {file, {core::kernel_texts(), kernel_texts()}};
}
inline constexpr const char* columns_file = "libdense/gpu/in_columns.cuh";
inline constexpr const char* rows_file = "libdense/gpu/in_rows.cuh";
inline constexpr const char* cholesky_file = "libdense/gpu/cholesky_in_rows.cuh";
inline constexpr const char* qr_file = "libdense/gpu/qr_in_columns.cuh";
inline constexpr const char* apply_file = "libdense/gpu/apply_factors.cuh";

/// The orders that an executor has kernels for without a run-time compiler.
template <class Executor>
struct CompiledOrders {
    using type = std::integer_sequence<int>;
};
template <class Executor>
requires requires { typename Executor::Orders; }
struct CompiledOrders<Executor> {
    using type = typename Executor::Orders;
};

/// Calls found(order as a constant) if the order is among them.
template <int... orders, class Found>
void if_compiled(std::integer_sequence<int, orders...>, int order, const Found& found) {
    (void)order;
    (void)found;
    (void)(... || (orders == order && (found(std::integral_constant<int, orders>{}), true)));
}

/// Launches a kernel on a batch, if there is one: `compiled`, or the one in `file` that
/// `expression` names in namespace aperture::dense.
template <class Arguments, class Executor>
bool launch_compiled(Executor& executor, const char* file, const std::string& expression,
                     void (*compiled)(Arguments), const core::LaunchConfig& config,
                     const Arguments& arguments) {
    if (compiled != nullptr) {
        core::launch(executor, compiled, config, arguments);
        return true;
    }
#if defined(__CUDACC__)
    const auto kernel = core::specialise<void(Arguments)>(executor, kernel_source(file),
                                                          "aperture::dense::" + expression);
    if (kernel) core::launch(executor, kernel, config, arguments);
    return static_cast<bool>(kernel);
#else
    (void)file;
    (void)expression;
    return false;
#endif
}

template <class Arguments, class Executor>
bool launch_in_rows(Executor& executor, const char* file, const std::string& expression,
                    void (*compiled)(Arguments), index_t problems, int lanes, int shared_bytes,
                    const Arguments& arguments) {
    return launch_compiled(
        executor, file, expression, compiled,
        core::LaunchConfig{dim3(core::blocks_for(problems, rows_threads / lanes)),
                           dim3(rows_threads), static_cast<std::size_t>(shared_bytes)},
        arguments);
}

}  // namespace detail
}  // namespace aperture::dense
