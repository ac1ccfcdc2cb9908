// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "bench/batch_mappings.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {
namespace {

/// Two tiles, of which the second is a part.
constexpr int two_tiles = 37;

struct Problems {
    static constexpr int problems = 3;
    bool interleaved;
    int n;
    std::vector<float> a, b, x, c, y;
    core::Simt simt{core::LaneOrder::random, 3};

    Problems(bool by_problem, int order)
        : interleaved(by_problem),
          n(order),
          a(static_cast<std::size_t>(problems * n * n)),
          b(a),
          x(static_cast<std::size_t>(problems * n)),
          c(a),
          y(x) {
        std::mt19937 random(7);
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (auto* const vector : {&b, &x}) {
            for (float& entry : *vector) entry = uniform(random);
        }
        for (int p = 0; p < problems; ++p) {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j <= i; ++j) {
                    const float value = uniform(random) + (i == j ? 2 * float(n) : 0);
                    a[at(p, i, j)] = a[at(p, j, i)] = value;
                }
            }
        }
        c = a;
    }
    std::size_t at(int p, int i, int j) const {
        return interleaved ? static_cast<std::size_t>((i * n + j) * problems + p)
                           : static_cast<std::size_t>((p * n + i) * n + j);
    }
    MappedProblems operands() {
        return {a.data(), b.data(), x.data(), c.data(), y.data(), n, problems};
    }
    template <MappedFunction function>
    void expect_results() const {
        for (int p = 0; p < problems; ++p) {
            for (int i = 0; i < n; ++i) {
                if (function == MappedFunction::gemv) {
                    double sum = 0;
                    for (int j = 0; j < n; ++j) sum += double(a[at(p, i, j)]) * x[p * n + j];
                    ASSERT_NEAR(y[p * n + i], sum, 1e-4) << p << ' ' << i;
                    continue;
                }
                for (int j = 0; j < n; ++j) {
                    double sum = 0;
                    for (int k = 0; k < n; ++k) {
                        sum += function == MappedFunction::gemm
                                   ? double(a[at(p, i, k)]) * b[at(p, k, j)]
                                   : double(c[at(p, i, k)]) * c[at(p, j, k)];
                    }
                    const float expected =
                        function == MappedFunction::gemm ? c[at(p, i, j)] : a[at(p, i, j)];
                    ASSERT_NEAR(sum, expected, 1e-3) << p << ' ' << i << ' ' << j;
                    if (function == MappedFunction::cholesky && j > i) {
                        ASSERT_EQ(c[at(p, i, j)], 0) << p << ' ' << i << ' ' << j;
                    }
                }
            }
        }
    }
};

template <MappedFunction function>
void expect_groups() {
    Problems on(true, 13);
    core::launch(on.simt, &in_interleaved_groups<function>,
                 core::LaunchConfig(1, 64, group_bytes(function, on.n)), on.operands());
    on.expect_results<function>();
}
template <MappedFunction function>
void expect_walk() {
    Problems on(false, two_tiles);
    core::launch(on.simt, &walk_parts<function>,
                 core::LaunchConfig(Problems::problems, mapped_threads, mapped_bytes),
                 on.operands());
    on.expect_results<function>();
}
template <MappedPhase phase>
void launch_grid(Problems& on, int panel) {
    const auto parts = static_cast<unsigned>(parts_of<phase>(on.n, panel));
    if (parts == 0) return;
    core::launch(on.simt, &part_of_all<phase>,
                 core::LaunchConfig(parts, mapped_threads, mapped_bytes), on.operands(), panel);
}

TEST(SimtBatchMappings, InterleavedGroups) {
    expect_groups<MappedFunction::gemv>();
    expect_groups<MappedFunction::gemm>();
    expect_groups<MappedFunction::cholesky>();
}

TEST(SimtBatchMappings, Walk) {
    expect_walk<MappedFunction::gemv>();
    expect_walk<MappedFunction::gemm>();
    expect_walk<MappedFunction::cholesky>();
}

TEST(SimtBatchMappings, Grid) {
    Problems gemv(false, two_tiles);
    launch_grid<MappedPhase::gemv>(gemv, 0);
    gemv.expect_results<MappedFunction::gemv>();
    Problems gemm(false, two_tiles);
    launch_grid<MappedPhase::gemm>(gemm, 0);
    gemm.expect_results<MappedFunction::gemm>();
    Problems cholesky(false, two_tiles);
    for (const int panel : {0, 1}) {
        launch_grid<MappedPhase::diagonal>(cholesky, panel);
        launch_grid<MappedPhase::below>(cholesky, panel);
        launch_grid<MappedPhase::update>(cholesky, panel);
    }
    cholesky.expect_results<MappedFunction::cholesky>();
}

}  // namespace
}  // namespace aperture::bench
