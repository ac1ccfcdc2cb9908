// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of products by real FFTs, for several images and planes at a time.

#include <memory>
#include <utility>

#include "libcore/gpu/complex.cuh"
#include "libcorr/gpu/fused_columns.cuh"
#include "libcorr/gpu/fused_rows.cuh"
#include "libcorr/gpu/ground.cuh"
#include "libcorr/gpu/plane_groups.hpp"

namespace aperture::corr::gpu {

using core::Complex;

inline constexpr int spectra_threads = 256;

/// Planes minus their ground [row][plane][column], zero-padded along the rows. A thread for every
/// spectra_threads-th column. Grid: rows, planes. Moves 8 bytes a pixel.
inline __global__ void __launch_bounds__(spectra_threads)
    pad_rows_kernel(Planes<const float> from, const PlaneGround* grounds, int length, float* to) {
    const int y = static_cast<int>(blockIdx.x);
    const int plane = static_cast<int>(blockIdx.y);
    const float ground = grounds[plane].ground;
    float* const row = to + (index_t{y} * static_cast<int>(gridDim.y) + plane) * length;
    for (int x = static_cast<int>(threadIdx.x); x < length; x += spectra_threads) {
        row[x] = x < columns_of(from) ? from(plane, y, x) - ground : 0.0F;
    }
}

/// Clears numbers, one a thread. Grid: numbers.
inline __global__ void __launch_bounds__(spectra_threads)
    clear_kernel(Complex<float>* numbers, index_t count) {
    const index_t i = index_t{blockIdx.x} * spectra_threads + static_cast<int>(threadIdx.x);
    if (i < count) numbers[i] = {};
}

/// How products of spectra are summed.
struct SpectraShape {
    int frequencies;  ///< of a row
    int images;
    int planes;       ///< of an image, in this group
    bool each_plane;  ///< keep the products of each
    bool first;       ///< first planes of these images: overwrite the products
};

/// A conj(B), summed over planes: spectra [row][image][plane][frequency], products
/// [row][image][plane or 1][frequency]. A thread for a frequency. Grid: rows, frequencies, images.
/// A row's factor in `turns` shifts the surface so that it begins with its first displacement. 16
/// bytes moved for a frequency of a plane.
inline __global__ void __launch_bounds__(spectra_threads)
    multiply_spectra_kernel(const Complex<float>* a, const Complex<float>* b,
                            const Complex<float>* turns, SpectraShape shape,
                            Complex<float>* products) {
    const int k = static_cast<int>(blockIdx.y) * spectra_threads + static_cast<int>(threadIdx.x);
    const int row = static_cast<int>(blockIdx.x);
    const int image = static_cast<int>(blockIdx.z);
    if (k >= shape.frequencies) return;
    const Complex<float> turn = turns[row];
    const index_t of_image = index_t{row} * shape.images + image;
    Complex<float> sum{};
    for (int p = 0; p < shape.planes; ++p) {
        const index_t at = (of_image * shape.planes + p) * shape.frequencies + k;
        const Complex<float> product = a[at] * core::conj(b[at]);
        if (shape.each_plane) {
            products[at] = product * turn;
        } else {
            sum += product;
        }
    }
    if (shape.each_plane) return;
    Complex<float>& to = products[of_image * shape.frequencies + k];
    to = shape.first ? sum * turn : to + sum * turn;
}

/// Copies the requested displacements from transformed rows [dy][surface][x], scaled. A thread for
/// an entry. Grid: dy, dx, surfaces. 12 bytes moved an entry.
inline __global__ void __launch_bounds__(spectra_threads)
    copy_surfaces_kernel(const float* rows, int length, const RowLags lags, double* sums) {
    const int j = static_cast<int>(blockIdx.y) * spectra_threads + static_cast<int>(threadIdx.x);
    if (j >= lags.columns) return;
    const auto i = static_cast<index_t>(blockIdx.x);
    const auto surface = static_cast<index_t>(blockIdx.z);
    const int dx = lags.first_column + j;
    const float value =
        rows[(i * static_cast<int>(gridDim.z) + surface) * length + (dx < 0 ? dx + length : dx)];
    sums[(surface * lags.rows + i) * lags.columns + j] = lags.scale * static_cast<double>(value);
}

/// The transforms of an executor. They have, besides a constructor from it and TransformSizes,
///     static int good_length(int n), even, at least n
///     void rows(const float* from, Complex<float>* to): [image_rows][planes][columns] each
///     void columns(const Complex<float>* from, Complex<float>* to): [rows][planes][frequencies]
///     void columns_back(Complex<float>* both): [rows][surfaces][frequencies]
///     void rows_back(Complex<float>* from, float* to): [lag_rows][surfaces][columns]
/// unscaled, asynchronous, the inverse ones with exp(+j ...).
template <class Executor>
class Transforms;

/// Sums of products of all images of a problem.
template <class Executor>
class FftCorrelation {
    using Space = typename Executor::Space;
    using Transforms = gpu::Transforms<Executor>;

  public:
    /// For spectra of both images: several times what a large L2 cache holds.
    static constexpr index_t max_bytes = index_t{256} << 20;

    FftCorrelation(Executor& executor, const Problem& problem,
                   index_t max_bytes_of_spectra = max_bytes)
        : executor_(executor), problem_(problem) {
        const Lags& lags = problem.lags;
        sizes_.rows = Transforms::good_length(static_cast<int>(problem.image.rows + lags.rows - 1));
        sizes_.columns =
            Transforms::good_length(static_cast<int>(problem.image.columns + lags.columns - 1));
        sizes_.image_rows = static_cast<int>(problem.image.rows);
        sizes_.lag_rows = static_cast<int>(lags.extent().rows);
        lags_ = {sizes_.lag_rows, static_cast<int>(lags.first_column()),
                 static_cast<int>(lags.extent().columns),
                 1.0 / (static_cast<double>(sizes_.rows) * static_cast<double>(sizes_.columns))};
        const index_t numbers = index_t{sizes_.rows} * sizes_.frequencies();
        groups_ = PlaneGroups(problem, 2 * numbers * index_t{sizeof(Complex<float>)},
                              max_bytes_of_spectra);
        sizes_.planes = static_cast<int>(groups_.images * groups_.planes);
        sizes_.surfaces = problem.each_plane ? sizes_.planes : static_cast<int>(groups_.images);
        transforms_ = std::make_unique<Transforms>(executor, sizes_);
        fused_rows_ = std::make_unique<RowTransforms<Executor>>(executor, sizes_.columns);
        if (!fused_rows_->possible()) {
            padded_ = core::Array<float, 1, Space>(
                {index_t{sizes_.planes} * sizes_.image_rows * sizes_.columns});
            surfaces_ = core::Array<float, 1, Space>(
                {index_t{sizes_.lag_rows} * sizes_.surfaces * sizes_.columns});
        }
        of_rows_ = core::Array<Complex<float>, 1, Space>({numbers * sizes_.planes});
        products_ = core::Array<Complex<float>, 1, Space>({numbers * sizes_.surfaces});
        const auto blocks =
            static_cast<unsigned>((of_rows_.size() + spectra_threads - 1) / spectra_threads);
        core::launch(executor, &clear_kernel,
                     core::LaunchConfig(dim3(blocks), dim3(spectra_threads)), of_rows_.data(),
                     of_rows_.size());
        // exp(j 2 pi k first_row / rows)
        turns_ = signal::gpu::roots_of_unity(
            executor, sizes_.rows,
            (problem.lags.first_row() % sizes_.rows + sizes_.rows) % sizes_.rows);
        if (!problem.each_plane && groups_.planes == problem.planes) {
            fused_columns_ =
                std::make_unique<ColumnCorrelation<Executor>>(executor, sizes_, turns_.data());
        }
    }

    /// Correlates all images; `sums` in Correlator's layout. Asynchronous.
    void run(const GroundedPlanes& a, const GroundedPlanes& b, double* sums) {
        const bool same = a.same_as(b);
        if (!same) spectra_b_.reshape({spectra_size()});
        for (index_t done = 0; done < problem_.images; done += groups_.images) {
            // Transforms are planned for a fixed number of images: the last group overlaps the
            // previous one.
            const index_t image = std::min(done, problem_.images - groups_.images);
            double* const to = sums + image * problem_.surfaces() * entries();
            for (index_t p = 0; p < problem_.planes; p += groups_.planes) {
                const GroundedPlanes of_a = a.from(image * problem_.planes + p);
                const GroundedPlanes of_b = b.from(image * problem_.planes + p);
                if (fused_columns_ && fused_columns_->possible()) {
                    transform_rows(of_a, of_rows_.data());
                    if (!same) transform_rows(of_b, spectra_b_.data());
                    fused_columns_->run(of_rows_.data(), same ? of_rows_.data() : spectra_b_.data(),
                                        products_.data());
                    transform_rows_back(to);
                    continue;
                }
                spectra_a_.reshape({spectra_size()});
                transform(of_a, spectra_a_.data());
                if (!same) transform(of_b, spectra_b_.data());
                correlate(spectra_a_.data(), same ? spectra_a_.data() : spectra_b_.data(), p, to);
            }
        }
    }

    /// Planes of an image that are processed together, a divisor of all.
    index_t planes_at_once() const { return groups_.planes; }
    /// Numbers of the spectra of the planes that are processed together.
    index_t spectra_size() const { return of_rows_.size(); }

    /// Computes the spectra of the planes that are processed together. Asynchronous.
    void transform(const GroundedPlanes& image, Complex<float>* spectra) {
        transform_rows(image, of_rows_.data());
        transforms_->columns(of_rows_.data(), spectra);
    }

    /// Correlates spectra of the planes from `plane` of an image on; computes all surfaces of the
    /// images. If planes are summed, groups must come in order, and `sums` is valid after the last
    /// one. Asynchronous.
    void correlate(const Complex<float>* a, const Complex<float>* b, index_t plane, double* sums) {
        const SpectraShape shape{sizes_.frequencies(), static_cast<int>(groups_.images),
                                 static_cast<int>(groups_.planes), problem_.each_plane, plane == 0};
        core::launch(
            executor_, &multiply_spectra_kernel,
            core::LaunchConfig(dim3(static_cast<unsigned>(sizes_.rows),
                                    signal::gpu::tiles_over(sizes_.frequencies(), spectra_threads),
                                    static_cast<unsigned>(groups_.images)),
                               dim3(spectra_threads)),
            a, b, static_cast<const Complex<float>*>(turns_.data()), shape, products_.data());
        const bool last = plane + groups_.planes == problem_.planes;
        if (!problem_.each_plane && !last) return;
        transforms_->columns_back(products_.data());
        transform_rows_back(problem_.each_plane ? sums + plane * entries() : sums);
    }

  private:
    index_t entries() const { return problem_.lags.extent().rows * problem_.lags.extent().columns; }
    void transform_rows(const GroundedPlanes& image, Complex<float>* to) {
        if (fused_rows_->possible()) {
            fused_rows_->forward(image, sizes_.planes, to);
            return;
        }
        core::launch(executor_, &pad_rows_kernel,
                     core::LaunchConfig(dim3(static_cast<unsigned>(sizes_.image_rows),
                                             static_cast<unsigned>(sizes_.planes)),
                                        dim3(spectra_threads)),
                     image.planes, image.grounds, sizes_.columns, padded_.data());
        transforms_->rows(padded_.data(), to);
    }
    void transform_rows_back(double* sums) {
        if (fused_rows_->possible()) {
            fused_rows_->back(products_.data(), sizes_.surfaces, lags_, sums);
            return;
        }
        transforms_->rows_back(products_.data(), surfaces_.data());
        core::launch(
            executor_, &copy_surfaces_kernel,
            core::LaunchConfig(dim3(static_cast<unsigned>(sizes_.lag_rows),
                                    signal::gpu::tiles_over(lags_.columns, spectra_threads),
                                    static_cast<unsigned>(sizes_.surfaces)),
                               dim3(spectra_threads)),
            static_cast<const float*>(surfaces_.data()), sizes_.columns, lags_, sums);
    }

    Executor& executor_;
    Problem problem_;
    TransformSizes sizes_{};
    RowLags lags_{};
    PlaneGroups groups_;
    std::unique_ptr<Transforms> transforms_;
    std::unique_ptr<RowTransforms<Executor>> fused_rows_;
    std::unique_ptr<ColumnCorrelation<Executor>> fused_columns_;
    core::Array<float, 1, Space> padded_;              ///< if fused_rows_ is not possible
    core::Array<Complex<float>, 1, Space> of_rows_;    ///< zeros in the rows below the image
    core::Array<Complex<float>, 1, Space> spectra_a_;  ///< allocated by the first run
    core::Array<Complex<float>, 1, Space> spectra_b_;  ///< of other images, or of their rows
    core::Array<Complex<float>, 1, Space> products_;
    core::Array<float, 1, Space> surfaces_;  ///< as padded_
    core::Array<Complex<float>, 1, Space> turns_;
};

}  // namespace aperture::corr::gpu
