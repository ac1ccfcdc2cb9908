// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// PairOperations on a device. Host code, a template on the executor, and the kernel that copies
// planes.

#include "libcorr/correlators.hpp"
#include "libcorr/gpu/fft_correlation.cuh"

namespace aperture::corr {
namespace gpu {

inline constexpr int copy_threads = 256;

/// A thread for every copy_threads-th column. Grid: rows, planes. Moves 8 bytes a pixel.
inline __global__ void __launch_bounds__(copy_threads)
    copy_planes_kernel(Planes<const float> from, Planes<float> to) {
    const int y = static_cast<int>(blockIdx.x);
    const int plane = static_cast<int>(blockIdx.y);
    for (int x = static_cast<int>(threadIdx.x); x < columns_of(from); x += copy_threads) {
        to(plane, y, x) = from(plane, y, x);
    }
}

}  // namespace gpu

template <class Executor>
class PairOperations {
    using Space = typename Executor::Space;
    using Fft = gpu::FftCorrelation<Executor>;

  public:
    /// `max_bytes`: for the spectra of two images' planes that are transformed together.
    PairOperations(Executor& executor, const Problem& problem, index_t max_bytes = Fft::max_bytes)
        : executor_(executor),
          problem_(gpu::fitting_grid(problem)),
          fft_(executor, problem_, max_bytes),
          ground_sums_(executor, problem_) {}

    double bytes_of_image() const {
        return static_cast<double>(spectra_of_image() * index_t{sizeof(core::Complex<float>)} +
                                   pixels_of_image() * index_t{sizeof(float)} +
                                   problem_.planes * index_t{sizeof(gpu::PlaneGround)});
    }
    void reserve(index_t images) {
        spectra_ = core::Array<core::Complex<float>, 1, Space>({images * spectra_of_image()});
        planes_ = core::Array<float, 1, Space>({images * pixels_of_image()});
        grounds_ = core::Array<gpu::PlaneGround, 1, Space>({images * problem_.planes});
    }

    void keep(index_t image, PlanesView<Space> planes) {
        const gpu::Planes<float> kept = planes_of_image(image);
        core::launch(executor_, &gpu::copy_planes_kernel,
                     core::LaunchConfig(dim3(static_cast<unsigned>(problem_.image.rows),
                                             static_cast<unsigned>(problem_.planes)),
                                        dim3(gpu::copy_threads)),
                     signal::gpu::planes_of(planes), kept);
        ground_sums_.find(kept, grounds_of_image(image));
        for_groups([&](index_t p, index_t spectra) {
            fft_.transform(grounded(image).from(p),
                           spectra_.data() + image * spectra_of_image() + spectra);
        });
    }

    void correlate(index_t a, index_t b, core::View<double, 3, Space> sums) {
        for_groups([&](index_t p, index_t spectra) {
            fft_.correlate(spectra_.data() + a * spectra_of_image() + spectra,
                           spectra_.data() + b * spectra_of_image() + spectra, p, sums.data);
        });
        ground_sums_.add(grounded(a), grounded(b), sums.data);
    }

  private:
    index_t groups() const { return problem_.planes / fft_.planes_at_once(); }
    index_t spectra_of_image() const { return groups() * fft_.spectra_size(); }
    index_t pixels_of_image() const {
        return problem_.planes * problem_.image.rows * problem_.image.columns;
    }
    gpu::Planes<float> planes_of_image(index_t image) {
        return {planes_.data() + image * pixels_of_image(),
                {problem_.planes, problem_.image.rows, problem_.image.columns}};
    }
    gpu::PlaneGround* grounds_of_image(index_t image) {
        return grounds_.data() + image * problem_.planes;
    }
    gpu::GroundedPlanes grounded(index_t image) {
        return {planes_of_image(image), grounds_of_image(image)};
    }
    /// Calls do_group(its first plane, offset of its spectra among those of an image).
    template <class DoGroup>
    void for_groups(const DoGroup& do_group) {
        for (index_t i = 0; i < groups(); ++i) {
            do_group(i * fft_.planes_at_once(), i * fft_.spectra_size());
        }
    }

    Executor& executor_;
    Problem problem_;
    Fft fft_;
    gpu::GroundSums<Executor> ground_sums_;
    // Of all images, one after the other.
    core::Array<core::Complex<float>, 1, Space> spectra_;
    core::Array<float, 1, Space> planes_;  ///< for the sums that other images' grounds multiply
    core::Array<gpu::PlaneGround, 1, Space> grounds_;
};

}  // namespace aperture::corr
