// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/cpu/cholesky_factors.hpp"

namespace aperture::dense {

template <class T>
std::unique_ptr<TallFactors<T, core::Host>> make_factors(core::Cpu& cpu, QrMethod method,
                                                         index_t rows, index_t columns) {
    if (method == QrMethod::cholesky2) {
        return std::make_unique<tall::CholeskyFactors<T>>(cpu, rows, columns);
    }
    return std::make_unique<tall::QrTree<T>>(cpu, rows, columns);
}

template class TallQr<float, core::Cpu>;
template class TallQr<double, core::Cpu>;

}  // namespace aperture::dense
