// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/solver.cuh"
#include "tests/flow/solver_cases.hpp"

namespace aperture::flow {

// The estimator's tests use this instantiation as well.
template class SystemSolver<core::Simt>;

namespace {

using SimtRun = HostRun<core::Simt>;

constexpr auto case_name = [](const auto& given) { return name_of(given.param); };

class SimtSolver : public testing::TestWithParam<Case> {};

TEST_P(SimtSolver, DoesWhatTheCpuDoes) {
    for (const Shape shape : {Shape{2, 40}, Shape{37, 67}}) {
        // With so few unknowns the powers of a matrix soon become dependent.
        if (GetParam().solver == Solver::cacg && shape.rows == 2) continue;
        expect_cpus_result<SimtRun>(GetParam(), shape, 5);
    }
}

// The other solvers need many iterations and are only compared with the Cpu.
class FastSimtSolver : public testing::TestWithParam<Case> {};
TEST_P(FastSimtSolver, FindsTheOraclesSolution) {
    constexpr int iterations = 40;
    expect_oracles_solution<SimtRun>(GetParam(), {{1, 1}, {3, 3}, {6, 9}}, iterations);
}

std::vector<Case> fast_cases() {
    std::vector<Case> cases = all_gpu_cases();
    std::erase_if(cases, [](const Case& c) {
        const bool fast =
            c.solver == Solver::cg || c.solver == Solver::cacg || c.solver == Solver::multigrid;
        return !fast || c.implementation != Implementation::fused;
    });
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Solvers, FastSimtSolver, testing::ValuesIn(fast_cases()), case_name);

INSTANTIATE_TEST_SUITE_P(Solvers, SimtSolver, testing::ValuesIn(all_gpu_cases()), case_name);

/// Planes with gaps between rows, surrounded by NaN.
struct Framed {
    core::Array<float, 3> whole;

    explicit Framed(const core::Array<float, 3>& inner)
        : whole({inner.extent()[0], inner.extent()[1] + 2, inner.extent()[2] + 5}) {
        std::fill(whole.begin(), whole.end(), NAN);
        const auto to = view();
        for (index_t i = 0; i < inner.extent()[0]; ++i) {
            for (index_t y = 0; y < inner.extent()[1]; ++y) {
                for (index_t x = 0; x < inner.extent()[2]; ++x) to(i, y, x) = inner(i, y, x);
            }
        }
    }
    core::View<float, 3, core::Host> view() {
        const auto& extent = whole.extent();
        return whole.view().slice(1, 1, extent[1] - 1).slice(2, 3, extent[2] - 2);
    }
};

template <class Run>
void expect_same_bits_in_any_order(const Case& c, Shape shape) {
    const OwnedSystem system = system_of(c, shape);
    HostFlow reference;
    for (const core::LaneOrder order :
         {core::LaneOrder::forward, core::LaneOrder::reverse, core::LaneOrder::random}) {
        HostFlow flow = zero_flow(shape);
        Run run(shape, iterated(c, 5), core::Simt(order, 3));
        run(system, flow);
        if (order == core::LaneOrder::forward) {
            reference = std::move(flow);
            continue;
        }
        EXPECT_EQ(std::memcmp(reference.data(), flow.data(),
                              sizeof(float) * static_cast<std::size_t>(flow.size())),
                  0);
    }
}

class SimtSolverOfEachKind : public testing::TestWithParam<Case> {};

TEST_P(SimtSolverOfEachKind, TakesViewsOfAnyRowStride) {
    const Case& c = GetParam();
    const Shape shape{11, 35};
    const OwnedSystem system = system_of(c, shape);
    HostFlow dense = zero_flow(shape);
    SimtRun run(shape, iterated(c, 4));
    run(system, dense);
    Framed tensor(system.tensor);
    Framed right(system.right);
    Framed flow(zero_flow(shape));
    LinearSystem<core::Host> strided = system.view();
    strided.tensor = tensor.view();
    strided.right = right.view();
    core::Simt simt;
    SystemSolver<core::Simt>(simt, shape, iterated(c, 4)).solve(strided, flow.view());
    index_t known = 0;
    for (const float value : flow.whole) known += std::isnan(value) ? 0 : 1;
    EXPECT_EQ(known, dense.size());
    for (index_t i : {0, 1}) {
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                ASSERT_EQ(flow.view()(i, y, x), dense(i, y, x));
            }
        }
    }
}

TEST_P(SimtSolverOfEachKind, StartsFromTheFlowItIsGiven) {
    const Case& c = GetParam();
    if (stationary(c.solver) || !c.precondition || c.implementation != Implementation::fused) {
        return;
    }
    expect_start_to_be_used<SimtRun>(c);
}

TEST_P(SimtSolverOfEachKind, RecordsTheResidualsItReaches) {
    expect_recorded_residuals<SimtRun>(GetParam());
}

TEST_P(SimtSolverOfEachKind, SecondSolutionAllocatesNothing) {
    expect_no_allocation_in_a_second_run<SimtRun>(GetParam());
}

TEST_P(SimtSolverOfEachKind, GivesTheSameBitsInAnyOrderOfLanes) {
    expect_same_bits_in_any_order<SimtRun>(GetParam(), {19, 45});
}

INSTANTIATE_TEST_SUITE_P(Solvers, SimtSolverOfEachKind, testing::ValuesIn(one_of_each()),
                         case_name);

/// A device on which images of more than 2048 pixels do not fit on chip.
class SmallDeviceRun : public SimtRun {
  public:
    SmallDeviceRun(Shape shape, const SolverParameters& parameters, core::Simt simt = core::Simt())
        : SimtRun(shape, parameters, small(std::move(simt))) {}

  private:
    static core::Simt small(core::Simt simt) {
        simt.device.multiprocessors = 1;
        return simt;
    }
};

constexpr Shape off_chip{37, 67};

class SimtCgOffChip : public testing::TestWithParam<Case> {};

TEST_P(SimtCgOffChip, DoesWhatTheCpuDoes) {
    expect_cpus_result<SmallDeviceRun>(GetParam(), off_chip, 5);
}

TEST_P(SimtCgOffChip, GivesTheSameBitsInAnyOrderOfLanes) {
    expect_same_bits_in_any_order<SmallDeviceRun>(GetParam(), off_chip);
}

TEST(SimtConjugateGradientsOffChip, StartsRecordsAndAllocatesAsOnChip) {
    const Case c{Solver::cg, replicate, Stencil::five};
    expect_start_to_be_used<SmallDeviceRun>(c, off_chip);
    expect_recorded_residuals<SmallDeviceRun>(c, off_chip);
    expect_no_allocation_in_a_second_run<SmallDeviceRun>(c, off_chip);
}

std::vector<Case> off_chip_cases() {
    std::vector<Case> cases = all_cases();
    std::erase_if(cases, [](const Case& c) { return c.solver != Solver::cg; });
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Solvers, SimtCgOffChip, testing::ValuesIn(off_chip_cases()), case_name);

TEST(SimtSingularSystem, HasTheSolutionOfMinimumNorm) {
    for (const Solver solver : {Solver::cg, Solver::cacg, Solver::multigrid}) {
        expect_minimum_norm<SimtRun>(solver);
    }
}

class SimtCommunicationAvoiding : public testing::TestWithParam<BasisCase> {};

TEST_P(SimtCommunicationAvoiding, ResidualsFallAsThoseOfConjugateGradients) {
    expect_curve_of_conjugate_gradients<SimtRun>(GetParam(), {9, 33});
}
INSTANTIATE_TEST_SUITE_P(Bases, SimtCommunicationAvoiding,
                         testing::Values(BasisCase{Basis::newton, 8, true},
                                         BasisCase{Basis::chebyshev, 8, false}),
                         case_name);

TEST(SimtCommunicationAvoidingCg, FallsBackToFewerStepsWhereItsBasisBreaksDown) {
    expect_fall_back_to_fewer_steps<SimtRun>({9, 15});
}

// So many pixels that the finest levels use many blocks, with windows of both sizes.
TEST(SimtMultigrid, DoesWhatTheCpuDoesOnLevelsOfManyBlocks) {
    for (const Case& c : {Case{Solver::multigrid, replicate, Stencil::five},
                          Case{Solver::multigrid, zero, Stencil::nine},
                          Case{Solver::multigrid, replicate, Stencil::five, true}}) {
        expect_cpus_result<SimtRun>(c, {45, 111}, 2);
        expect_cpus_result<SimtRun>(c, {151, 130}, 2);
    }
}

}  // namespace
}  // namespace aperture::flow
