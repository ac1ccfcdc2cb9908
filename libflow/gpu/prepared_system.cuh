// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A linear system as the solvers' kernels read it: linear_system.hpp's, and the inverse 2x2 blocks.
// The same as libflow/cpu/prepared_system.hpp.

#include "libflow/gpu/reductions.cuh"
#include "libflow/solver_model.hpp"

namespace aperture::flow::gpu {

/// With D = J + d I, d the sum of a pixel's weights times alpha^2, and S the sum of its neighbours'
/// values times their weights and alpha^2, the matrix is A x = D x - S(x). A neighbour outside the
/// image is the pixel itself (replicate) or zero, and counts in d either way; weights given by the
/// caller are zero there.
struct SystemPlanes {
    Planes<const float> tensor;   ///< J: J11, J12, J22
    Planes<const float> inverse;  ///< of D, in the same order
    Planes<const float> right;    ///< b
    /// alpha^2 w to the right and below, zero across the border; null except for
    /// Coupling::weighted.
    Planes<const float> weights;
    float smoothness = 1;  ///< alpha^2
};

using SymmetricBlock = SymmetricMatrix<float>;

/// (J + d I)^-1 of a positive semi-definite J and d >= 0; the pseudo-inverse if that is singular to
/// rounding, as for a pixel without neighbours.
__device__ __forceinline__ SymmetricBlock inverse_block(const SymmetricBlock& j, float d) {
    const float trace = j.a11 + j.a22;
    const float determinant = determinant_of(j, d);
    // A branch, not selections: these spill registers of the red-black sweeps.
    if (determinant > 0.0F) {
        const float scale = 1.0F / determinant;
        return {(j.a22 + d) * scale, -j.a12 * scale, (j.a11 + d) * scale};
    }
    const float pseudo = trace > 0.0F ? 1.0F / (trace * trace) : 1.0F;
    return {j.a11 * pseudo, j.a12 * pseudo, j.a22 * pseudo};
}

/// The sum d of pixel (y, x)'s weights, times alpha^2.
template <Coupling coupling>
__device__ __forceinline__ float degree(const SystemPlanes& system, int y, int x) {
    if constexpr (coupling == Coupling::weighted) {
        const Planes<const float>& w = system.weights;
        return (w(0, y, x) + (x > 0 ? w(0, y, x - 1) : 0.0F)) +
               (w(1, y, x) + (y > 0 ? w(1, y - 1, x) : 0.0F));
    } else {
        return weight_of_neighbours(coupling) * system.smoothness;
    }
}

/// Extents of a block of a kernel with one thread a pixel.
inline constexpr int prepare_columns = 32;
inline constexpr int prepare_rows = 8;

/// Calls visit(y, x) for this thread's pixel, if it is in the image.
template <class Visit>
__device__ __forceinline__ void for_one_pixel(int rows, int columns, const Visit& visit) {
    const int x = static_cast<int>(blockIdx.x) * prepare_columns + static_cast<int>(threadIdx.x);
    const int y = static_cast<int>(blockIdx.y) * prepare_rows + static_cast<int>(threadIdx.y);
    if (y < rows && x < columns) visit(y, x);
}

/// Multiplies the weights by alpha^2 and clears those across the border. A thread for a pixel.
template <class T>
__global__ void scale_weights_kernel(Planes<const T> coupling, T smoothness, Planes<T> weights) {
    const int rows = rows_of(weights);
    const int columns = columns_of(weights);
    for_one_pixel(rows, columns, [&](int y, int x) {
        weights(0, y, x) = x + 1 < columns ? smoothness * coupling(0, y, x) : T(0);
        weights(1, y, x) = y + 1 < rows ? smoothness * coupling(1, y, x) : T(0);
    });
}

/// Loads four pixels of a row from `count` planes; zeros outside the image.
template <int count>
__device__ __forceinline__ void load_fours(const Planes<const float>& from, int y, int x,
                                           float (&to)[count][4]) {
    const bool fours = x + 4 <= columns_of(from) && has_fours(from);
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) {
        const float* row = row_of(from, i, y) + x;
        if (fours) {
            load_four(row, to[i]);
            continue;
        }
        APERTURE_UNROLL
        for (int j = 0; j < 4; ++j) to[i][j] = x + j < columns_of(from) ? row[j] : 0.0F;
    }
}

/// Input and output of the start sums for FreeFlow: the flow's two planes, summed with the tensor's
/// three. Null `parts`: not needed.
struct StartSums {
    Planes<const float> flow;
    Sums<5>* parts = nullptr;
};

/// Inverts the blocks, if `inverse` is not null, and sums the start of a solution. Thread: four
/// pixels of a row at a time, by for_own_pixels; warp: 128 pixels of a row. Shared memory:
/// reduction_shared. Rows of `inverse` must have room for whole fours, as in PlaneArray. 24 bytes
/// moved a pixel for the blocks, 20 for the sums, 32 for both; 25 flops.
template <Coupling coupling>
__global__ void __launch_bounds__(reduction_threads)
    prepare_kernel(SystemPlanes system, Planes<float> inverse, StartSums start) {
    const Planes<const float>& tensor = system.tensor;
    Sums<5> own{};
    for_own_pixels(rows_of(tensor), (columns_of(tensor) + 3) / 4, [&](int y, int four) {
        const int x = 4 * four;
        float j[3][4];
        load_fours(tensor, y, x, j);
        if (start.parts != nullptr) {
            float flow[2][4];
            load_fours(start.flow, y, x, flow);
            APERTURE_UNROLL
            for (int i = 0; i < 4; ++i) {
                own = own + Sums<5>{{j[0][i], j[1][i], j[2][i], flow[0][i], flow[1][i]}};
            }
        }
        if (inverse.data == nullptr) return;
        APERTURE_UNROLL
        for (int i = 0; i < 4; ++i) {
            const float d = degree<coupling>(system, y, min(x + i, columns_of(tensor) - 1));
            const SymmetricBlock inverted = inverse_block({j[0][i], j[1][i], j[2][i]}, d);
            j[0][i] = inverted.a11;
            j[1][i] = inverted.a12;
            j[2][i] = inverted.a22;
        }
        APERTURE_UNROLL
        for (int i = 0; i < 3; ++i) store_four(j[i], row_of(inverse, i, y) + x);
    });
    if (start.parts != nullptr) store_part(own, start.parts);
}

/// A kernel with a thread for each pixel of `shape`, in blocks of prepare_rows x prepare_columns.
inline core::LaunchConfig pixel_config(
    Shape shape, std::source_location call = std::source_location::current()) {
    const auto blocks = [](index_t extent, int tile) {
        return static_cast<unsigned>((extent + tile - 1) / tile);
    };
    return {dim3(blocks(shape.columns, prepare_columns), blocks(shape.rows, prepare_rows)),
            dim3(prepare_columns, prepare_rows), 0, call};
}

/// Holds data derived from a system. Tensor and right-hand side stay with the caller and must
/// outlive the use.
template <class Executor>
class PreparedSystem {
  public:
    using Space = typename Executor::Space;

    PreparedSystem() = default;
    explicit PreparedSystem(Shape shape) : shape_(shape), inverse_(3, shape) {}

    /// The system must fit the shape. Computes inverse and sums on request.
    void load(Executor& executor, const LinearSystem<Space>& system, bool with_inverse,
              const StartSums& start = {}) {
        boundary_ = system.boundary;
        coupling_ = coupling_of(system);
        planes_.tensor = planes_of(system.tensor);
        planes_.right = planes_of(system.right);
        planes_.smoothness = system.smoothness;
        planes_.weights = {};
        if (coupling_ == Coupling::weighted) {
            if (weights_.shape() != shape_) weights_ = PlaneArray<Space>(2, shape_);
            core::launch(executor, &scale_weights_kernel<float>, pixel_config(shape_),
                         planes_of(system.coupling), system.smoothness, weights_.planes());
            planes_.weights = std::as_const(weights_).planes();
        }
        if (!with_inverse && start.parts == nullptr) return;
        if (with_inverse) planes_.inverse = std::as_const(inverse_).planes();
        with_coupling(coupling_, [&](auto coupling) {
            core::launch(executor, &prepare_kernel<decltype(coupling)::value>,
                         reduction_config(executor, shape_), planes_,
                         with_inverse ? inverse_.planes() : Planes<float>{}, start);
        });
    }

    Shape shape() const { return shape_; }
    Boundary boundary() const { return boundary_; }
    Coupling coupling() const { return coupling_; }
    const SystemPlanes& planes() const { return planes_; }

  private:
    Shape shape_;
    Boundary boundary_ = Boundary::replicate;
    Coupling coupling_ = Coupling::five;
    SystemPlanes planes_;
    PlaneArray<Space> inverse_;
    PlaneArray<Space> weights_;
};

}  // namespace aperture::flow::gpu
