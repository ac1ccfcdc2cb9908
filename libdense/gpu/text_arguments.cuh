// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch_elements.cuh"

namespace aperture::dense {

/// What every kernel of a text takes, whatever its batches and parameters.
struct TextArguments {
    struct Batch {
        void* data;
        index_t stride[3];
        index_t extent[2];
    };
    index_t problems;
    Batch batches[16];
    double parameter[32];
};

template <class T, int Rank>
__device__ __forceinline__ KernelView<T, Rank> batch_of(const TextArguments& given, int number) {
    const TextArguments::Batch& batch = given.batches[number];
    KernelView<T, Rank> view;
    view.data = static_cast<T*>(batch.data);
    view.extent[0] = given.problems;
    for (int d = 0; d < Rank; ++d) {
        view.stride[d] = batch.stride[d];
        if (d > 0) view.extent[d] = batch.extent[d - 1];
    }
    return view;
}

}  // namespace aperture::dense
