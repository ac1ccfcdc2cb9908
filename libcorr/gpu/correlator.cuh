// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Correlator on a device. Host code, a template on the executor and on the transforms it has.

#include "aperture/core/shape.hpp"
#include "libcorr/gpu/direct_correlation.cuh"
#include "libcorr/gpu/fft_correlation.cuh"
#include "libcorr/gpu/ground_sums.cuh"

namespace aperture::corr::gpu {

template <class Executor, class Transforms>
class DeviceCorrelator {
    using Space = typename Executor::Space;

  public:
    DeviceCorrelator(Executor& executor, const Problem& problem)
        : problem_(validated(problem)),
          ground_sums_(executor, problem_),
          grounds_a_({planes()}),
          grounds_b_({planes()}) {
        if (problem.method == Method::direct) {
            direct_ = make_direct_sums(executor, problem);
        } else {
            fft_ = std::make_unique<FftCorrelation<Executor, Transforms>>(executor, problem);
        }
    }

    void run(PlanesView<Space> a, PlanesView<Space> b, core::View<double, 3, Space> sums) {
        const auto [rows, columns] = problem_.image;
        const Shape extent = problem_.lags.extent();
        core::expects_shape("image a", a, {planes(), rows, columns}, core::Strides::unit_last);
        core::expects_shape("image b", b, {planes(), rows, columns}, core::Strides::unit_last);
        core::expects_shape("sums", sums,
                            {problem_.images * surfaces(), extent.rows, extent.columns},
                            core::Strides::dense);
        const bool same = a.data == b.data && a.stride == b.stride;
        const Planes<const float> of_a = signal::gpu::planes_of(a);
        const Planes<const float> of_b = signal::gpu::planes_of(b);
        ground_sums_.find(of_a, grounds_a_.data());
        if (!same) ground_sums_.find(of_b, grounds_b_.data());
        const PlaneGround* const grounds_a = grounds_a_.data();
        const PlaneGround* const grounds_b = same ? grounds_a : grounds_b_.data();
        if (direct_) {
            for (index_t i = 0; i < problem_.images; ++i) {
                const index_t plane = i * problem_.planes;
                direct_->run({from_plane(of_a, plane), grounds_a + plane},
                             {from_plane(of_b, plane), grounds_b + plane}, same,
                             sums.data + i * surfaces() * extent.rows * extent.columns);
            }
        } else {
            fft_->run(of_a, grounds_a, of_b, grounds_b, same, sums.data);
        }
        ground_sums_.add(of_a, grounds_a, of_b, grounds_b, same, sums.data);
    }

  private:
    index_t planes() const { return problem_.images * problem_.planes; }
    index_t surfaces() const { return problem_.each_plane ? problem_.planes : 1; }

    Problem problem_;
    GroundSums<Executor> ground_sums_;
    core::Array<PlaneGround, 1, Space> grounds_a_;
    core::Array<PlaneGround, 1, Space> grounds_b_;
    std::unique_ptr<DirectSums<Executor>> direct_;
    std::unique_ptr<FftCorrelation<Executor, Transforms>> fft_;
};

}  // namespace aperture::corr::gpu
