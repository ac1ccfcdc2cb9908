// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/tall_qr.hpp"
#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// The QR method of an Svd other than gram.
inline dense::QrMethod qr_method(Svd svd) {
    switch (svd) {
        case Svd::caqr:
            return dense::QrMethod::caqr;
        case Svd::cholqr2:
            return dense::QrMethod::cholesky2;
        case Svd::blas2:
            return dense::QrMethod::blas2;
        default:
            return dense::QrMethod::tsqr;
    }
}

}  // namespace aperture::rpca
