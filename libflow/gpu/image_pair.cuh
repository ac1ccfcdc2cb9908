// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/gpu/planes.cuh"

namespace aperture::flow::gpu {

/// Both images of a level, which may lie in different arrays; plane i is image i.
struct ImagePair {
    Planes<const float> image[2];

    __device__ __forceinline__ float operator()(int plane, int y, int x) const {
        return plane == 0 ? image[0](0, y, x) : image[1](0, y, x);
    }
};

APERTURE_HD int rows_of(const ImagePair& pair) { return rows_of(pair.image[0]); }
APERTURE_HD int columns_of(const ImagePair& pair) { return columns_of(pair.image[0]); }

#if !defined(__CUDACC_RTC__)

inline ImagePair pair_of(const Planes<const float>& image0, const Planes<const float>& image1) {
    return {{image0, image1}};
}

/// The images in planes 0 and 1.
template <class Space>
ImagePair pair_of(const PlaneArray<Space>& images) {
    return pair_of(images.planes(0, 1), images.planes(1, 1));
}

#endif

}  // namespace aperture::flow::gpu
