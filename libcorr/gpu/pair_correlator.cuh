// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// PairCorrelator on a device. Host code, a template on the executor and its transforms, and the
// kernel that copies planes.

#include <optional>
#include <vector>

#include "aperture/core/memory.hpp"
#include "aperture/core/shape.hpp"
#include "libcorr/gpu/fft_correlation.cuh"
#include "libcorr/gpu/ground_sums.cuh"
#include "libcorr/pair_checks.hpp"

namespace aperture::corr::gpu {

inline constexpr int copy_threads = 256;

/// A thread for every copy_threads-th column. Grid: rows, planes. Moves 8 bytes a pixel.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    copy_planes_kernel(Planes<const float> from, Planes<float> to) {
    const int y = static_cast<int>(blockIdx.x);
    const int plane = static_cast<int>(blockIdx.y);
    for (int x = static_cast<int>(threadIdx.x); x < from.columns; x += Threads) {
        to.at(plane, y, x) = from.at(plane, y, x);
    }
}

template <class Executor, class Transforms>
class DevicePairCorrelator {
    using Space = typename Executor::Space;
    using Fft = FftCorrelation<Executor, Transforms>;

  public:
    /// `most_bytes`: for the spectra of two images' planes that are transformed together.
    DevicePairCorrelator(Executor& executor, const Problem& problem, index_t images,
                         index_t most_bytes = Fft::most_bytes)
        : executor_(executor),
          problem_(validated(one_image(problem))),
          fft_(executor, problem_, most_bytes),
          ground_sums_(executor, problem_) {
        core::expects(images >= 1, images, " images, expected at least 1");
        const auto bytes_an_image =
            static_cast<double>(spectra_of_image() * index_t{sizeof(Complex<float>)} +
                                pixels_of_image() * index_t{sizeof(float)} +
                                problem_.planes * index_t{sizeof(PlaneGround)});
        try {
            expects_memory(images, bytes_an_image, free_memory());
        } catch (const core::InvalidArgument& too_little) {
            // A CPU may have more memory.
            if constexpr (std::is_same_v<Space, core::Device>) {
                throw core::UnfitDevice(too_little.what());
            }
            throw;
        }
        taken_.resize(static_cast<std::size_t>(images));
        spectra_ = core::Array<Complex<float>, 1, Space>({images * spectra_of_image()});
        planes_ = core::Array<float, 1, Space>({images * pixels_of_image()});
        grounds_ = core::Array<PlaneGround, 1, Space>({images * problem_.planes});
    }

    void take(index_t image, PlanesView<Space> planes) {
        const auto [rows, columns] = problem_.image;
        expects_image(image, std::ssize(taken_));
        core::expects_shape("planes", planes, {problem_.planes, rows, columns},
                            core::Strides::unit_last);
        const Planes<float> kept = planes_of_image(image);
        PlaneGround* const grounds = grounds_of_image(image);
        core::launch(executor_, &copy_planes_kernel<copy_threads>,
                     core::LaunchConfig(
                         dim3(static_cast<unsigned>(rows), static_cast<unsigned>(problem_.planes)),
                         dim3(copy_threads)),
                     signal::gpu::planes_of(planes), kept);
        ground_sums_.find(constant(kept), grounds);
        for_groups([&](index_t p, index_t spectra) {
            fft_.transform(from_plane(constant(kept), p), grounds + p,
                           spectra_.data() + image * spectra_of_image() + spectra);
        });
        taken_[static_cast<std::size_t>(image)] = true;
    }

    void run(index_t a, index_t b, core::View<double, 3, Space> sums) {
        const Shape extent = problem_.lags.extent();
        core::expects_shape(
            "sums", sums, {problem_.each_plane ? problem_.planes : 1, extent.rows, extent.columns},
            core::Strides::dense);
        expects_image(a, std::ssize(taken_));
        expects_image(b, std::ssize(taken_));
        expects_taken(a, taken_[static_cast<std::size_t>(a)], b,
                      taken_[static_cast<std::size_t>(b)]);
        for_groups([&](index_t p, index_t spectra) {
            fft_.correlate(spectra_.data() + a * spectra_of_image() + spectra,
                           spectra_.data() + b * spectra_of_image() + spectra, p, sums.data);
        });
        ground_sums_.add(constant(planes_of_image(a)), grounds_of_image(a),
                         constant(planes_of_image(b)), grounds_of_image(b), a == b, sums.data);
    }

  private:
    static Problem one_image(Problem problem) {
        problem.images = 1;
        return problem;
    }
    index_t groups() const { return problem_.planes / fft_.planes_at_once(); }
    index_t spectra_of_image() const { return groups() * fft_.spectra_size(); }
    index_t pixels_of_image() const {
        return problem_.planes * problem_.image.rows * problem_.image.columns;
    }
    Planes<float> planes_of_image(index_t image) {
        const auto [rows, columns] = problem_.image;
        return {planes_.data() + image * pixels_of_image(), rows * columns, columns,
                static_cast<int>(rows), static_cast<int>(columns)};
    }
    PlaneGround* grounds_of_image(index_t image) {
        return grounds_.data() + image * problem_.planes;
    }
    /// Calls do_group(its first plane, offset of its spectra among those of an image).
    template <class DoGroup>
    void for_groups(const DoGroup& do_group) {
        for (index_t i = 0; i < groups(); ++i) {
            do_group(i * fft_.planes_at_once(), i * fft_.spectra_size());
        }
    }
    std::optional<std::size_t> free_memory() const {
        if constexpr (requires { executor_.free_memory(); }) {
            return executor_.free_memory();
        } else {
            return core::available_memory();
        }
    }

    Executor& executor_;
    Problem problem_;
    Fft fft_;
    GroundSums<Executor> ground_sums_;
    std::vector<bool> taken_;
    // Of all images, one after the other.
    core::Array<Complex<float>, 1, Space> spectra_;
    core::Array<float, 1, Space> planes_;  ///< for the sums that other images' grounds multiply
    core::Array<PlaneGround, 1, Space> grounds_;
};

}  // namespace aperture::corr::gpu
