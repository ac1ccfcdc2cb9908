// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "tests/flow/solver_cases.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::flow {
namespace {

/// A solver on the Gpu with its inputs and outputs in device memory.
class GpuRun {
  public:
    GpuRun(Shape shape, const SolverParameters& parameters)
        : solver_(gpu_, shape, parameters),
          tensor_({3, shape.rows, shape.columns}),
          right_({2, shape.rows, shape.columns}),
          coupling_({2, shape.rows, shape.columns}),
          flow_({2, shape.rows, shape.columns}) {}

    SolveResult operator()(const OwnedSystem& system, HostFlow& flow,
                           std::vector<double>* residuals = nullptr) {
        load(system, flow);
        const SolveResult result = solver_.solve(on_device(system), flow_.view(), residuals);
        core::copy<float, 3, core::Strided>(gpu_, std::as_const(flow_).view(), flow.view());
        gpu_.synchronize();
        return result;
    }

    /// Whether a solve never waits for the device; otherwise a stream capture fails.
    bool is_asynchronous(const OwnedSystem& system) {
        const HostFlow flow = zero_flow(system.shape());
        load(system, flow);
        solver_.solve(on_device(system), flow_.view());
        gpu_.synchronize();
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamBeginCapture(gpu_.stream(), cudaStreamCaptureModeThreadLocal),
                  cudaSuccess);
        solver_.solve(on_device(system), flow_.view());
        const bool captured = cudaStreamEndCapture(gpu_.stream(), &graph) == cudaSuccess;
        cudaGraphDestroy(graph);
        return captured;
    }

    ResidualNorms norms(const OwnedSystem& system, const HostFlow& flow) {
        load(system, flow);
        return residual_norms(gpu_, on_device(system), std::as_const(flow_).view());
    }

  private:
    void load(const OwnedSystem& system, const HostFlow& flow) {
        const auto copy = [&](const HostFlow& from, core::Array<float, 3, core::Device>& to) {
            core::copy<float, 3, core::Strided>(gpu_, from.view(), to.view());
        };
        copy(system.tensor, tensor_);
        copy(system.right, right_);
        if (system.coupling.size() > 0) copy(system.coupling, coupling_);
        copy(flow, flow_);
    }
    LinearSystem<core::Device> on_device(const OwnedSystem& system) const {
        LinearSystem<core::Device> s;
        s.tensor = tensor_.view();
        s.right = right_.view();
        if (system.coupling.size() > 0) s.coupling = coupling_.view();
        s.smoothness = system.smoothness;
        s.boundary = system.boundary;
        s.stencil = system.stencil;
        return s;
    }

    core::Gpu gpu_;
    SystemSolver<core::Gpu> solver_;
    core::Array<float, 3, core::Device> tensor_;
    core::Array<float, 3, core::Device> right_;
    core::Array<float, 3, core::Device> coupling_;
    core::Array<float, 3, core::Device> flow_;
};

using tests::GpuTest;

/// Too large for kernels that keep a system on chip.
constexpr Shape off_chip{641, 1201};

/// `small`, and an image that is off chip.
std::vector<Shape> on_and_off_chip(Shape small) {
    if (tests::small_shapes()) return {small};
    return {small, off_chip};
}

class GpuSolver : public GpuTest, public testing::WithParamInterface<Case> {};

TEST_P(GpuSolver, FindsTheOraclesSolution) {
    expect_oracles_solution<GpuRun>(
        GetParam(), {{1, 1}, {1, 7}, {9, 1}, {3, 3}, {8, 32}, {9, 33}, {23, 37}, {41, 67}});
    // With more pixels the basis of cacg causes an error of 2e-4, on a CPU as well.
    if (GetParam().solver == Solver::cacg) return;
    expect_oracles_solution<GpuRun>(GetParam(), {{97, 131}});
}

TEST_P(GpuSolver, DoesWhatTheCpuDoes) {
    std::vector<Shape> shapes{{8, 32}, {37, 67}};
    if (!tests::small_shapes()) shapes.insert(shapes.end(), {{388, 584}, off_chip});
    const core::Gpu gpu;
    for (const Shape shape : shapes) {
        const Solver ran = solver_on(gpu, shape, iterated(GetParam(), 9));
        if (ran == GetParam().solver) expect_cpus_result<GpuRun>(GetParam(), shape, 9);
    }
}

TEST_P(GpuSolver, StartsFromTheFlowItIsGiven) { expect_start_to_be_used<GpuRun>(GetParam()); }

TEST_P(GpuSolver, RecordsTheResidualsItReaches) {
    for (const Shape shape : on_and_off_chip({24, 31})) {
        expect_recorded_residuals<GpuRun>(GetParam(), shape);
    }
}

TEST_P(GpuSolver, SecondSolutionAllocatesNothing) {
    expect_no_allocation_in_a_second_run<GpuRun>(GetParam());
}

TEST_P(GpuSolver, WaitsForNothingWithoutATolerance) {
    for (const Shape shape : on_and_off_chip({150, 170})) {
        GpuRun run(shape, iterated(GetParam(), 6));
        EXPECT_TRUE(run.is_asynchronous(system_of(GetParam(), shape)));
    }
}

TEST_P(GpuSolver, GivesTheSameBitsEveryTime) {
    for (const Shape shape : on_and_off_chip({151, 333})) {
        const OwnedSystem system = system_of(GetParam(), shape);
        GpuRun run(shape, iterated(GetParam(), 13));
        HostFlow first = zero_flow(shape);
        run(system, first);
        for (int i = 0; i < 5; ++i) {
            HostFlow again = zero_flow(shape);
            run(system, again);
            EXPECT_EQ(std::memcmp(first.data(), again.data(),
                                  sizeof(float) * static_cast<std::size_t>(first.size())),
                      0);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Solvers, GpuSolver, testing::ValuesIn(all_gpu_cases()),
                         [](const auto& given) { return name_of(given.param); });

class GpuEndAtRounding : public GpuTest, public testing::WithParamInterface<Case> {};
TEST_P(GpuEndAtRounding, ReturnsAboutTheLeastResidual) {
    expect_least_residual_at_the_end<GpuRun>(GetParam(), {{1, 7}, {3, 5}, {8, 11}, {17, 23}}, 600);
}
INSTANTIATE_TEST_SUITE_P(Solvers, GpuEndAtRounding,
                         testing::ValuesIn(cases_at_rounding(all_gpu_cases())),
                         [](const auto& given) { return name_of(given.param); });

class GpuConjugateGradients : public GpuTest {};
TEST_F(GpuConjugateGradients, EndWhereTheToleranceIsOutOfReach) {
    for (const bool precondition : {true, false}) {
        expect_end_at_an_unattainable_tolerance<GpuRun>(precondition);
    }
}

class GpuSingularSystem : public GpuTest, public testing::WithParamInterface<Solver> {};

TEST_P(GpuSingularSystem, HasTheSolutionOfMinimumNorm) { expect_minimum_norm<GpuRun>(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Solvers, GpuSingularSystem,
                         testing::Values(Solver::jacobi, Solver::block2x2, Solver::cg, Solver::cacg,
                                         Solver::redblack, Solver::multigrid),
                         [](const auto& given) { return name_of(given.param); });

class GpuCommunicationAvoiding : public GpuTest, public testing::WithParamInterface<BasisCase> {};

TEST_P(GpuCommunicationAvoiding, ResidualsFallAsThoseOfConjugateGradients) {
    expect_curve_of_conjugate_gradients<GpuRun>(GetParam(), {97, 120});
}
INSTANTIATE_TEST_SUITE_P(
    Bases, GpuCommunicationAvoiding,
    testing::Values(BasisCase{Basis::monomial, 1, true}, BasisCase{Basis::monomial, 4, true},
                    BasisCase{Basis::newton, 4, true}, BasisCase{Basis::newton, 8, true},
                    BasisCase{Basis::chebyshev, 8, true}, BasisCase{Basis::newton, 8, false},
                    BasisCase{Basis::chebyshev, 8, false}),
    [](const auto& given) { return name_of(given.param); });

class GpuMultigrid : public GpuTest {};
class GpuCommunicationAvoidingCg : public GpuTest {};

TEST_F(GpuMultigrid, NeedsAboutThirtyWorkUnitsWhateverSizeAndSmoothness) {
    for (const Shape shape : {Shape{97, 131}, Shape{388, 584}, Shape{512, 512}}) {
        expect_thirty_work_units<GpuRun>(shape);
    }
}

TEST_F(GpuMultigrid, ConvergesAtTheSameRateForEveryShape) {
    for (const Case& c : multigrid_cases()) {
        expect_a_factor_of_convergence<GpuRun>(
            c, {{1, 9}, {3, 5}, {4, 4}, {7, 2}, {17, 23}, {65, 129}, {257, 130}});
    }
}

TEST_F(GpuMultigrid, ConvergesBesideAFlatPart) {
    expect_convergence_beside_a_flat_part<GpuRun>({512, 512});
}

TEST_F(GpuCommunicationAvoidingCg, FallsBackToFewerSteps) {
    expect_fall_back_to_fewer_steps<GpuRun>({60, 70}, 8);
}

TEST_F(GpuCommunicationAvoidingCg, IsCgWhereItsBasisDoesNotFit) {
    const core::Gpu gpu;
    SolverParameters p = iterated({Solver::cacg, replicate, Stencil::five}, 5);
    EXPECT_EQ(solver_on(gpu, {60, 70}, p), Solver::cacg);
    EXPECT_EQ(solver_on(gpu, off_chip, p), Solver::cg);
    p.s_step = 9;
    EXPECT_EQ(solver_on(gpu, {60, 70}, p), Solver::cg);
    const OwnedSystem system = system_of({Solver::cg, replicate, Stencil::five}, {60, 70});
    HostFlow flow = zero_flow({60, 70});
    EXPECT_EQ(GpuRun({60, 70}, p)(system, flow).work_units, 6);
}

class GpuResidualNorms : public GpuTest {};

TEST_F(GpuResidualNorms, AreThoseOfTheCpu) {
    for (const Case& c : all_cases()) {
        if (c.solver != Solver::cg) continue;
        const Shape shape{77, 211};
        const OwnedSystem system = system_of(c, shape);
        GpuRun run(shape, iterated(c, 3));
        HostFlow flow = zero_flow(shape);
        run(system, flow);
        const ResidualNorms expected = norms_of(system, flow);
        const ResidualNorms norms = run.norms(system, flow);
        EXPECT_NEAR(norms.residual, expected.residual, 1e-5 * expected.residual);
        EXPECT_NEAR(norms.right, expected.right, 1e-6 * expected.right);
    }
}

}  // namespace
}  // namespace aperture::flow
