// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// CorrelatorOperations on a device. Host code, a template on the executor.

#include "libcorr/correlators.hpp"
#include "libcorr/gpu/direct_correlation.cuh"
#include "libcorr/gpu/fft_correlation.cuh"

namespace aperture::corr {

template <class Executor>
class CorrelatorOperations {
    using Space = typename Executor::Space;

  public:
    CorrelatorOperations(Executor& executor, const Problem& problem)
        : problem_(gpu::fitting_grid(problem)),
          ground_sums_(executor, problem_),
          grounds_a_({problem.images * problem.planes}),
          grounds_b_(grounds_a_.extent()) {
        if (problem.method == Method::direct) {
            direct_ = gpu::make_direct_sums(executor, problem);
        } else {
            fft_ = std::make_unique<gpu::FftCorrelation<Executor>>(executor, problem);
        }
    }

    void run(PlanesView<Space> a, PlanesView<Space> b, bool same,
             core::View<double, 3, Space> sums) {
        const gpu::GroundedPlanes of_a{signal::gpu::planes_of(a), grounds_a_.data()};
        const gpu::GroundedPlanes of_b{signal::gpu::planes_of(b),
                                       same ? of_a.grounds : grounds_b_.data()};
        ground_sums_.find(of_a.planes, grounds_a_.data());
        if (!same) ground_sums_.find(of_b.planes, grounds_b_.data());
        if (direct_) {
            for (index_t i = 0; i < problem_.images; ++i) {
                direct_->run(of_a.from(i * problem_.planes), of_b.from(i * problem_.planes),
                             sums.data + i * problem_.surfaces() * sums.stride[0]);
            }
        } else {
            fft_->run(of_a, of_b, sums.data);
        }
        ground_sums_.add(of_a, of_b, sums.data);
    }

  private:
    Problem problem_;
    gpu::GroundSums<Executor> ground_sums_;
    core::Array<gpu::PlaneGround, 1, Space> grounds_a_;
    core::Array<gpu::PlaneGround, 1, Space> grounds_b_;
    std::unique_ptr<gpu::DirectSums<Executor>> direct_;
    std::unique_ptr<gpu::FftCorrelation<Executor>> fft_;
};

}  // namespace aperture::corr
