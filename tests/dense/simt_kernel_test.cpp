// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <random>
#include <vector>

#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "libdense/gpu/solve.cuh"
#include "tests/dense/host_batch.hpp"
#include "tests/dense/matrix_zoo.hpp"
#include "tests/dense/simt_runner.hpp"

namespace aperture::dense::oracle {
namespace {

using core::index_t;
using C = std::complex<float>;
using Batch = HostBatch<C>;
using Runner = SimtRunner<std::integer_sequence<int, 3, 18, 24>>;

/// Well-conditioned problems, each with its own right-hand sides.
struct SolveCase {
    Batch a, b;
    SolveCase(index_t problems, int order, int right_hand_sides)
        : a(problems, order, order), b(problems, right_hand_sides, order) {
        std::mt19937 generator(unsigned(order * 1000 + right_hand_sides));
        for (index_t p = 0; p < problems; ++p) {
            a.set(p, with_spectrum<C>(geometric(order, 100), generator));
            b.set(p, random_matrix<C>(right_hand_sides, order, generator));
        }
    }
};

struct Solution {
    Batch x;
    std::vector<int> info;
    std::vector<float> ratio;
};

Solution solve(Runner& runner, Factorisation factorisation, const SolveCase& problem) {
    const index_t problems = problem.a.view().extent[0];
    Solution solution{problem.b, std::vector<int>(std::size_t(problems), -1),
                      std::vector<float>(std::size_t(problems), -1)};
    runner.run(call_solve, factorisation, problem.a.view(), solution.x.view(),
               core::View<int, 1>(solution.info.data(), {problems}),
               core::View<float, 1>(solution.ratio.data(), {problems}));
    return solution;
}

void expect_solved(int order, int right_hand_sides) {
    SCOPED_TRACE(::testing::Message()
                 << "order " << order << ", " << right_hand_sides << " right-hand sides");
    const SolveCase problem(3, order, right_hand_sides);
    for (auto factorisation : {Factorisation::cholesky, Factorisation::gauss_jordan}) {
        Runner runner;
        const Solution solution = solve(runner, factorisation, problem);
        for (index_t p = 0; p < 3; ++p) {
            EXPECT_EQ(solution.info[std::size_t(p)], 0);
            EXPECT_LT(residual_ratio(problem.a.matrix(p), solution.x.columns(p),
                                     problem.b.columns(p), eps<C>),
                      30);
        }
    }
}

/// Q^H c and Q of random reflectors by a few lanes, where matrices are not square, and by blocks.
template <class T, int rows, int order, int sides, int lanes>
void expect_same_q(index_t problems) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << order << ", " << lanes << " lanes");
    using E = core::DeviceType<T>;
    std::mt19937 generator(7);
    HostBatch<T> qr(problems, rows, order), tau(problems, 1, order), c(problems, sides, rows);
    for (index_t p = 0; p < problems; ++p) {
        qr.set(p, 0.25 * random_matrix<T>(rows, order, generator));
        tau.set(p, random_matrix<T>(1, order, generator));
        c.set(p, random_matrix<T>(sides, rows, generator));
    }
    const auto run = [&](auto* kernel, bool form, bool by_blocks, HostBatch<T>& result) {
        ApplyQArguments<E> p{};
        p.qr = core::kernel_view(std::as_const(qr).view());
        const auto scales = std::as_const(tau).view();
        p.tau = core::kernel_view(core::View<const T, 2, core::Host>(
            scales.data, {problems, order}, {scales.stride[0], scales.stride[2]}));
        p.c = core::kernel_view(result.view());
        p.adjoint = !form;
        p.form = form;
        const index_t blocks =
            by_blocks ? problems : core::ceil_div(problems * lanes, rows_threads);
        core::Simt simt;
        core::launch(
            simt, kernel,
            core::LaunchConfig{dim3(core::blocks_for(blocks, 1)),
                               dim3(by_blocks ? 64u : unsigned{rows_threads}),
                               std::size_t(apply_q_shared_bytes<E>(rows, order, sides, lanes))},
            p);
    };
    HostBatch<T> applied(c), expected(c), q(problems, rows, order),
        expected_q(problems, rows, order);
    run(apply_q_in_block<E>, false, true, expected);
    run(apply_q_in_lanes<E, rows, order, sides, lanes, true>, false, false, applied);
    run(apply_q_in_block<E>, true, true, expected_q);
    run(form_q_in_lanes<E, rows, order, lanes>, true, false, q);
    for (index_t p = 0; p < problems; ++p) {
        const double limit = 30 * rows * eps<T>;
        EXPECT_LT((applied.matrix(p) - expected.matrix(p)).norm(),
                  limit * expected.matrix(p).norm());
        EXPECT_LT((q.matrix(p) - expected_q.matrix(p)).norm(), limit * expected_q.matrix(p).norm());
    }
}

TEST(SimtKernels, ReflectorsOfTallMatrices) {
    expect_same_q<float, 7, 3, 1, 1>(131);
    expect_same_q<double, 9, 5, 2, 4>(33);
    expect_same_q<C, 13, 6, 3, 8>(17);
    expect_same_q<float, 21, 18, 1, 8>(5);
    expect_same_q<C, 20, 20, 4, 16>(9);
}

// Depending on its slots, a pass of Gauss-Jordan elimination holds 14 or 30 right-hand sides of
// order 18, 8 or 24 of order 24, one of Cholesky 4.
TEST(SimtKernels, RegisterSolveAroundItsPasses) {
    for (int right_hand_sides : {13, 14, 15, 29, 30, 31, 61}) expect_solved(18, right_hand_sides);
    for (int right_hand_sides : {7, 8, 9, 23, 24, 25, 49}) expect_solved(24, right_hand_sides);
    for (int right_hand_sides : {4, 5, 9}) expect_solved(3, right_hand_sides);
}

TEST(SimtKernels, BlockSolveAroundItsTiles) {
    for (int order : {15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64}) expect_solved(order, 3);
    for (int right_hand_sides : {15, 16, 17, 63, 64, 65}) expect_solved(34, right_hand_sides);
}

TEST(SimtKernels, SharedSolveAroundItsTiles) {
    for (int order : {65, 80, 81, 95, 96, 97, 127, 128}) expect_solved(order, 2);
    for (int right_hand_sides : {31, 32, 33, 65}) expect_solved(66, right_hand_sides);
}

/// Calls `expect_same(runner)` for every order of lanes but `forward`.
template <class Expect>
void for_other_lane_orders(Expect expect_same) {
    expect_same(Runner{core::Simt(core::LaneOrder::reverse)});
    for (unsigned seed : {1u, 2u, 3u}) {
        expect_same(Runner{core::Simt(core::LaneOrder::random, seed)});
    }
}

TEST(SimtKernels, SolveHasTheSameBitsInAnyLaneOrder) {
    for (int order : {3, 18, 24, 40, 70}) {
        const SolveCase problem(9, order, 17);
        for (auto factorisation : {Factorisation::cholesky, Factorisation::gauss_jordan}) {
            Runner forward;
            const Solution expected = solve(forward, factorisation, problem);
            for_other_lane_orders([&](Runner runner) {
                const Solution solution = solve(runner, factorisation, problem);
                EXPECT_TRUE(solution.x.same_bits(expected.x)) << "order " << order;
                EXPECT_EQ(solution.ratio, expected.ratio) << "order " << order;
            });
        }
    }
}

// Warps of a block have no barriers: what one writes must not be another's.
TEST(SimtKernels, FactorsHaveTheSameBitsInAnyLaneOrder) {
    for (int order : {3, 18, 24}) {
        constexpr index_t problems = 33;
        const SolveCase problem(problems, order, 3);
        const auto run = [&](Runner& runner) {
            Batch lu(problems, order, order), qr(lu), inverse(lu), g(lu), tau(problems, 1, order);
            Batch x(problem.b);
            std::vector<int> info(problems), rows(std::size_t(problems * order));
            const core::View<int, 1> its_info(info.data(), {problems});
            const core::View<int, 2> its_rows(rows.data(), {problems, order});
            const auto vectors = core::View<C, 2>(tau.view().data, {problems, order});
            const auto a = problem.a.view();
            runner.run(APERTURE_CALL(factor_lu), Pivoting::partial, a, lu.view(), its_rows,
                       its_info);
            runner.run(APERTURE_CALL(solve_lu), Pivoting::partial, a, x.view(), its_info);
            runner.run(APERTURE_CALL(invert), a, inverse.view(), its_info);
            runner.run(APERTURE_CALL(factor_cholesky), a, g.view(), its_info);
            runner.run(APERTURE_CALL(factor_qr), a, qr.view(), vectors);
            return std::vector<Batch>{lu, x, inverse, g, qr, tau};
        };
        Runner forward;
        const std::vector<Batch> expected = run(forward);
        for_other_lane_orders([&](Runner runner) {
            const std::vector<Batch> results = run(runner);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                EXPECT_TRUE(results[i].same_bits(expected[i])) << i << " of order " << order;
            }
        });
    }
}

/// Factors and solutions with so many lanes for a problem.
template <int order, int lanes>
std::array<Batch, 2> solved_by(const SolveCase& problem) {
    const index_t problems = problem.a.view().extent[0];
    constexpr int sides = 3;
    Batch g(problem.a), x(problem.b);
    std::vector<int> info(static_cast<std::size_t>(problems));
    CholeskyArguments<core::DeviceType<C>> arguments{};
    arguments.a = core::kernel_view(problem.a.view());
    arguments.g = core::kernel_view(g.view());
    arguments.x = core::kernel_view(x.view());
    arguments.info = core::kernel_view(core::View<int, 1>(info.data(), {problems}));
    using E = core::DeviceType<C>;
    core::Simt simt;
    const auto launch = [&](auto kernel, int shared_bytes) {
        core::launch(simt, kernel,
                     core::LaunchConfig{dim3(core::blocks_for(problems, rows_threads / lanes)),
                                        dim3(rows_threads), static_cast<std::size_t>(shared_bytes)},
                     arguments);
    };
    launch(cholesky_in_rows<E, order, lanes>, rows_shared_bytes<E>(order, order, lanes));
    launch(solve_positive_in_rows<E, order, sides, lanes>,
           rows_shared_bytes<E>(order, order, lanes) + rows_shared_bytes<E>(sides, order, lanes));
    return {g, x};
}

// A few triangles are given more lanes.
TEST(SimtKernels, TrianglesHaveTheSameBitsWithAnyNumberOfLanes) {
    constexpr int order = 13;
    const SolveCase problem(7, order, 5);
    const auto expected = solved_by<order, 16>(problem);
    const auto compare = [&](const std::array<Batch, 2>& results) {
        EXPECT_TRUE(results[0].same_bits(expected[0]));
        EXPECT_TRUE(results[1].same_bits(expected[1]));
    };
    compare(solved_by<order, 4>(problem));
    compare(solved_by<order, 1>(problem));
}

TEST(SimtKernels, RankKAndLayoutHaveTheSameBitsInAnyLaneOrder) {
    for (int order : {3, 18, 97}) {
        const SolveCase samples(5, order, 43);
        const auto run = [&](Runner& runner, auto& c, auto& interleaved) {
            Batch a(5, order, 43, Order::problems);
            for (index_t p = 0; p < 5; ++p) a.set(p, samples.b.columns(p));
            runner.run(APERTURE_CALL(hermitian_rank_k), 0.5f, std::as_const(a).view(), 0.0f,
                       c.view());
            runner.run(APERTURE_CALL(change_layout), samples.b.view(), interleaved.view());
        };
        Runner forward;
        Batch c(5, order, order, Order::problems);
        Batch interleaved(5, 43, order, Order::problems);
        run(forward, c, interleaved);
        for_other_lane_orders([&](Runner runner) {
            Batch its_c(5, order, order, Order::problems), its(5, 43, order, Order::problems);
            run(runner, its_c, its);
            EXPECT_TRUE(its_c.same_bits(c)) << "order " << order;
            EXPECT_TRUE(its.same_bits(interleaved)) << "order " << order;
        });
    }
}

}  // namespace
}  // namespace aperture::dense::oracle
