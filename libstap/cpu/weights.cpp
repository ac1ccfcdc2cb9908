// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/shape.hpp"
#include "libstap/cpu/stages.hpp"

namespace aperture::stap {

namespace cpu {

template <class Real>
WeightSolver<Real>::WeightSolver(core::Cpu& cpu, const Problem& problem)
    : cpu_(cpu),
      problem_(problem),
      info_({problem.doppler_bins * problem.training_sets}),
      pivot_ratio_({problem.doppler_bins * problem.training_sets}) {}

template <class Real>
void WeightSolver<Real>::run(core::View<const Complex, 4, core::Host> covariance,
                             core::View<const cfloat, 2, core::Host> steering,
                             core::View<Complex, 4, core::Host> weights,
                             core::View<int, 2, core::Host> info,
                             core::View<float, 2, core::Host> pivot_ratio) {
    const auto solutions = as_batch(weights);
    for (index_t problem = 0; problem < solutions.extent[0]; ++problem)
        for (index_t d = 0; d < solutions.extent[1]; ++d)
            for (index_t i = 0; i < solutions.extent[2]; ++i)
                solutions(problem, d, i) = Complex(steering(d, i));
    dense::solve<Complex, core::Concatenated>(cpu_, problem_.parameters.solver,
                                              as_batch(covariance), solutions, info_, pivot_ratio_);
    const index_t sets = problem_.training_sets;
    for (index_t k = 0; k < problem_.doppler_bins; ++k)
        for (index_t b = 0; b < sets; ++b) {
            info(k, b) = info_(k * sets + b);
            pivot_ratio(k, b) = static_cast<float>(pivot_ratio_(k * sets + b));
        }
}

template class WeightSolver<float>;
template class WeightSolver<double>;

}  // namespace cpu

template <class Real>
void solve_weights(core::Cpu& cpu, const Problem& problem,
                   core::View<const std::complex<Real>, 4, core::Host> covariance,
                   core::View<const cfloat, 2, core::Host> steering,
                   core::View<std::complex<Real>, 4, core::Host> weights,
                   core::View<int, 2, core::Host> info,
                   core::View<float, 2, core::Host> pivot_ratio) {
    const index_t bins = problem.doppler_bins;
    const index_t sets = problem.training_sets;
    const index_t n = problem.order;
    const index_t directions = problem.steering_vectors;
    core::expects_shape("covariance", covariance, {bins, sets, n, n}, core::Strides::dense);
    core::expects_shape("steering", steering, {directions, n});
    core::expects_shape("weights", weights, {bins, sets, directions, n}, core::Strides::dense);
    core::expects_shape("info", info, {bins, sets});
    core::expects_shape("pivot_ratio", pivot_ratio, {bins, sets});
    cpu::WeightSolver<Real>(cpu, problem).run(covariance, steering, weights, info, pivot_ratio);
}

template void solve_weights(core::Cpu&, const Problem&,
                            core::View<const std::complex<float>, 4, core::Host>,
                            core::View<const cfloat, 2, core::Host>,
                            core::View<std::complex<float>, 4, core::Host>,
                            core::View<int, 2, core::Host>, core::View<float, 2, core::Host>);
template void solve_weights(core::Cpu&, const Problem&,
                            core::View<const std::complex<double>, 4, core::Host>,
                            core::View<const cfloat, 2, core::Host>,
                            core::View<std::complex<double>, 4, core::Host>,
                            core::View<int, 2, core::Host>, core::View<float, 2, core::Host>);

}  // namespace aperture::stap
