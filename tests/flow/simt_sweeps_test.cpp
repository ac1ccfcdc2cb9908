// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Solvers by sweeps, with every kernel that does them.
#include "libflow/gpu/solver.cuh"
#include "tests/flow/solver_cases.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::flow {
namespace {

using core::LaneOrder;
using core::Simt;
using tests::same_bytes;

/// A kernel for each operator, one for each few sweeps, one for all sweeps if the image fits.
enum class Kernels { staged, off_chip, on_chip };
constexpr Kernels all_kernels[] = {Kernels::staged, Kernels::off_chip, Kernels::on_chip};

const char* name_of(Kernels how) {
    constexpr const char* names[] = {"staged", "off chip", "on chip"};
    return names[static_cast<int>(how)];
}

SolverParameters sweeps_of(const Case& c, int count) {
    SolverParameters p = iterated(c, count);
    p.relaxation = 1.3;
    return p;
}

HostFlow random_flow(Shape shape) {
    std::mt19937 generator(5);
    std::normal_distribution<float> normal;
    HostFlow flow = zero_flow(shape);
    for (float& x : flow) x = normal(generator);
    return flow;
}

/// Sweeps over random_flow() on the SIMT host executor.
HostFlow swept(const Case& c, Kernels how, const OwnedSystem& system, int count,
               LaneOrder order = LaneOrder::forward) {
    Simt simt(order, 7);
    SolverParameters p = sweeps_of(c, count);
    if (how == Kernels::staged) p.implementation = Implementation::staged;
    SolverOperations<Simt> operations(simt, system.shape(), p, how == Kernels::on_chip);
    HostFlow flow = random_flow(system.shape());
    operations.load(system.view(), flow, false);
    operations.sweep(count);
    operations.store(flow);
    return flow;
}

HostFlow swept_by_cpu(const Case& c, const OwnedSystem& system, int count) {
    HostFlow flow = random_flow(system.shape());
    HostRun<core::Cpu>(system.shape(), sweeps_of(c, count))(system, flow);
    return flow;
}

/// The maximum difference; NaN if either flow has one.
double difference(const HostFlow& a, const HostFlow& b) {
    double largest = 0;
    for (index_t i = 0; i < a.size(); ++i) {
        const double d = std::abs(static_cast<double>(a.data()[i]) - b.data()[i]);
        if (!(d <= largest)) largest = d;
    }
    return largest;
}

std::vector<Case> sweep_cases() {
    std::vector<Case> cases = all_cases();
    std::erase_if(cases, [](const Case& c) { return !sweeps(c.solver); });
    return cases;
}

class EverySweep : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Sweeps, EverySweep, testing::ValuesIn(sweep_cases()),
                         [](const auto& c) { return name_of(c.param); });

// Values are a few units, and a sweep adds a few roundings of them. Extents are one less or more
// than a tile's for halos of 4 and 8, smaller than a warp, and primes; the last image has several
// tiles, which exchange halos at least once in more sweeps than pixels in the largest halo.
TEST_P(EverySweep, DoesWhatTheCpuDoes) {
    for (const Shape shape : {Shape{1, 1}, Shape{1, 7}, Shape{9, 1}, Shape{2, 3}, Shape{5, 17},
                              Shape{4, 48}, Shape{3, 57}, Shape{23, 37}, Shape{67, 91}}) {
        const OwnedSystem system = system_of(GetParam(), shape, 3);
        for (const int count : {0, 1, 2, 7, 17}) {
            if ((count == 17) != (shape.rows == 67)) continue;
            const HostFlow expected = swept_by_cpu(GetParam(), system, count);
            for (const Kernels how : all_kernels) {
                EXPECT_LT(difference(swept(GetParam(), how, system, count), expected), 1e-5)
                    << shape.rows << " x " << shape.columns << ", " << count << " sweeps, "
                    << name_of(how);
            }
        }
    }
}

TEST_P(EverySweep, GivesTheSameBitsInEveryOrderOfLanes) {
    const OwnedSystem system = system_of(GetParam(), {29, 61}, 3);
    for (const Kernels how : all_kernels) {
        const HostFlow expected = swept(GetParam(), how, system, 4);
        for (const LaneOrder order : {LaneOrder::reverse, LaneOrder::random}) {
            EXPECT_TRUE(same_bytes(swept(GetParam(), how, system, 4, order), expected))
                << name_of(how);
        }
    }
}

TEST_P(EverySweep, ConvergesToTheOraclesSolution) {
    const OwnedSystem system = system_of(GetParam(), {4, 6}, 3, 20);
    const int count = GetParam().solver == Solver::redblack ? 60 : 400;
    // The tests above show that the other implementations agree.
    EXPECT_LT(oracle::relative_error(swept(GetParam(), Kernels::off_chip, system, count),
                                     oracle::solve(system)),
              1e-4);
}

struct RoundsCase {
    Shape shape;
    int rounds;
};

// A given plan instead of the plan of minimum cost. Extents that are multiples of four, so that
// mirrored patches are read in fours, and other extents. Two rounds, and an odd number.
TEST_P(EverySweep, GivesTheCpusFlowInRoundsOfTiles) {
    const Case& c = GetParam();
    for (const auto& [shape, rounds] :
         {RoundsCase{{29, 124}, 3}, RoundsCase{{18, 61}, 2}, RoundsCase{{3, 8}, 2}}) {
        const OwnedSystem system = system_of(c, shape, 3);
        const Coupling kind_of_coupling = coupling_of(system.view());
        gpu::TilePlan plan;
        plan.thread_rows = 6;
        plan.halo = 4;
        const int stages = gpu::stages_of(c.solver, kind_of_coupling);
        plan.at_once = stages == 1 ? 3 : 4 / stages;
        plan.rounds = rounds;
        plan.blocks = plan.tiles_down(shape.rows) * plan.tiles_across(shape.columns);
        const int count = rounds * plan.at_once;
        Simt simt;
        gpu::PreparedSystem<Simt> prepared(shape);
        prepared.load(simt, system.view(), c.solver != Solver::jacobi);
        const gpu::SweepProblem problem{prepared.planes(), prepared.boundary(), 1.3F};
        std::array<gpu::PlaneArray<core::Host>, 2> between{gpu::PlaneArray<core::Host>(2, shape),
                                                           gpu::PlaneArray<core::Host>(2, shape)};
        HostFlow flow = random_flow(shape);
        gpu::with_kind(c.solver, [&](auto kind) {
            with_coupling(kind_of_coupling, [&](auto coupling) {
                gpu::sweep_fused<decltype(kind)::value, decltype(coupling)::value>(
                    simt, problem, plan, count, gpu::planes_of(flow.view()), between);
            });
        });
        EXPECT_LT(difference(flow, swept_by_cpu(c, system, count)), 1e-5)
            << shape.rows << " x " << shape.columns;
    }
}

TEST(Sweeps, OnImagesTooLargeForOneLaunchTakeSeveral) {
    const Case plain{Solver::block2x2, replicate, Stencil::five};
    const OwnedSystem system = system_of(plain, {150, 160}, 3);
    EXPECT_TRUE(same_bytes(swept(plain, Kernels::on_chip, system, 2),
                           swept(plain, Kernels::off_chip, system, 2)));
}

struct PlanCase {
    Shape shape;
    int sweeps;
};

TEST(SweepPlans, CoverTheImageWithHalosThatSuffice) {
    for (const Solver kind : {Solver::jacobi, Solver::block2x2, Solver::redblack}) {
        for (const Coupling coupling : {Coupling::five, Coupling::nine, Coupling::weighted}) {
            for (const auto& [shape, sweeps] :
                 {PlanCase{{1, 1}, 1}, PlanCase{{388, 584}, 400}, PlanCase{{480, 640}, 100},
                  PlanCase{{1080, 1920}, 100}, PlanCase{{4320, 7680}, 7}, PlanCase{{30, 40}, 2},
                  PlanCase{{1, 70000}, 1000000}}) {
                const gpu::SweepWork work{kind, coupling, shape.rows, shape.columns, sweeps, 132};
                for (const gpu::TilePlan& plan :
                     {gpu::plan_fused(work), gpu::plan_persistent(work)}) {
                    if (plan.thread_rows == 0) continue;
                    EXPECT_LE(plan.thread_rows * gpu::tile_lanes,
                              gpu::most_patches(kind, coupling));
                    EXPECT_EQ(plan.thread_rows % 2, 0);
                    EXPECT_GE(plan.halo, plan.at_once * gpu::stages_of(kind, coupling));
                    EXPECT_EQ(plan.halo % gpu::patch_extent, 0);
                    EXPECT_GE(plan.at_once * plan.rounds, sweeps);
                    EXPECT_GT(plan.inner_rows(), 0);
                    EXPECT_GT(plan.blocks, 0);
                    EXPECT_EQ(plan.blocks,
                              plan.tiles_down(shape.rows) * plan.tiles_across(shape.columns));
                    EXPECT_GE(plan.tiles_down(shape.rows) * plan.inner_rows(), shape.rows);
                    EXPECT_GE(plan.tiles_across(shape.columns) * plan.inner_columns(),
                              shape.columns);
                }
                EXPECT_GT(gpu::plan_fused(work).thread_rows, 0);
                EXPECT_GE(gpu::plan_fused(work).rounds, 2);
            }
        }
    }
}

TEST(SweepPlans, StayOnChipWhereTheImageFits) {
    const auto fits = [](Shape shape) {
        const gpu::SweepWork work{
            Solver::block2x2, Coupling::five, shape.rows, shape.columns, 100, 132};
        const gpu::TilePlan plan = gpu::plan_persistent(work);
        if (plan.thread_rows > 0) {
            EXPECT_LE(plan.tiles_down(shape.rows) * plan.tiles_across(shape.columns), 132);
        }
        return plan.thread_rows > 0;
    };
    EXPECT_TRUE(fits({388, 584}));
    EXPECT_TRUE(fits({480, 640}));
    EXPECT_FALSE(fits({1080, 1920}));
}

}  // namespace
}  // namespace aperture::flow
