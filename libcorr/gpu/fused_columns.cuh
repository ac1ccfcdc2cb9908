// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Transforms along columns, sums of products over the planes of an image and transforms back, in
// one kernel.

#include "libcore/gpu/complex.cuh"
#include "libsignal/gpu/block_fft.cuh"

#if !defined(__CUDACC_RTC__)
#include <limits>

#include "libcore/gpu/launch.cuh"
#include "libcorr/gpu/plane_groups.hpp"
#include "libsignal/gpu/planes.cuh"
#endif

namespace aperture::corr::gpu {

using core::Complex;
using core::index_t;

/// Neighbouring columns of a block, and samples of a thread.
inline constexpr int fused_columns = 4;
inline constexpr int fused_samples = 16;

struct FusedColumns {
    signal::gpu::BlockFftPlan forward;
    signal::gpu::BlockFftPlan back;  ///< the same passes from last to first
    const Complex<float>* twiddles;  ///< exp(-j 2 pi k / length)
    const Complex<float>* turns;     ///< a factor for each row of the spectra
    int image_rows;
    int lag_rows;
    int planes;
    int frequencies;
};

/// sum A conj(B) over the planes of an image: `a` and `b` transformed along rows,
/// [row][image][plane][frequency], image_rows of them and zeros behind; to [dy][image][frequency],
/// lag_rows of them, transformed along rows still. Same: b is a. Block: fused_columns frequencies
/// of an image, fused_samples samples a thread at a time, at most Threads. Grid: frequencies,
/// images. Sums stay in the registers of the thread that begins with them on the way back. Shared
/// memory: length x fused_columns numbers [row][frequency], twice where there is a B. Moves 8 bytes
/// a frequency of a row that is there, of each plane and of the result; BlockFft has the flops.
template <int Threads, int Blocks, bool Same>
__global__ void __launch_bounds__(Threads, Blocks)
    fused_columns_kernel(const FusedColumns task, const Complex<float>* a, const Complex<float>* b,
                         Complex<float>* products) {
    using Fft = signal::gpu::BlockFft<fused_columns, fused_samples>;
    using Sum = typename core::Conditional<Same, float, Complex<float>>::Type;
    const int column = core::thread_rank() % fused_columns;
    const int lane = core::thread_rank() / fused_columns;
    auto* const buffer = core::shared<Complex<float>>() + column;
    Complex<float>* const of_a = buffer + task.forward.length * fused_columns;
    const int frequency = static_cast<int>(blockIdx.x) * fused_columns + column;
    const bool there = frequency < task.frequencies;
    const int image_rows = there ? task.image_rows : 0;
    const int lag_rows = there ? task.lag_rows : 0;
    const auto image = static_cast<int>(blockIdx.y);
    const auto images = static_cast<unsigned>(gridDim.y);
    const auto of_row = images * static_cast<unsigned>(task.frequencies);
    const auto pitch = of_row * static_cast<unsigned>(task.planes);
    Sum sums[fused_samples] = {};

    const auto rows_of = [&](const Complex<float>* spectra, int plane) {
        const Complex<float>* const from =
            spectra + (image * task.planes + plane) * task.frequencies + frequency;
        return [=](int, int row) {
            return row < image_rows ? from[static_cast<unsigned>(row) * pitch]
                                    : Complex<float>(0.0F, 0.0F);
        };
    };
    APERTURE_NO_UNROLL
    for (int p = 0; p < task.planes; ++p) {
        if constexpr (Same) {
            Fft::run(task.forward, lane, task.twiddles, buffer, rows_of(a, p),
                     [&](int i, int, Complex<float> value) {
                         sums[i] = core::add_norm(sums[i], value);
                     });
        } else {
            Fft::run(
                task.forward, lane, task.twiddles, buffer, rows_of(a, p),
                [&](int, int row, Complex<float> value) { of_a[row * fused_columns] = value; });
            Fft::run(task.forward, lane, task.twiddles, buffer, rows_of(b, p),
                     [&](int i, int row, Complex<float> value) {
                         sums[i] =
                             core::multiply_add_conj(sums[i], of_a[row * fused_columns], value);
                     });
        }
    }
    // Real and imaginary parts change places: the transform the other way.
    Complex<float>* const to = products + image * task.frequencies + frequency;
    Fft::run(
        task.back, lane, task.twiddles, buffer,
        [&](int i, int row) {
            const Complex<float> turned = task.turns[row] * sums[i];
            return Complex<float>(turned.im, turned.re);
        },
        [&](int, int row, Complex<float> value) {
            if (row < lag_rows) to[static_cast<unsigned>(row) * of_row] = {value.im, value.re};
        });
}

#if !defined(__CUDACC_RTC__)

/// What works on the columns of some images at once, where their length allows it.
template <class Executor>
class ColumnCorrelation {
    using Space = typename Executor::Space;

  public:
    /// `rows`: length of the columns' transforms.
    ColumnCorrelation(Executor& executor, int rows, int image_rows, int lag_rows, index_t images,
                      index_t planes, int frequencies)
        : executor_(executor), images_(images) {
        const auto plan = signal::gpu::block_fft_plan<fused_samples>(rows);
        if (!plan) return;
        threads_ = plan->lanes * fused_columns;
        // Numbers of a row's sample and of a column's are 32 bits wide.
        const bool narrow =
            index_t{rows} * images * planes * frequencies <= std::numeric_limits<int>::max();
        possible_ = narrow && threads_ <= most_threads &&
                    shared_bytes(rows, 2) <= executor.shared_memory_per_block();
        if (!possible_) return;
        twiddles_ = signal::gpu::roots_of_unity(executor, rows, rows - 1);
        task_.forward = *plan;
        task_.back = signal::gpu::reversed<fused_samples>(*plan);
        task_.twiddles = twiddles_.data();
        task_.image_rows = image_rows;
        task_.lag_rows = lag_rows;
        task_.planes = static_cast<int>(planes);
        task_.frequencies = frequencies;
    }

    bool possible() const { return possible_; }

    /// Asynchronous.
    void run(const Complex<float>* a, const Complex<float>* b, const Complex<float>* turns,
             Complex<float>* products) {
        task_.turns = turns;
        const bool same = a == b;
        if (threads_ <= few_threads) {
            launch(same ? &fused_columns_kernel<few_threads, 2, true>
                        : &fused_columns_kernel<few_threads, 2, false>,
                   same, a, b, products);
        } else {
            launch(same ? &fused_columns_kernel<most_threads, 1, true>
                        : &fused_columns_kernel<most_threads, 1, false>,
                   same, a, b, products);
        }
    }

  private:
    static constexpr int few_threads = 320;
    static constexpr int most_threads = 640;

    static int shared_bytes(int rows, int buffers) {
        return buffers * rows * fused_columns * int{sizeof(Complex<float>)};
    }
    template <class Kernel>
    void launch(Kernel kernel, bool same, const Complex<float>* a, const Complex<float>* b,
                Complex<float>* products) {
        core::launch(
            executor_, kernel,
            core::LaunchConfig(
                dim3(signal::gpu::tiles_over(task_.frequencies, fused_columns),
                     static_cast<unsigned>(images_)),
                dim3(static_cast<unsigned>(threads_)),
                static_cast<std::size_t>(shared_bytes(task_.forward.length, same ? 1 : 2))),
            task_, a, b, products);
    }

    Executor& executor_;
    index_t images_;
    int threads_ = 0;
    bool possible_ = false;
    core::Array<Complex<float>, 1, Space> twiddles_;
    FusedColumns task_{};
};

#endif

}  // namespace aperture::corr::gpu
