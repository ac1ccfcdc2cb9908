// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "libflow/cpu/communication_avoiding_cg.hpp"
#include "libflow/cpu/conjugate_gradients.hpp"
#include "libflow/cpu/free_flow.hpp"
#include "libflow/cpu/multigrid.hpp"
#include "libflow/cpu/stationary.hpp"
#include "libflow/system_solver.hpp"

namespace aperture::flow {

template <>
class SolverOperations<core::Cpu> {
  public:
    static constexpr bool asynchronous = false;
    static const SolverParameters& supported(const core::Cpu&, Shape, const SolverParameters& p) {
        return p;
    }

    SolverOperations(core::Cpu& cpu, Shape shape, const SolverParameters& p)
        : cpu_(cpu), parameters_(p), free_flow_(shape), sums_(shape) {
        if (p.solver == Solver::multigrid) {
            multigrid = Multigrid(cpu, shape);
        } else if (p.solver == Solver::redblack) {
            checkered_ = CheckeredLevel(cpu, shape);
        } else {
            prepared_ = PreparedSystem(shape);
            flow_ = PaddedPlanes(2, shape);
            residual_ = Residual(shape);
            if (p.solver == Solver::cg) {
                gradients = ConjugateGradients(cpu, shape, p.precondition);
            } else if (p.solver == Solver::cacg) {
                avoiding = CommunicationAvoidingCg(cpu, shape, p);
            } else {
                stationary_ = StationaryIteration(cpu, shape, p.solver);
            }
        }
    }

    void load(const LinearSystem<core::Host>& system, FlowView<core::Host> x, bool tested) {
        free_flow_.load(cpu_, system, x);
        if (tested) right_norm_ = std::sqrt(right_squared(cpu_, system, sums_));
        switch (parameters_.solver) {
            case Solver::multigrid:
                return multigrid.start(system, x);
            case Solver::redblack:
                checkered_.load_system(system);
                return checkered_.load_unknowns(x);
            case Solver::cg:
            case Solver::cacg:
                prepared_.load(cpu_, system, true);
                break;
            case Solver::jacobi:
            case Solver::block2x2:
                prepared_.load_form(cpu_, system);
                stationary_.load(prepared_, system);
                if (tested) prepared_.load_pixels(cpu_, system, false);
                break;
        }
        load_flow(cpu_, x, system.boundary, flow_);
    }

    void store(FlowView<core::Host> x) {
        if (parameters_.solver == Solver::multigrid) {
            multigrid.store(x);
        } else if (parameters_.solver == Solver::redblack) {
            checkered_.store_unknowns(x);
        } else {
            store_planes(cpu_, flow_, x);
        }
        free_flow_.restore(cpu_, x);
    }

    double right_norm() const { return right_norm_; }
    ResidualNorms norms() {
        const auto squared = [&] {
            if (parameters_.solver == Solver::multigrid) return multigrid.residual_squared();
            if (parameters_.solver == Solver::redblack) return checkered_.residual_squared();
            return residual_.squared(cpu_, prepared_, flow_);
        };
        return {std::sqrt(squared()), right_norm_};
    }

    void sweep(int count) {
        if (parameters_.solver != Solver::redblack) {
            return stationary_.sweep(prepared_, flow_, count);
        }
        for (int i = 0; i < count; i += sweeps_at_once) {
            checkered_.relax({.sweeps = std::min(sweeps_at_once, count - i),
                              .omega = static_cast<float>(parameters_.relaxation)});
        }
    }

    void start_gradients(double limit) { gradients.start(prepared_, flow_, limit); }
    void start_avoiding(double limit, bool with_history) {
        avoiding.start(prepared_, flow_, limit, with_history);
    }

    // Only the chosen solver's is initialised.
    ConjugateGradients gradients;
    CommunicationAvoidingCg avoiding;
    Multigrid multigrid;

  private:
    /// Gauss-Seidel sweeps for each pass over the image.
    static constexpr int sweeps_at_once = 8;

    core::Cpu& cpu_;
    SolverParameters parameters_;
    FreeFlow free_flow_;
    RowSums<1> sums_;
    double right_norm_ = 0;  ///< only if the residual is tested
    // Row-wise solvers.
    PreparedSystem prepared_;
    PaddedPlanes flow_;
    Residual residual_;
    StationaryIteration stationary_;
    CheckeredLevel checkered_;  ///< Solver::redblack
};

template class SystemSolver<core::Cpu>;

}  // namespace aperture::flow
