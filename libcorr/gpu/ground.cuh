// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Means that are a large part of a plane's values: subtracted before the sums of products, and
// their contribution. The same as libcorr/cpu/ground.*.

#include "libcore/gpu/block.cuh"
#include "libsignal/gpu/planes.cuh"

#if !defined(__CUDACC_RTC__)
#include "aperture/corr/lags.hpp"
#endif

namespace aperture::corr::gpu {

using core::index_t;
using signal::gpu::columns_of;
using signal::gpu::Planes;
using signal::gpu::row_of;
using signal::gpu::rows_of;

/// The mean that is subtracted from a plane, and the RMS of the remainder. The RMS is overestimated
/// if it is a difference of nearly equal numbers.
struct PlaneGround {
    float ground;
    float contrast;
};

/// Sum and sum of squares of a part of a plane.
struct PartialSums {
    double sum;
    double squares;
};

inline constexpr int ground_warps = 8;
inline constexpr int ground_parts = 32;

/// Sums of a part of a plane's rows. A warp for every Warps-th row; a lane sums its values of a row
/// in float, rows in double. Grid: ground_parts, planes. 4 bytes moved and 3 flops a pixel.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    plane_sums_kernel(Planes<const float> image, PartialSums* sums) {
    core::wait_for_previous_kernel();
    const int part = static_cast<int>(blockIdx.x);
    const int plane = static_cast<int>(blockIdx.y);
    const int begin = static_cast<int>(index_t{rows_of(image)} * part / ground_parts);
    const int end = static_cast<int>(index_t{rows_of(image)} * (part + 1) / ground_parts);
    double sum = 0;
    double squares = 0;
    for (int y = begin + core::warp_rank(); y < end; y += Warps) {
        const float* const row = row_of(image, plane, y);
        float row_sum = 0;
        float row_squares = 0;
        constexpr int together = 8;
        for (int first = 0; first < columns_of(image); first += together * core::warp_size) {
            float values[together];
            APERTURE_UNROLL
            for (int i = 0; i < together; ++i) {
                const int x = first + i * core::warp_size + core::lane_rank();
                values[i] = x < columns_of(image) ? row[x] : 0.0F;
            }
            APERTURE_UNROLL
            for (int i = 0; i < together; ++i) {
                row_sum += values[i];
                row_squares += values[i] * values[i];
            }
        }
        sum += static_cast<double>(row_sum);
        squares += static_cast<double>(row_squares);
    }
    auto* const of_warps = core::shared<double>();
    sum = core::block_reduce(sum, of_warps);
    squares = core::block_reduce(squares, of_warps);
    if (threadIdx.x == 0) sums[plane * ground_parts + part] = {sum, squares};
}

/// Grounds of planes, a warp for each: zero if the mean costs no accuracy, otherwise the mean to
/// ten bits, so that subtracting it from most values is exact.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    find_ground_kernel(const PartialSums* sums, double pixels, PlaneGround* grounds) {
    core::wait_for_previous_kernel();
    static_assert(Threads == core::warp_size && ground_parts == core::warp_size);
    const int plane = static_cast<int>(blockIdx.x);
    const PartialSums part = sums[plane * ground_parts + static_cast<int>(threadIdx.x)];
    const double mean = core::warp_reduce(part.sum) / pixels;
    const double mean_square = core::warp_reduce(part.squares) / pixels;
    if (threadIdx.x != 0) return;
    double ground = 0;
    double unsure = 0;
    if (fabs(mean) > 0.5 * sqrt(mean_square)) {
        int exponent = 0;
        const double mantissa = frexp(mean, &exponent);
        ground = ldexp(rint(ldexp(mantissa, 10)), exponent - 10);
        unsure = 0x1p-12 * mean_square;
    }
    const double left = mean_square - ground * (2 * mean - ground);
    grounds[plane] = {static_cast<float>(ground),
                      static_cast<float>(sqrt((left < 0 ? 0.0 : left) + unsure))};
}

/// Summed-area tables of planes minus their ground: sums of all pixels above and left of a corner,
/// [plane][row][column] of rows + 1 x columns + 1 corners.
struct SummedAreas {
    double* above;
    int rows;  ///< of corners
    int columns;

    __device__ __forceinline__ double* row(int plane, int y) const {
        return above + (index_t{plane} * rows + y) * columns;
    }
    __device__ __forceinline__ double sum(int plane, int top, int bottom, int left,
                                          int right) const {
        return (row(plane, bottom)[right] - row(plane, top)[right]) -
               (row(plane, bottom)[left] - row(plane, top)[left]);
    }
};

inline constexpr int rows_of_warp = 8;

/// Prefix sums along rows, each stored right and below of its pixel. Skipped if `other`, the ground
/// that would multiply them, is zero. A warp for a row at a time: 32 pixels a step by a scan. Grid:
/// rows_of_warp rows for each warp, planes. 12 bytes moved a pixel.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    sum_rows_kernel(Planes<const float> image, const PlaneGround* own, const PlaneGround* other,
                    SummedAreas areas) {
    core::wait_for_previous_kernel();
    const int plane = static_cast<int>(blockIdx.y);
    if (other[plane].ground == 0) return;
    const auto ground = static_cast<double>(own[plane].ground);
    const int begin = static_cast<int>(blockIdx.x) * Warps * rows_of_warp + core::warp_rank();
    for (int y = begin; y < min(begin + Warps * rows_of_warp, rows_of(image)); y += Warps) {
        double* const to = areas.row(plane, y + 1);
        double before = 0;
        for (int first = 0; first < columns_of(image); first += core::warp_size) {
            const int x = first + core::lane_rank();
            double sum =
                x < columns_of(image) ? static_cast<double>(image(plane, y, x)) - ground : 0.0;
            APERTURE_UNROLL
            for (int distance = 1; distance < core::warp_size; distance *= 2) {
                const double left = __shfl_up_sync(core::full_warp, sum, distance);
                if (core::lane_rank() >= distance) sum += left;
            }
            sum += before;
            if (x < columns_of(image)) to[x + 1] = sum;
            before = core::broadcast(sum, core::warp_size - 1);
        }
    }
}

/// Prefix sums of these down the columns, and zeros in the first row and column. A thread for a
/// column. Grid: columns, planes. 16 bytes moved a pixel.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    sum_columns_kernel(const PlaneGround* other, SummedAreas areas) {
    core::wait_for_previous_kernel();
    const int plane = static_cast<int>(blockIdx.y);
    const int x = static_cast<int>(blockIdx.x) * Threads + static_cast<int>(threadIdx.x);
    if (other[plane].ground == 0 || x >= areas.columns) return;
    double* const column = areas.row(plane, 0) + x;
    double sum = 0;
    column[0] = 0;
    APERTURE_UNROLL_BY(8)
    for (int y = 1; y < areas.rows; ++y) {
        double& entry = column[index_t{y} * areas.columns];
        if (x > 0) sum += entry;
        entry = sum;
    }
}

/// Contribution of grounds to sums of products: with A = A' + g and B = B' + h, sum A B is sum A'
/// B' + g sum B' + h sum A' + N g h over the N pixels that overlap. One call adds the other image's
/// grounds times the sums over one image without its own: for A, which displacements lead to, for
/// B, or for both if they are one image. The last term is added with A's.
struct GroundTerm {
    SummedAreas areas;
    bool of_a;
    bool of_b;
    int planes;       ///< of an image
    bool each_plane;  ///< a surface for each instead of one
    int first_row;    ///< displacement of a surface's first entry
    int first_column;
    int lag_rows;
    int lag_columns;
};

/// A thread for an entry of a surface. Grid: entries, images. 16 bytes moved an entry, and four
/// numbers of a table a plane and image.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    add_ground_kernel(GroundTerm term, const PlaneGround* own, const PlaneGround* other,
                      double* sums) {
    core::wait_for_previous_kernel();
    const int entry = static_cast<int>(blockIdx.x) * Threads + static_cast<int>(threadIdx.x);
    const int entries = term.lag_rows * term.lag_columns;
    const int image = static_cast<int>(blockIdx.y);
    if (entry >= entries) return;
    for (int p = 0; p < term.planes; ++p) {
        const int plane = image * term.planes + p;
        const auto factor = static_cast<double>(other[plane].ground);
        if (factor == 0) continue;
        const int dy = term.first_row + entry / term.lag_columns;
        const int dx = term.first_column + entry % term.lag_columns;
        const int rows = term.areas.rows - 1 - abs(dy);
        const int columns = term.areas.columns - 1 - abs(dx);
        const auto sum_from = [&](int top, int left) {
            return term.areas.sum(plane, max(top, 0), max(top, 0) + rows, max(left, 0),
                                  max(left, 0) + columns);
        };
        double sum = 0;
        if (term.of_a) {
            sum = sum_from(dy, dx) + static_cast<double>(own[plane].ground) *
                                         (static_cast<double>(rows) * static_cast<double>(columns));
        }
        if (term.of_b) sum += sum_from(-dy, -dx);
        sums[index_t{term.each_plane ? plane : image} * entries + entry] += factor * sum;
    }
}

#if !defined(__CUDACC_RTC__)

inline Planes<const float> from_plane(const Planes<const float>& planes, index_t first) {
    return planes.slice(0, first, planes.extent[0]);
}

/// Computes the grounds of `planes` planes; `sums` has ground_parts entries a plane. Asynchronous.
template <class Executor>
void find_grounds(Executor& executor, const Planes<const float>& image, int planes,
                  PartialSums* sums, PlaneGround* grounds) {
    const auto count = static_cast<unsigned>(planes);
    core::launch(executor, &plane_sums_kernel<ground_warps>,
                 core::LaunchConfig(dim3(ground_parts, count), dim3(ground_warps * core::warp_size),
                                    ground_warps * sizeof(double))
                     .early(),
                 image, sums);
    core::launch(executor, &find_ground_kernel<core::warp_size>,
                 core::LaunchConfig(dim3(count), dim3(core::warp_size)).early(), sums,
                 double(rows_of(image)) * double(columns_of(image)), grounds);
}

/// Computes the summed-area tables of `planes` planes. Asynchronous.
template <class Executor>
void sum_areas(Executor& executor, const Planes<const float>& image, int planes,
               const PlaneGround* own, const PlaneGround* other, const SummedAreas& areas) {
    constexpr int warps = 4;
    constexpr int threads = 64;
    const auto count = static_cast<unsigned>(planes);
    core::launch(executor, &sum_rows_kernel<warps>,
                 core::LaunchConfig(
                     dim3(signal::gpu::tiles_over(rows_of(image), warps * rows_of_warp), count),
                     dim3(warps * core::warp_size))
                     .early(),
                 image, own, other, areas);
    core::launch(executor, &sum_columns_kernel<threads>,
                 core::LaunchConfig(dim3(signal::gpu::tiles_over(areas.columns, threads), count),
                                    dim3(threads))
                     .early(),
                 other, areas);
}

/// Asynchronous.
template <class Executor>
void add_ground(Executor& executor, const GroundTerm& term, int images, const PlaneGround* own,
                const PlaneGround* other, double* sums) {
    constexpr int threads = 256;
    core::launch(
        executor, &add_ground_kernel<threads>,
        core::LaunchConfig(dim3(signal::gpu::tiles_over(term.lag_rows * term.lag_columns, threads),
                                static_cast<unsigned>(images)),
                           dim3(threads))
            .early(),
        term, own, other, sums);
}

#endif

}  // namespace aperture::corr::gpu
