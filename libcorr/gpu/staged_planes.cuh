// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Planes as the direct method reads them: minus their ground, in a kernel's layout, with enough
// zeros around them that kernels need no column checks.

#include "libcore/gpu/tensor_core.cuh"
#include "libcorr/gpu/ground.cuh"

namespace aperture::corr::gpu {

/// Cells [plane][row][column]: rows [0, rows) of an image and one of zeros;
/// columns [-left, pitch - left), zero outside the image.
template <class Cell>
struct StagedPlanes {
    Cell* data = nullptr;
    index_t stride = 0;  ///< cells between planes
    int pitch = 0;
    int left = 0;
    int rows = 0;
    int columns = 0;

    /// Column 0 of a row; the row of zeros for a row outside the image.
    __device__ __forceinline__ Cell* row(int plane, int y) const {
        const int inside = y >= 0 && y < rows ? y : rows;
        return data + plane * stride + static_cast<index_t>(inside) * pitch + left;
    }
};

// Formats of a cell. `Number`: type of sums of cell products; `planes`: planes of cells for a
// number of an image's planes; `cell`: a cell of such a plane.

/// One plane's value.
template <class T>
struct SeparateForm {
    using Cell = T;
    using Number = T;
    APERTURE_HD static constexpr int planes(int of_image) { return of_image; }
    __device__ __forceinline__ static T cell(const Planes<const float>& from,
                                             const PlaneGround* grounds, int plane, int y, int x) {
        return static_cast<T>(from(plane, y, x)) - static_cast<T>(grounds[plane].ground);
    }
};

/// One plane's value as the sum of two TF32 numbers, in two planes.
struct SplitForm {
    using Cell = float;
    using Number = float;
    APERTURE_HD static constexpr int planes(int of_image) { return 2 * of_image; }
    __device__ __forceinline__ static float cell(const Planes<const float>& from,
                                                 const PlaneGround* grounds, int part, int y,
                                                 int x) {
        const int plane = part / 2;
        const core::Tf32Sum both = core::split_tf32(from(plane, y, x) - grounds[plane].ground);
        // Rounded, because the tensor cores would truncate it.
        return part % 2 == 0 ? both.high : core::split_tf32(both.low).high;
    }
};

inline constexpr int stage_threads = 128;

/// A thread for a cell, a block for a row, the last one for the row of zeros. Grid: rows + 1,
/// planes of cells. Moves a pixel and a cell.
template <class Form>
__global__ void __launch_bounds__(stage_threads)
    stage_kernel(Planes<const float> from, const PlaneGround* grounds,
                 StagedPlanes<typename Form::Cell> to) {
    core::wait_for_previous_kernel();
    const int y = static_cast<int>(blockIdx.x);
    const int plane = static_cast<int>(blockIdx.y);
    auto* const row = to.row(plane, y);
    for (int x = static_cast<int>(threadIdx.x) - to.left; x < to.pitch - to.left;
         x += stage_threads) {
        const bool inside = y < to.rows && x >= 0 && x < to.columns;
        row[x] = inside ? Form::cell(from, grounds, plane, y, x) : typename Form::Cell{};
    }
}

}  // namespace aperture::corr::gpu
