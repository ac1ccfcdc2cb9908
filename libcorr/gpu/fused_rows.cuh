// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// FFTs along rows, with two real rows as the parts of a complex one, fused with the preparation of
// pixels and the extraction of displacements.

#include "libcore/gpu/block.cuh"
#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcorr/gpu/ground.cuh"
#include "libsignal/gpu/block_fft.cuh"

namespace aperture::corr::gpu {

using core::Complex;

inline constexpr int row_threads = 320;

struct FusedRows {
    signal::gpu::BlockFftPlan plan;
    const Complex<float>* twiddles;  ///< exp(-j 2 pi k / length)
};

/// Spectra [row][plane][frequency] of planes minus their ground, zero-padded along the rows. Block:
/// lanes of a pair of neighbouring rows, pairs. Grid: pairs, planes. Shared memory: length numbers
/// [sample] a pair. Moves 4 bytes a pixel and 8 a frequency; BlockFft has the flops.
inline __global__ void __launch_bounds__(row_threads, 3)
    transform_rows_kernel(const FusedRows task, const Planes<const float> image,
                          const PlaneGround* grounds, Complex<float>* spectra) {
    core::wait_for_previous_kernel();
    using Fft = signal::gpu::BlockFft<1>;
    const int length = task.plan.length;
    const int lane = static_cast<int>(threadIdx.x);
    const int pair = static_cast<int>(threadIdx.y);
    const int plane = static_cast<int>(blockIdx.y);
    const int y = 2 * (static_cast<int>(blockIdx.x * blockDim.y) + pair);
    Complex<float>* const buffer = core::shared<Complex<float>>() + pair * length;
    const Fft transform{task.plan, lane, task.twiddles, buffer};
    {
        const float ground = grounds[plane].ground;
        const float* const row = row_of(image, plane, y);
        const float* const below = row + image.stride[1];
        const int columns = y < rows_of(image) ? columns_of(image) : 0;
        const int columns_below = y + 1 < rows_of(image) ? columns_of(image) : 0;
        transform.run_to_buffer([=](int, int x) {
            return Complex<float>(x < columns ? row[x] - ground : 0.0F,
                                  x < columns_below ? below[x] - ground : 0.0F);
        });
    }
    // The even and the odd part are the spectra of the two real rows.
    const int frequencies = length / 2 + 1;
    const index_t pitch = index_t{gridDim.y} * frequencies;
    Complex<float>* const to = spectra + y * pitch + plane * frequencies;
    const int end = y < rows_of(image) ? frequencies : 0;
    const int end_below = y + 1 < rows_of(image) ? frequencies : 0;
    for (int k = lane; k < end; k += task.plan.lanes) {
        const Complex<float> value = buffer[k];
        const Complex<float> mirrored = core::conj(buffer[k == 0 ? 0 : length - k]);
        to[k] = 0.5F * (value + mirrored);
        if (k < end_below) {
            to[pitch + k] = 0.5F * signal::times_minus_j(value - mirrored);
        }
    }
}

/// Requested displacements along rows, the number of rows, and the factor of the sums.
struct RowLags {
    int rows;
    int first_column;
    int columns;
    double scale;
};

/// Rows of displacements [surface][dy][dx] from their spectra [dy][surface][frequency]. Block:
/// lanes of a pair of neighbouring rows, pairs. Grid: pairs, surfaces. Shared memory: length
/// numbers [sample] a pair. Moves 8 bytes a frequency and a displacement.
inline __global__ void __launch_bounds__(row_threads, 2)
    transform_rows_back_kernel(const FusedRows task, const Complex<float>* spectra,
                               const RowLags lags, double* sums) {
    core::wait_for_previous_kernel();
    using Fft = signal::gpu::BlockFft<1>;
    const int length = task.plan.length;
    const int lane = static_cast<int>(threadIdx.x);
    const int pair = static_cast<int>(threadIdx.y);
    const int surface = static_cast<int>(blockIdx.y);
    const int y = 2 * (static_cast<int>(blockIdx.x * blockDim.y) + pair);
    const bool there = y < lags.rows;
    const bool there_below = y + 1 < lags.rows;
    const int frequencies = length / 2 + 1;
    const index_t pitch = index_t{gridDim.y} * frequencies;
    const Complex<float>* const row = spectra + y * pitch + surface * frequencies;
    const Complex<float>* const below = row + pitch;
    double* const to = sums + (index_t{surface} * lags.rows + y) * lags.columns;
    // Exchanging real and imaginary parts makes this the inverse transform.
    const Fft transform{task.plan, lane, task.twiddles,
                        core::shared<Complex<float>>() + pair * length};
    transform.run(
        [=](int, int k) {
            // Clears rounding errors of numbers that are real by definition: they would leak to the
            // other row.
            const float sign = k == 0 || 2 * k == length ? 0.0F : 2 * k < length ? 1.0F : -1.0F;
            const int at = min(k, length - k);
            const Complex<float> a = there ? row[at] : Complex<float>(0.0F, 0.0F);
            const Complex<float> b = there_below ? below[at] : Complex<float>(0.0F, 0.0F);
            return Complex<float>(sign * a.im + b.re, a.re - sign * b.im);
        },
        [=](int, int x, Complex<float> value) {
            const int dx = x - lags.first_column;
            const int column = dx < length ? dx : dx - length;
            if (column >= lags.columns) return;
            if (there) to[column] = lags.scale * static_cast<double>(value.im);
            if (there_below) to[lags.columns + column] = lags.scale * static_cast<double>(value.re);
        });
}

/// Transforms rows, if their length allows it.
template <class Executor>
class RowTransforms {
    using Space = typename Executor::Space;

  public:
    RowTransforms(Executor& executor, int length) : executor_(executor) {
        const auto plan = signal::gpu::block_fft_plan(length);
        if (!plan) return;
        possible_ = plan->lanes <= row_threads &&
                    shared_bytes(length) <= executor.shared_memory_per_block();
        if (!possible_) return;
        twiddles_ = signal::gpu::roots_of_unity(executor, length, length - 1);
        task_ = {*plan, twiddles_.data()};
    }

    bool possible() const { return possible_; }

    /// Planes to spectra [row][plane][frequency]. Asynchronous.
    void forward(const GroundedPlanes& image, int planes, Complex<float>* spectra) {
        core::launch(executor_, &transform_rows_kernel, config(rows_of(image.planes), planes),
                     task_, image.planes, image.grounds, spectra);
    }
    /// Spectra [dy][surface][frequency] to sums [surface][dy][dx]. Asynchronous.
    void back(const Complex<float>* spectra, int surfaces, const RowLags& lags, double* sums) {
        core::launch(executor_, &transform_rows_back_kernel, config(lags.rows, surfaces), task_,
                     spectra, lags, sums);
    }

  private:
    static int shared_bytes(int samples) { return samples * int{sizeof(Complex<float>)}; }
    core::LaunchConfig config(int rows, int planes) const {
        const int of_all = (rows + 1) / 2;
        const int room = executor_.shared_memory_per_block() / shared_bytes(task_.plan.length);
        const int pairs = std::min({row_threads / task_.plan.lanes, of_all, room});
        return core::LaunchConfig(
                   dim3(signal::gpu::tiles_over(of_all, pairs), static_cast<unsigned>(planes)),
                   dim3(static_cast<unsigned>(task_.plan.lanes), static_cast<unsigned>(pairs)),
                   static_cast<std::size_t>(shared_bytes(pairs * task_.plan.length)))
            .early();
    }

    Executor& executor_;
    bool possible_ = false;
    core::Array<Complex<float>, 1, Space> twiddles_;
    FusedRows task_{};
};

}  // namespace aperture::corr::gpu
