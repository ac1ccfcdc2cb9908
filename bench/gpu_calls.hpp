// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/gpu_batch.hpp"

/// Whole batches on a GPU: the library's functions and the vendor's.
namespace aperture::bench {

template <class T>
GpuMethod<T> library_method(Task task);

/// Whether the vendor has a function on batches.
bool has_vendor_method(Task task, int n);
/// The fastest such function, for these operands.
template <class T>
GpuMethod<T> vendor_method(GpuBatch<T>& on);

/// For functions that overwrite matrices of c, whose values are those of a.
template <class T>
void restore_c(GpuBatch<T>& on) {
    on.restore_matrices(on.c.data());
}

}  // namespace aperture::bench
