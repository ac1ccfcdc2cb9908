// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/choices.hpp"
#include "aperture/rpca/robust_pca.hpp"

/// The words for the values of parameters.
namespace aperture::rpca {

inline constexpr core::Choices<Solver, 3> solver_choices{
    {{"ialm", Solver::ialm}, {"admm", Solver::admm}, {"accaltproj", Solver::accaltproj}}};
inline constexpr core::Choices<Svd, 3> svd_choices{
    {{"gram", Svd::gram}, {"tsqr", Svd::tsqr}, {"cholqr2", Svd::cholqr2}}};

}  // namespace aperture::rpca
