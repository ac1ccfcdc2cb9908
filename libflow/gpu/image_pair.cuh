// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/gpu/planes.cuh"

namespace aperture::flow::gpu {

/// Both images of a level, which may lie in different arrays; plane i is image i.
struct ImagePair {
    Planes<const float> image[2];
    int rows;
    int columns;

    __device__ __forceinline__ float at(int plane, int y, int x) const {
        return plane == 0 ? image[0].at(0, y, x) : image[1].at(0, y, x);
    }
};

#if !defined(__CUDACC_RTC__)

inline ImagePair pair_of(const Planes<const float>& image0, const Planes<const float>& image1) {
    return {{image0, image1}, image0.rows, image0.columns};
}

/// The images in planes 0 and 1.
template <class Space>
ImagePair pair_of(const PlaneArray<Space>& images) {
    return pair_of(images.planes(0, 1), images.planes(1, 1));
}

#endif

}  // namespace aperture::flow::gpu
