// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// TallQr on a device. Host code, a template on the executor.

#include "libdense/gpu/cholesky_qr.cuh"

namespace aperture::dense {

template <class T, class Executor>
std::unique_ptr<TallFactors<T, typename Executor::Space>> make_factors(Executor& executor,
                                                                       QrMethod method,
                                                                       index_t rows,
                                                                       index_t columns) {
    if (method == QrMethod::cholesky2) {
        return std::make_unique<gpu::CholeskyQr<T, Executor>>(executor, rows, columns);
    }
    return gpu::make_tree<T>(executor, rows, columns);
}

}  // namespace aperture::dense
