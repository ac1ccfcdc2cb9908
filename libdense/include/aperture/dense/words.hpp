// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "aperture/core/choices.hpp"
#include "aperture/dense/tall_qr.hpp"

/// The words for the values of parameters.
namespace aperture::dense {

/// Nothing is the faster method.
inline constexpr core::Choices<std::optional<QrMethod>, 3> qr_method_choices{
    {{"auto", std::nullopt}, {"tsqr", QrMethod::tsqr}, {"cholesky2", QrMethod::cholesky2}}};

}  // namespace aperture::dense
