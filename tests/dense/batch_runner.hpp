// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <random>
#include <type_traits>
#include <vector>

#include "aperture/dense/batch_mapping.hpp"
#include "tests/dense/host_batch.hpp"
#include "tests/dense/matrix_zoo.hpp"

/// Calls the function of an executor; kernels on the SIMT host executor are started by launch_...
#define APERTURE_CALL(FUNCTION)                                        \
    [](auto& executor, auto... arguments) {                            \
        if constexpr (requires { executor.device.multiprocessors; }) { \
            launch_##FUNCTION(executor, arguments...);                 \
        } else {                                                       \
            ::aperture::dense::FUNCTION(executor, arguments...);       \
        }                                                              \
    }

namespace aperture::dense::oracle {

/// LAPACK's threshold for all test ratios.
inline constexpr double ratio_limit = 30;

/// `Orders` of an executor are those of kernels that are compiled ahead.
inline constexpr auto call_solve = [](auto& executor, auto... arguments) {
    using Executor = std::remove_reference_t<decltype(executor)>;
    if constexpr (requires { typename Executor::Orders; }) {
        launch_solve(executor, arguments...);
    } else {
        dense::solve(executor, arguments...);
    }
};

/// Suites of batched functions are instantiated with a Runner, which calls a function of an
/// executor on host views and copies data if the executor has memory of its own:
///     static constexpr bool emulated;  // true: small sizes only
///     static constexpr std::array mappings{...};  // optional: each is forced, one after the other
///     static std::string why_not();    // optional; not empty: the reason to skip the suite
///     void run(function, arguments...);
template <class SomeRunner, Scalar SomeScalar>
struct Combination {
    using Runner = SomeRunner;
    using T = SomeScalar;
};

template <class Runner>
using AllCombinations = ::testing::Types<Combination<Runner, float>, Combination<Runner, double>,
                                         Combination<Runner, std::complex<float>>,
                                         Combination<Runner, std::complex<double>>>;

/// For executors that use host memory.
template <class Executor, bool is_emulated>
struct HostRunner {
    static constexpr bool emulated = is_emulated;
    Executor executor = Executor();

    void run(auto function, auto... arguments) { function(executor, arguments...); }
};

template <class SomeCombination>
class Suite : public ::testing::Test {
  protected:
    using Runner = typename SomeCombination::Runner;
    using T = typename SomeCombination::T;
    using R = Real<T>;
    using Batch = HostBatch<T>;

    void SetUp() override {
        if constexpr (requires { Runner::why_not(); }) {
            if (!Runner::why_not().empty()) GTEST_SKIP() << Runner::why_not();
        }
    }

    /// Calls the test with each mapping of the runner forced.
    static void for_each_mapping(auto test) {
        if constexpr (requires { Runner::mappings; }) {
            for (const Mapping mapping : Runner::mappings) {
                SCOPED_TRACE(::testing::Message() << "mapping " << int(mapping));
                const ForcedMapping forced(mapping);
                test();
            }
        } else {
            test();
        }
    }

    /// Problems of random entries.
    static Batch random_batch(core::index_t problems, core::index_t rows, core::index_t columns,
                              Order layout, core::index_t gap, unsigned seed) {
        std::mt19937 generator(seed);
        Batch batch(problems, rows, columns, layout, gap);
        for (core::index_t p = 0; p < problems; ++p) {
            batch.set(p, random_matrix<T>(rows, columns, generator));
        }
        return batch;
    }
    static Batch batch_of(const std::vector<ZooMatrix>& entries, Order layout, core::index_t gap) {
        const Matrix& first = entries.front().a;
        Batch batch(static_cast<core::index_t>(entries.size()), first.rows(), first.cols(), layout,
                    gap);
        for (std::size_t p = 0; p < entries.size(); ++p) {
            batch.set(static_cast<core::index_t>(p), entries[p].a);
        }
        return batch;
    }
    /// Row 0 of every matrix.
    static auto vectors(auto&& batch) {
        const auto view = batch.view();
        return core::View(view.data, core::Extents<2>{view.extent[0], view.extent[2]},
                          core::Extents<2>{view.stride[0], view.stride[2]});
    }
    static core::View<int, 1, core::Host> entries(std::vector<int>& values) {
        return {values.data(), {static_cast<core::index_t>(values.size())}};
    }

    Runner runner_{};
};

}  // namespace aperture::dense::oracle
