// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Planes of one shape: how the kernels of this library access images, flows and systems.

#include "libcore/gpu/block.cuh"
#include "libsignal/gpu/planes.cuh"

#if !defined(__CUDACC_RTC__)
#include "aperture/core/array.hpp"
#include "aperture/flow/field.hpp"
#endif

namespace aperture::flow::gpu {

using core::index_t;
using signal::gpu::columns_of;
using signal::gpu::Planes;
using signal::gpu::row_of;
using signal::gpu::rows_of;

/// Whether four pixels, from a column that is a multiple of four, are one memory access.
template <class T>
__device__ __forceinline__ bool has_fours(const Planes<T>& planes) {
    return core::detail::aligned<16>(planes.data) && planes.stride[0] % 4 == 0 &&
           planes.stride[1] % 4 == 0;
}

__device__ __forceinline__ void read_four(const float* from, float (&to)[4]) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

__device__ __forceinline__ void store_four(const float (&from)[4], float* to) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

#if !defined(__CUDACC_RTC__)

using signal::gpu::planes_of;

/// Planes that own their memory; rows begin at multiples of 128 bytes.
template <class Space>
class PlaneArray {
  public:
    PlaneArray() = default;
    PlaneArray(index_t planes, Shape shape)
        : shape_(shape), memory_({planes, shape.rows, (shape.columns + 31) / 32 * 32}) {}

    Shape shape() const { return shape_; }
    Planes<float> planes() { return planes_of(view()); }
    Planes<const float> planes() const { return planes_of(view()); }
    /// `count` planes from `first` on.
    Planes<const float> planes(index_t first, index_t count) const {
        return planes_of(view().slice(0, first, first + count));
    }
    core::View<float, 3, Space> view() {
        const auto all = memory_.view();
        return {all.data, {all.extent[0], shape_.rows, shape_.columns}, all.stride};
    }
    core::View<const float, 3, Space> view() const {
        const auto all = memory_.view();
        return {all.data, {all.extent[0], shape_.rows, shape_.columns}, all.stride};
    }

  private:
    Shape shape_;
    core::Array<float, 3, Space> memory_;
};

#endif

}  // namespace aperture::flow::gpu
