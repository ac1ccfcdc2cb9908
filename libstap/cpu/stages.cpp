// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/cpu/stages.hpp"

namespace aperture::stap {

using core::Host;

void extract_snapshots(core::Cpu& cpu, const Problem& problem, CubeView<Host> cube,
                       core::View<cfloat, 4, Host> snapshots) {
    check_snapshots(problem, cube, snapshots);
    cpu::extract_snapshots<float>(cpu, problem, cube, 0, snapshots);
}

template <class Real>
void estimate_covariance(core::Cpu& cpu, const Problem& problem, CubeView<Host> cube,
                         core::View<std::complex<Real>, 4, Host> covariance) {
    check_cube(problem, cube);
    check_covariance(problem, covariance);
    auto chunk =
        cpu::chunk_of_bins<Real>(problem, problem.order, problem.parameters.training_block);
    cpu::estimate_covariance<Real>(cpu, problem, cube, chunk, covariance);
}

template <class Real>
void solve_weights(core::Cpu& cpu, const Problem& problem,
                   core::View<const std::complex<Real>, 4, Host> covariance,
                   core::View<const cfloat, 2, Host> steering,
                   core::View<std::complex<Real>, 4, Host> weights, core::View<int, 2, Host> info,
                   core::View<float, 2, Host> pivot_ratio) {
    check_covariance(problem, covariance);
    check_weights(problem, steering, weights, core::Strides::dense);
    check_report(problem, info, pivot_ratio);
    cpu::SolverReport<Real> report(problem);
    cpu::solve_weights<Real>(cpu, problem, covariance, steering, report, weights, info,
                             pivot_ratio);
}

#define APERTURE_STAGES(Real)                                                       \
    template void estimate_covariance(core::Cpu&, const Problem&, CubeView<Host>,   \
                                      core::View<std::complex<Real>, 4, Host>);     \
    template void solve_weights<Real>(                                              \
        core::Cpu&, const Problem&, core::View<const std::complex<Real>, 4, Host>,  \
        core::View<const cfloat, 2, Host>, core::View<std::complex<Real>, 4, Host>, \
        core::View<int, 2, Host>, core::View<float, 2, Host>)
APERTURE_STAGES(float);
APERTURE_STAGES(double);
#undef APERTURE_STAGES

}  // namespace aperture::stap
