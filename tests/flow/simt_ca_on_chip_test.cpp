// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Communication-avoiding CG with its basis on chip, on tiles of any size.
#include <algorithm>

#include "libflow/gpu/communication_avoiding_cg.cuh"
#include "tests/flow/solver_cases.hpp"

namespace aperture::flow {
namespace {

using gpu::OnChipPlan;

/// Runs the solver as SystemSolver does, with tiles of the caller's choice.
HostFlow solve(const OwnedSystem& system, const SolverParameters& p, const OnChipPlan& plan,
               core::Simt simt = core::Simt()) {
    const Shape shape = system.shape();
    gpu::PreparedSystem<core::Simt> prepared(shape);
    prepared.load(simt, system.view(), true);
    HostFlow flow = zero_flow(shape);
    gpu::CommunicationAvoidingCg<core::Simt> solver(simt, shape, p, plan);
    solver.start(prepared, gpu::planes_of(flow.view()), -1, false);
    solver.advance(1);
    return flow;
}

SolverParameters steps_of(const Case& c, int s, int iterations) {
    SolverParameters p = iterated(c, iterations);
    p.s_step = s;
    return p;
}

void expect_cpus(const Case& c, Shape shape, int s, const OnChipPlan& plan) {
    const OwnedSystem system = system_of(c, shape);
    const SolverParameters p = steps_of(c, s, 2 * s + 1);
    HostFlow expected = zero_flow(shape);
    HostRun<core::Cpu>(shape, p)(system, expected);
    const HostFlow flow = solve(system, p, plan);
    const float largest = *std::max_element(expected.begin(), expected.end());
    for (index_t i = 0; i < flow.size(); ++i) {
        ASSERT_NEAR(flow.data()[i], expected.data()[i], 1e-3F * largest)
            << name_of(c) << ", s = " << s << ": " << i << " of " << shape.rows << " x "
            << shape.columns << ", tiles of " << plan.tile_rows << " x " << plan.tile_columns;
    }
}

std::vector<Case> on_chip_cases() {
    std::vector<Case> chosen;
    for (const Case& c : all_gpu_cases()) {
        if (c.solver == Solver::cacg) chosen.push_back(c);
    }
    return chosen;
}

// Tiles with neighbours on all sides, wider and narrower than the reach of s steps.
TEST(SimtCaOnChip, DoesWhatTheCpuDoesOnTilesOfAnySize) {
    for (const Case& c : on_chip_cases()) {
        expect_cpus(c, {13, 17}, 3, {5, 6});
    }
    const Case usual{Solver::cacg, replicate, Stencil::five};
    expect_cpus(usual, {31, 41}, 4, {11, 14});
    expect_cpus(usual, {29, 23}, 6, {10, 23});
    expect_cpus(usual, {29, 23}, 8, {8, 9});
    expect_cpus(usual, {19, 33}, 1, {7, 33});
    expect_cpus(usual, {9, 12}, 2, {3, 3});
    expect_cpus(usual, {37, 5}, 5, {16, 2});
    // Tile borders coincide with the border of the image.
    expect_cpus(usual, {9, 12}, 4, {3, 3});
    expect_cpus(usual, {16, 8}, 4, {4, 3});
    expect_cpus({Solver::cacg, replicate, Stencil::nine}, {8, 9}, 2, {2, 3});
}

TEST(SimtCaOnChip, GivesTheSameBitsInAnyOrderOfLanes) {
    const Case c{Solver::cacg, replicate, Stencil::nine};
    const OwnedSystem system = system_of(c, {14, 18});
    for (const int s : {3, 5}) {
        const SolverParameters p = steps_of(c, s, 2 * s);
        const HostFlow forward = solve(system, p, {7, 9});
        for (const core::LaneOrder order : {core::LaneOrder::reverse, core::LaneOrder::random}) {
            const HostFlow flow = solve(system, p, {7, 9}, core::Simt(order, 5));
            EXPECT_EQ(std::memcmp(forward.data(), flow.data(),
                                  sizeof(float) * static_cast<std::size_t>(flow.size())),
                      0);
        }
    }
}

constexpr std::size_t hopper_shared = 227 * 1024;

TEST(CaOnChipPlan, HasATileForEachMultiprocessorAndRoomForItsBasis) {
    for (const Shape shape : {Shape{480, 640}, Shape{388, 584}, Shape{1, 3000}, Shape{97, 131}}) {
        for (const int s : {1, 2, 3, 4}) {
            const OnChipPlan plan = gpu::plan_on_chip(shape, s, 132, hopper_shared);
            ASSERT_TRUE(plan.fits()) << shape.rows << " x " << shape.columns << ", s = " << s;
            EXPECT_LE(plan.tiles(shape), 132);
            const auto layout = gpu::basis_layout<4>(s, plan.tile_rows, plan.tile_columns);
            EXPECT_LE(gpu::on_chip_shared(layout), hopper_shared);
        }
    }
}

TEST(CaOnChipPlan, IsNoneWhereABasisDoesNotFit) {
    EXPECT_FALSE(gpu::plan_on_chip({1080, 1920}, 4, 132, hopper_shared).fits());
    EXPECT_FALSE(gpu::plan_on_chip({480, 640}, 8, 132, hopper_shared).fits());
    EXPECT_FALSE(gpu::plan_on_chip({60, 80}, 9, 132, hopper_shared).fits());
    EXPECT_FALSE(gpu::plan_on_chip({480, 640}, 4, 132, 160 * 1024).fits());
}

}  // namespace
}  // namespace aperture::flow
