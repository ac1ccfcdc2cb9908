// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Means that are a large part of a plane's values: subtracted before the sums of products, and
// their contribution. The same as libcorr/cpu/ground.hpp.

#include "libcore/gpu/block.cuh"
#include "libcorr/gpu/plane_groups.hpp"
#include "libcorr/sum_formulas.hpp"
#include "libsignal/gpu/planes.cuh"
#include "libsignal/gpu/summed_area.cuh"

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

/// Planes of one image or several, and their grounds.
struct GroundedPlanes {
    Planes<const float> planes;
    const PlaneGround* grounds;

    /// The planes from `plane` on.
    GroundedPlanes from(index_t plane) const {
        return {planes.slice(0, plane, planes.extent[0]), grounds + plane};
    }
    bool same_as(const GroundedPlanes& other) const { return grounds == other.grounds; }
};

/// Sum and sum of squares of a part of a plane.
struct PartialSums {
    double sum;
    double squares;
};

inline constexpr int ground_warps = 8;
inline constexpr int ground_parts = core::warp_size;

/// Sums of a part of a plane's rows. A warp for every ground_warps-th row; a lane sums its values
/// of a row in float, rows in double. Grid: ground_parts, planes. 4 bytes moved and 3 flops a
/// pixel.
inline __global__ void __launch_bounds__(ground_warps* core::warp_size)
    plane_sums_kernel(Planes<const float> image, PartialSums* sums) {
    core::wait_for_previous_kernel();
    const int part = static_cast<int>(blockIdx.x);
    const int plane = static_cast<int>(blockIdx.y);
    const int begin = static_cast<int>(index_t{rows_of(image)} * part / ground_parts);
    const int end = static_cast<int>(index_t{rows_of(image)} * (part + 1) / ground_parts);
    double sum = 0;
    double squares = 0;
    for (int y = begin + core::warp_rank(); y < end; y += ground_warps) {
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

/// Grounds of planes, a warp for each.
inline __global__ void __launch_bounds__(core::warp_size)
    find_ground_kernel(const PartialSums* sums, double pixels, PlaneGround* grounds) {
    core::wait_for_previous_kernel();
    const int plane = static_cast<int>(blockIdx.x);
    const PartialSums part = sums[plane * ground_parts + static_cast<int>(threadIdx.x)];
    const double mean = core::warp_reduce(part.sum) / pixels;
    const double mean_square = core::warp_reduce(part.squares) / pixels;
    if (threadIdx.x != 0) return;
    const double ground = ground_of(mean, mean_square);
    const double unsure = ground == 0 ? 0.0 : 0x1p-12 * mean_square;
    grounds[plane] = {static_cast<float>(ground),
                      static_cast<float>(sqrt(rest_square(mean, mean_square, ground) + unsure))};
}

/// Values for summed-area tables of planes minus their ground, where another image's ground
/// multiplies them.
struct AboveGround {
    const PlaneGround* own;
    const PlaneGround* other;

    __device__ __forceinline__ bool wanted(int plane) const { return other[plane].ground != 0; }
    __device__ __forceinline__ double operator()(int plane, float value) const {
        return static_cast<double>(value) - static_cast<double>(own[plane].ground);
    }
};

/// Contribution of grounds to sums of products: with A = A' + g and B = B' + h, sum A B is sum A'
/// B' + g sum B' + h sum A' + N g h over the N pixels that overlap. One call adds the other image's
/// grounds times the sums over one image without its own: for A, which displacements lead to, for
/// B, or for both if they are one image. The last term is added with A's.
struct GroundTerm {
    Planes<const double> areas;
    bool of_a;
    bool of_b;
    int planes;       ///< of an image
    bool each_plane;  ///< a surface for each instead of one
    int first_row;    ///< displacement of a surface's first entry
    int first_column;
    int lag_rows;
    int lag_columns;
};

inline constexpr int ground_entries = 256;

/// A thread for an entry of a surface. Grid: entries, images. 16 bytes moved an entry, and four
/// numbers of a table a plane and image.
inline __global__ void __launch_bounds__(ground_entries)
    add_ground_kernel(GroundTerm term, const PlaneGround* own, const PlaneGround* other,
                      double* sums) {
    core::wait_for_previous_kernel();
    const int entry = static_cast<int>(blockIdx.x) * ground_entries + static_cast<int>(threadIdx.x);
    const int entries = term.lag_rows * term.lag_columns;
    const int image = static_cast<int>(blockIdx.y);
    if (entry >= entries) return;
    for (int p = 0; p < term.planes; ++p) {
        const int plane = image * term.planes + p;
        const auto factor = static_cast<double>(other[plane].ground);
        if (factor == 0) continue;
        const int dy = term.first_row + entry / term.lag_columns;
        const int dx = term.first_column + entry % term.lag_columns;
        const int rows = rows_of(term.areas) - 1 - abs(dy);
        const int columns = columns_of(term.areas) - 1 - abs(dx);
        const auto sum_from = [&](int top, int left) {
            return signal::gpu::area_sum(term.areas, plane, max(top, 0), max(top, 0) + rows,
                                         max(left, 0), max(left, 0) + columns);
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

/// Grounds of the planes of all images of a problem, and their contribution to sums of products.
template <class Executor>
class GroundSums {
    using Space = typename Executor::Space;

  public:
    GroundSums(Executor& executor, const Problem& problem)
        : executor_(executor),
          problem_(problem),
          partial_sums_({planes() * ground_parts}),
          groups_(problem, corners() * index_t{sizeof(double)}, max_bytes),
          areas_({corners() * groups_.images * groups_.planes}) {}

    /// Asynchronous.
    void find(const Planes<const float>& image, PlaneGround* grounds) {
        const auto count = static_cast<unsigned>(planes());
        core::launch(
            executor_, &plane_sums_kernel,
            core::LaunchConfig(dim3(ground_parts, count), dim3(ground_warps * core::warp_size),
                               ground_warps * sizeof(double))
                .early(),
            image, partial_sums_.data());
        core::launch(executor_, &find_ground_kernel,
                     core::LaunchConfig(dim3(count), dim3(core::warp_size)).early(),
                     partial_sums_.data(), double(rows_of(image)) * double(columns_of(image)),
                     grounds);
    }

    /// Adds the grounds' contribution to `sums`, in Correlator's layout. Asynchronous.
    void add(const GroundedPlanes& a, const GroundedPlanes& b, double* sums) {
        const Shape extent = problem_.lags.extent();
        const bool same = a.same_as(b);
        for (index_t image = 0; image < problem_.images; image += groups_.images) {
            const auto images = static_cast<int>(std::min(groups_.images, problem_.images - image));
            for (index_t p = 0; p < problem_.planes; p += groups_.planes) {
                const index_t plane = image * problem_.planes + p;
                const index_t surface = image * problem_.surfaces() + (problem_.each_plane ? p : 0);
                double* const to = sums + surface * extent.rows * extent.columns;
                add_side(a.from(plane), b.grounds + plane, images, true, same, to);
                if (!same) add_side(b.from(plane), a.grounds + plane, images, false, true, to);
            }
        }
    }

  private:
    static constexpr index_t max_bytes = index_t{256} << 20;

    index_t planes() const { return problem_.images * problem_.planes; }
    index_t corners() const { return (problem_.image.rows + 1) * (problem_.image.columns + 1); }

    void add_side(const GroundedPlanes& own, const PlaneGround* other, int images, bool of_a,
                  bool of_b, double* sums) {
        const Lags& lags = problem_.lags;
        const Planes<double> areas(areas_.data(), {images * groups_.planes, problem_.image.rows + 1,
                                                   problem_.image.columns + 1});
        const GroundTerm term{areas,
                              of_a,
                              of_b,
                              static_cast<int>(groups_.planes),
                              problem_.each_plane,
                              static_cast<int>(lags.first_row()),
                              static_cast<int>(lags.first_column()),
                              static_cast<int>(lags.extent().rows),
                              static_cast<int>(lags.extent().columns)};
        const int count = images * term.planes;
        signal::gpu::sum_areas(executor_, count, own.planes, AboveGround{own.grounds, other},
                               areas);
        const int entries = term.lag_rows * term.lag_columns;
        core::launch(executor_, &add_ground_kernel,
                     core::LaunchConfig(dim3(signal::gpu::tiles_over(entries, ground_entries),
                                             static_cast<unsigned>(images)),
                                        dim3(ground_entries))
                         .early(),
                     term, own.grounds, other, sums);
    }

    Executor& executor_;
    Problem problem_;
    core::Array<PartialSums, 1, Space> partial_sums_;
    PlaneGroups groups_;
    core::Array<double, 1, Space> areas_;
};

}  // namespace aperture::corr::gpu
