// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/choices.hpp"
#include "aperture/flow/parameters.hpp"

/// The words for the values of parameters.
namespace aperture::flow {

inline constexpr core::Choices<Method, 2> method_choices{
    {{"hs", Method::horn_schunck}, {"lk", Method::lucas_kanade}}};
inline constexpr core::Choices<Preset, 3> preset_choices{
    {{"fast", Preset::fast}, {"accurate", Preset::accurate}, {"thesis", Preset::thesis}}};
using signal::interpolation_choices;
inline constexpr core::Choices<Basis, 3> basis_choices{
    {{"monomial", Basis::monomial}, {"newton", Basis::newton}, {"chebyshev", Basis::chebyshev}}};
inline constexpr core::Choices<Solver, 6> solver_choices{{{"jacobi", Solver::jacobi},
                                                          {"block2x2", Solver::block2x2},
                                                          {"cg", Solver::cg},
                                                          {"cacg", Solver::cacg},
                                                          {"redblack", Solver::redblack},
                                                          {"multigrid", Solver::multigrid}}};
inline constexpr core::Choices<Implementation, 2> implementation_choices{
    {{"fused", Implementation::fused}, {"staged", Implementation::staged}}};
inline constexpr core::Choices<bool, 2> precondition_choices{{{"block", true}, {"none", false}}};
inline constexpr core::Choices<Boundary, 2> boundary_choices{
    {{"replicate", Boundary::replicate}, {"zero", Boundary::zero}}};
inline constexpr core::Choices<Stencil, 2> stencil_choices{
    {{"5", Stencil::five}, {"9", Stencil::nine}}};

}  // namespace aperture::flow
