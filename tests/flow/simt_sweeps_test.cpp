// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "libflow/cpu/checkered_level.hpp"
#include "libflow/cpu/stationary.hpp"
#include "libflow/gpu/sweeps_launch.cuh"
#include "tests/flow/fields.hpp"
#include "tests/flow/oracle.hpp"

namespace aperture::flow {
namespace {

using core::LaneOrder;
using core::Simt;
using gpu::SweepKind;
using oracle::OwnedSystem;
using HostPlanes = gpu::PlaneArray<core::Host>;

/// A kernel for each operator, one for each few sweeps, one for all sweeps if the image fits.
enum class Kernels { staged, off_chip, on_chip };
constexpr Kernels all_kernels[] = {Kernels::staged, Kernels::off_chip, Kernels::on_chip};

struct Case {
    SweepKind kind;
    Coupling coupling;
    Boundary boundary = Boundary::replicate;
};

std::string name_of(const Case& c) {
    constexpr const char* kinds[] = {"jacobi", "block2x2", "redblack"};
    constexpr const char* couplings[] = {"five", "nine", "weighted"};
    return std::string(kinds[static_cast<int>(c.kind)]) + "_" +
           couplings[static_cast<int>(c.coupling)] +
           (c.boundary == Boundary::zero ? "_zero" : "_replicate");
}
void PrintTo(const Case& c, std::ostream* stream) { *stream << name_of(c); }
const char* name_of(Kernels how) {
    constexpr const char* names[] = {"staged", "off chip", "on chip"};
    return names[static_cast<int>(how)];
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const SweepKind kind : {SweepKind::jacobi, SweepKind::block2x2, SweepKind::redblack}) {
        for (const Boundary boundary : {Boundary::replicate, Boundary::zero}) {
            cases.push_back({kind, Coupling::five, boundary});
            cases.push_back({kind, Coupling::nine, boundary});
        }
        cases.push_back({kind, Coupling::weighted});
    }
    return cases;
}

OwnedSystem system_of(const Case& c, Shape shape, float smoothness = 50) {
    OwnedSystem system = oracle::random_system(shape, 3, smoothness);
    system.boundary = c.boundary;
    system.stencil = c.coupling == Coupling::nine ? Stencil::nine : Stencil::five;
    if (c.coupling != Coupling::weighted) return system;
    system.coupling = core::Array<float, 3>({2, shape.rows, shape.columns});
    std::mt19937 generator(4);
    std::uniform_real_distribution<float> uniform(0.05F, 2.0F);
    for (float& w : system.coupling) w = uniform(generator);
    return system;
}

Flow random_flow(Shape shape) {
    std::mt19937 generator(5);
    std::normal_distribution<float> normal;
    Flow flow({2, shape.rows, shape.columns});
    for (float& x : flow) x = normal(generator);
    return flow;
}

void copy(const core::View<const float, 3, core::Host>& from,
          const core::View<float, 3, core::Host>& to) {
    for (index_t i = 0; i < from.extent[0]; ++i) {
        for (index_t y = 0; y < from.extent[1]; ++y) {
            for (index_t x = 0; x < from.extent[2]; ++x) to(i, y, x) = from(i, y, x);
        }
    }
}

/// `flow` after `count` sweeps of the Cpu.
Flow sweep_on_cpu(SweepKind kind, const OwnedSystem& system, int count, float omega,
                  const Flow& flow) {
    core::Cpu cpu;
    const Shape shape = system.shape();
    Flow result({2, shape.rows, shape.columns});
    if (kind == SweepKind::redblack) {
        CheckeredLevel level(cpu, shape);
        level.take(system.view());
        level.take_unknowns(flow.view());
        level.sweep(count, omega);
        level.give_unknowns(result.view());
        return result;
    }
    PreparedSystem prepared(shape);
    prepared.take(cpu, system.view(), kind != SweepKind::jacobi);
    StationaryIteration iteration(cpu, shape,
                                  kind == SweepKind::jacobi ? Solver::jacobi : Solver::block2x2);
    iteration.take(prepared);
    PaddedPlanes planes(2, shape);
    copy(flow.view(), planes.view());
    for (index_t i : {0, 1}) {
        for (index_t y = 0; y < shape.rows; ++y) {
            set_margins(planes.row(i, y), shape.columns, system.boundary);
        }
    }
    iteration.sweep(prepared, planes, count);
    copy(std::as_const(planes).view(), result.view());
    return result;
}

/// Kernels and orchestration on the SIMT host executor.
class SimtSweeps {
  public:
    SimtSweeps(SweepKind kind, Kernels kernels, const OwnedSystem& system,
               LaneOrder order = LaneOrder::forward)
        : simt_(order, 7),
          prepared_(system.shape()),
          sweeps_(simt_, system.shape(), kind,
                  kernels == Kernels::staged ? Implementation::staged : Implementation::fused,
                  kernels == Kernels::on_chip),
          x_(2, system.shape()) {
        prepared_.take(simt_, system.view(), kind != SweepKind::jacobi);
    }

    Flow run(int count, float omega, const Flow& flow) {
        copy(flow.view(), x_.view());
        sweep(count, omega);
        Flow result({2, x_.shape().rows, x_.shape().columns});
        copy(std::as_const(x_).view(), result.view());
        return result;
    }
    void sweep(int count, float omega) { sweeps_.run(simt_, prepared_, count, omega, x_.planes()); }

  private:
    Simt simt_;
    gpu::PreparedSystem<Simt> prepared_;
    gpu::Sweeps<Simt> sweeps_;
    HostPlanes x_;
};

/// The maximum difference; NaN if either flow has one.
double difference(const Flow& a, const Flow& b) {
    double largest = 0;
    for (index_t i = 0; i < a.size(); ++i) {
        const double d = std::abs(static_cast<double>(a.data()[i]) - b.data()[i]);
        if (!(d <= largest)) largest = d;
    }
    return largest;
}

class EverySweep : public testing::TestWithParam<Case> {};

// Values are a few units, and a sweep adds a few roundings of them. Extents are one less or more
// than a tile's for halos of 4 and 8, smaller than a warp, and primes.
TEST_P(EverySweep, DoesWhatTheCpuDoes) {
    const Case& c = GetParam();
    const float omega = c.kind == SweepKind::redblack ? 1.6F : 1.0F;
    for (const Shape shape : {Shape{1, 1}, Shape{1, 7}, Shape{9, 1}, Shape{2, 3}, Shape{5, 17},
                              Shape{4, 48}, Shape{3, 57}, Shape{23, 37}}) {
        const OwnedSystem system = system_of(c, shape);
        const Flow start = random_flow(shape);
        for (const int count : {1, 2, 7}) {
            const Flow expected = sweep_on_cpu(c.kind, system, count, omega, start);
            for (const Kernels how : all_kernels) {
                const Flow found = SimtSweeps(c.kind, how, system).run(count, omega, start);
                EXPECT_LT(difference(found, expected), 1e-5)
                    << shape.rows << " x " << shape.columns << ", " << count << " sweeps, "
                    << name_of(how);
            }
        }
    }
}

TEST_P(EverySweep, DoesWhatTheCpuDoesOnSeveralTiles) {
    const Case& c = GetParam();
    const float omega = c.kind == SweepKind::redblack ? 1.2F : 1.0F;
    const Shape shape{67, 91};
    const OwnedSystem system = system_of(c, shape);
    const Flow start = random_flow(shape);
    // More sweeps than pixels in the largest halo, so that tiles exchange halos at least once.
    const int count = 17;
    const Flow expected = sweep_on_cpu(c.kind, system, count, omega, start);
    for (const Kernels how : all_kernels) {
        const Flow found = SimtSweeps(c.kind, how, system).run(count, omega, start);
        EXPECT_LT(difference(found, expected), 1e-5) << name_of(how);
    }
}

TEST_P(EverySweep, GivesTheSameBitsInEveryOrderOfLanes) {
    const Case& c = GetParam();
    const Shape shape{29, 61};
    const OwnedSystem system = system_of(c, shape);
    const Flow start = random_flow(shape);
    for (const Kernels how : all_kernels) {
        const Flow expected = SimtSweeps(c.kind, how, system).run(4, 1.3F, start);
        for (const LaneOrder order : {LaneOrder::reverse, LaneOrder::random}) {
            const Flow found = SimtSweeps(c.kind, how, system, order).run(4, 1.3F, start);
            EXPECT_TRUE(same_bytes(found, expected)) << name_of(how);
        }
    }
}

TEST_P(EverySweep, ConvergesToTheOraclesSolution) {
    const Case& c = GetParam();
    const Shape shape{4, 6};
    const OwnedSystem system = system_of(c, shape, 20);
    const Eigen::VectorXd expected = oracle::solve(system);
    const int count = c.kind == SweepKind::redblack ? 60 : 400;
    // The tests above show that the other implementations agree.
    const Flow found =
        SimtSweeps(c.kind, Kernels::off_chip, system).run(count, 1.2F, random_flow(shape));
    EXPECT_LT(oracle::relative_error(found, expected), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Sweeps, EverySweep, testing::ValuesIn(all_cases()),
                         [](const auto& c) { return name_of(c.param); });

/// `count` sweeps by a given plan instead of the plan of minimum cost.
Flow sweep_by_plan(const Case& c, const OwnedSystem& system, const Flow& start,
                   const gpu::TilePlan& plan, int count) {
    Simt simt;
    const Shape shape = system.shape();
    gpu::PreparedSystem<Simt> prepared(shape);
    prepared.take(simt, system.view(), c.kind != SweepKind::jacobi);
    std::array<HostPlanes, 2> between{HostPlanes(2, shape), HostPlanes(2, shape)};
    Flow x({2, shape.rows, shape.columns});
    copy(start.view(), x.view());
    const gpu::SweepProblem problem{prepared.planes(), prepared.boundary(), 1.3F};
    gpu::detail::with_kind(c.kind, [&](auto kind) {
        gpu::with_coupling(c.coupling, [&](auto coupling) {
            gpu::sweep_fused<decltype(kind)::value, decltype(coupling)::value>(
                simt, problem, plan, count, gpu::planes_of(x.view()), between);
        });
    });
    return x;
}

struct RoundsCase {
    Shape shape;
    int rounds;
};

// Extents that are multiples of four, so that mirrored patches are read in fours, and other
// extents. Two rounds, and an odd number.
TEST_P(EverySweep, GivesTheCpusFlowInRoundsOfTiles) {
    const Case& c = GetParam();
    for (const auto& [shape, rounds] :
         {RoundsCase{{29, 124}, 3}, RoundsCase{{18, 61}, 2}, RoundsCase{{3, 8}, 2}}) {
        const OwnedSystem system = system_of(c, shape);
        const Flow start = random_flow(shape);
        gpu::TilePlan plan;
        plan.thread_rows = 6;
        plan.halo = 4;
        const int stages = stages_of(c.kind, c.coupling);
        plan.at_once = stages == 1 ? 3 : 4 / stages;
        plan.rounds = rounds;
        plan.blocks = plan.tiles_down(shape.rows) * plan.tiles_across(shape.columns);
        const int count = rounds * plan.at_once;
        const Flow expected =
            sweep_on_cpu(c.kind, system, count, c.kind == SweepKind::redblack ? 1.3F : 1.0F, start);
        EXPECT_LT(difference(sweep_by_plan(c, system, start, plan, count), expected), 1e-5)
            << shape.rows << " x " << shape.columns;
    }
}

TEST(Sweeps, AllocateNothingTheSecondTime) {
    for (const Case& c : all_cases()) {
        const OwnedSystem system = system_of(c, {6, 6});
        for (const Kernels how : all_kernels) {
            SimtSweeps simt(c.kind, how, system);
            const auto before = core::host_allocations();
            simt.sweep(3, 1);
            EXPECT_EQ(core::host_allocations(), before) << name_of(c) << ", " << name_of(how);
        }
    }
}

constexpr Case plain{SweepKind::block2x2, Coupling::five};

TEST(Sweeps, TakeSystemsOfAnyAlignment) {
    const Shape shape{21, 70};
    const OwnedSystem system = system_of(plain, shape);
    const Flow start = random_flow(shape);
    const Flow expected = SimtSweeps(plain.kind, Kernels::off_chip, system).run(3, 1, start);
    // Rows of 80 floats start at multiples of 16 bytes, rows of 70 do not.
    core::Array<float, 3> tensor({3, 21, 80});
    core::Array<float, 3> right({2, 21, 80});
    LinearSystem<core::Host> aligned = system.view();
    copy(aligned.tensor, tensor.view().slice(2, 0, 70));
    copy(aligned.right, right.view().slice(2, 0, 70));
    aligned.tensor = tensor.view().slice(2, 0, 70);
    aligned.right = right.view().slice(2, 0, 70);
    Simt simt;
    gpu::PreparedSystem<Simt> prepared(shape);
    prepared.take(simt, aligned, true);
    HostPlanes x(2, shape);
    copy(start.view(), x.view());
    gpu::Sweeps<Simt> sweeps(simt, shape, plain.kind, Implementation::fused, false);
    sweeps.run(simt, prepared, 3, 1, x.planes());
    Flow found({2, 21, 70});
    copy(std::as_const(x).view(), found.view());
    EXPECT_TRUE(same_bytes(found, expected));
}

TEST(Sweeps, NoneLeaveTheFlowAsItIs) {
    const OwnedSystem system = system_of(plain, {3, 3});
    const Flow start = random_flow({3, 3});
    for (const Kernels how : all_kernels) {
        EXPECT_TRUE(same_bytes(SimtSweeps(plain.kind, how, system).run(0, 1, start), start));
    }
}

TEST(Sweeps, OnImagesTooLargeForOneLaunchTakeSeveral) {
    const Shape shape{150, 160};
    const OwnedSystem system = system_of(plain, shape);
    const Flow start = random_flow(shape);
    const Flow found = SimtSweeps(plain.kind, Kernels::on_chip, system).run(2, 1, start);
    EXPECT_TRUE(
        same_bytes(found, SimtSweeps(plain.kind, Kernels::off_chip, system).run(2, 1, start)));
}

struct PlanCase {
    Shape shape;
    int sweeps;
};

TEST(SweepPlans, CoverTheImageWithHalosThatSuffice) {
    for (const SweepKind kind : {SweepKind::jacobi, SweepKind::block2x2, SweepKind::redblack}) {
        for (const Coupling coupling : {Coupling::five, Coupling::nine, Coupling::weighted}) {
            for (const auto& [shape, sweeps] :
                 {PlanCase{{1, 1}, 1}, PlanCase{{388, 584}, 400}, PlanCase{{480, 640}, 100},
                  PlanCase{{1080, 1920}, 100}, PlanCase{{4320, 7680}, 7}, PlanCase{{30, 40}, 2},
                  PlanCase{{1, 70000}, 1000000}}) {
                const gpu::SweepWork work{kind, coupling, shape.rows, shape.columns, sweeps, 132};
                for (const gpu::TilePlan& plan : {plan_fused(work), plan_persistent(work)}) {
                    if (plan.thread_rows == 0) continue;
                    EXPECT_LE(plan.thread_rows * gpu::tile_lanes, most_patches(kind, coupling));
                    EXPECT_EQ(plan.thread_rows % 2, 0);
                    EXPECT_GE(plan.halo, plan.at_once * stages_of(kind, coupling));
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
                EXPECT_GT(plan_fused(work).thread_rows, 0);
                EXPECT_GE(plan_fused(work).rounds, 2);
            }
        }
    }
}

TEST(SweepPlans, StayOnChipWhereTheImageFits) {
    const auto fits = [](Shape shape) {
        const gpu::SweepWork work{
            SweepKind::block2x2, Coupling::five, shape.rows, shape.columns, 100, 132};
        const gpu::TilePlan plan = plan_persistent(work);
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
