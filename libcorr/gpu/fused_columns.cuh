// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// FFTs along columns, sums of products over the planes of an image and inverse FFTs, in one kernel.

#include <limits>

#include "libcore/gpu/block.cuh"
#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcorr/gpu/plane_groups.hpp"
#include "libsignal/gpu/block_fft.cuh"
#include "libsignal/gpu/planes.cuh"

namespace aperture::corr::gpu {

using core::Complex;
using core::index_t;

/// Neighbouring columns of a block.
inline constexpr int fused_columns = 4;

struct FusedColumns {
    signal::gpu::BlockFftPlan forward;
    signal::gpu::BlockFftPlan back;  ///< the same passes from last to first
    const Complex<float>* twiddles;  ///< exp(-j 2 pi k / length)
    const Complex<float>* turns;     ///< a factor for each row of the spectra
    int image_rows;
    int lag_rows;
    int planes;
    int frequencies;
    unsigned pitch;           ///< complex numbers of a row of the spectra, of all images
    unsigned products_pitch;  ///< of a row of the products
    int sums;                 ///< of a thread
};

/// sum A conj(B) over the planes of an image. `a` and `b` are transformed along rows,
/// [row][image][plane][frequency], with image_rows rows, zero-padded down the columns. The result
/// is [dy][image][frequency] with lag_rows rows, still transformed along rows. Same: b is a. Block:
/// fused_columns frequencies of an image, block_fft_samples a thread at once, at most Threads.
/// Grid: frequencies, images. Shared memory: length x fused_columns numbers [row][frequency], twice
/// unless Same; and sums [sum][thread], each for the thread that starts with it on the way back.
/// Registers for them would reduce the block by a third of its threads. Moves 8 bytes a frequency
/// of an existing row, of each plane and of the result; BlockFft has the flops.
template <int Threads, int Blocks, bool Same>
__global__ void __launch_bounds__(Threads, Blocks)
    fused_columns_kernel(const FusedColumns task, const Complex<float>* a, const Complex<float>* b,
                         Complex<float>* products) {
    core::wait_for_previous_kernel();
    using Fft = signal::gpu::BlockFft<fused_columns>;
    using Sum = typename core::Conditional<Same, float, Complex<float>>::Type;
    const int column = static_cast<int>(threadIdx.x);
    const int lane = static_cast<int>(threadIdx.y);
    auto* const buffer = core::shared<Complex<float>>() + column;
    Complex<float>* const of_a = buffer + task.forward.length * fused_columns;
    const Fft forward{task.forward, lane, task.twiddles, buffer};
    const Fft back{task.back, lane, task.twiddles, buffer};
    const int frequency = static_cast<int>(blockIdx.x) * fused_columns + column;
    const auto image = static_cast<int>(blockIdx.y);
    auto* const sums =
        reinterpret_cast<Sum*>(core::shared<Complex<float>>() +
                               (Same ? 1 : 2) * task.forward.length * fused_columns) +
        lane * fused_columns + column;
    for (int i = 0; i < task.sums; ++i) sums[i * Threads] = {};

    const auto rows_of = [&](const Complex<float>* spectra, int plane) {
        const Complex<float>* const from =
            spectra + (image * task.planes + plane) * task.frequencies + frequency;
        const int rows = frequency < task.frequencies ? task.image_rows : 0;
        return [=, &task](int, int row) {
            return row < rows ? from[static_cast<unsigned>(row) * task.pitch]
                              : Complex<float>(0.0F, 0.0F);
        };
    };
    APERTURE_NO_UNROLL
    for (int p = 0; p < task.planes; ++p) {
        if constexpr (Same) {
            forward.run(rows_of(a, p), [&](int i, int, Complex<float> value) {
                sums[i * Threads] = core::add_norm(sums[i * Threads], value);
            });
        } else {
            forward.run(rows_of(a, p), [&](int, int row, Complex<float> value) {
                of_a[row * fused_columns] = value;
            });
            forward.run(rows_of(b, p), [&](int i, int row, Complex<float> value) {
                sums[i * Threads] =
                    core::multiply_add_conj(sums[i * Threads], of_a[row * fused_columns], value);
            });
        }
    }
    // Exchanging real and imaginary parts makes this the inverse transform.
    const int lag_rows = frequency < task.frequencies ? task.lag_rows : 0;
    Complex<float>* const to = products + image * task.frequencies + frequency;
    back.run(
        [&](int i, int row) {
            const Complex<float> turned = task.turns[row] * sums[i * Threads];
            return Complex<float>(turned.im, turned.re);
        },
        [&](int, int row, Complex<float> value) {
            if (row < lag_rows) {
                to[static_cast<unsigned>(row) * task.products_pitch] = {value.im, value.re};
            }
        });
}

/// Correlates the columns of several images at once, if their length allows it.
template <class Executor>
class ColumnCorrelation {
    using Space = typename Executor::Space;
    using Fft = signal::gpu::BlockFft<fused_columns>;

  public:
    /// For planes that are summed, a surface for each image. `turns`: a factor for each row of the
    /// spectra.
    ColumnCorrelation(Executor& executor, const TransformSizes& sizes, const Complex<float>* turns)
        : executor_(executor), images_(sizes.surfaces) {
        const auto plan = signal::gpu::block_fft_plan(sizes.rows);
        if (!plan) return;
        threads_ = plan->lanes * fused_columns;
        const int last_radix = plan->pass[plan->passes - 1].radix;
        const int sums = Fft::butterflies(last_radix) * last_radix;
        // Indices of spectra are 32 bits wide.
        const index_t pitch = index_t{sizes.planes} * sizes.frequencies();
        possible_ = sizes.rows * pitch <= std::numeric_limits<int>::max() &&
                    threads_ <= max_threads &&
                    shared_bytes(sizes.rows, sums, false) <= executor.shared_memory_per_block();
        if (!possible_) return;
        twiddles_ = signal::gpu::roots_of_unity(executor, sizes.rows, sizes.rows - 1);
        task_ = {*plan,
                 signal::gpu::reversed(*plan),
                 twiddles_.data(),
                 turns,
                 sizes.image_rows,
                 sizes.lag_rows,
                 sizes.planes / sizes.surfaces,
                 sizes.frequencies(),
                 static_cast<unsigned>(pitch),
                 static_cast<unsigned>(sizes.surfaces * sizes.frequencies()),
                 sums};
    }

    bool possible() const { return possible_; }

    /// Asynchronous.
    void run(const Complex<float>* a, const Complex<float>* b, Complex<float>* products) {
        const bool same = a == b;
        const auto kernel = threads_ > few_threads
                                ? same ? &fused_columns_kernel<max_threads, 1, true>
                                       : &fused_columns_kernel<max_threads, 1, false>
                            : same ? &fused_columns_kernel<few_threads, 3, true>
                                   : &fused_columns_kernel<few_threads, 2, false>;
        core::launch(
            executor_, kernel,
            core::LaunchConfig(
                dim3(signal::gpu::tiles_over(task_.frequencies, fused_columns),
                     static_cast<unsigned>(images_)),
                dim3(fused_columns, static_cast<unsigned>(task_.forward.lanes)),
                static_cast<std::size_t>(shared_bytes(task_.forward.length, task_.sums, same)))
                .early(),
            task_, a, b, products);
    }

  private:
    static constexpr int few_threads = 320;
    static constexpr int max_threads = 640;

    int shared_bytes(int rows, int sums, bool same) const {
        const int numbers = rows * fused_columns * int{sizeof(Complex<float>)};
        const int of_thread = sums * int{sizeof(float)};
        const int threads = threads_ > few_threads ? max_threads : few_threads;
        return (same ? 1 : 2) * (numbers + of_thread * threads);
    }

    Executor& executor_;
    int images_;
    int threads_ = 0;
    bool possible_ = false;
    core::Array<Complex<float>, 1, Space> twiddles_;
    FusedColumns task_{};
};

}  // namespace aperture::corr::gpu
