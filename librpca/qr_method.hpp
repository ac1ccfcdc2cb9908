// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/tall_qr.hpp"
#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// The QR method of an Svd other than gram.
inline dense::QrMethod qr_method(Svd svd) {
    return svd == Svd::cholqr2 ? dense::QrMethod::cholesky2 : dense::QrMethod::tsqr;
}

}  // namespace aperture::rpca
