// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/choices.hpp"
#include "aperture/stap/parameters.hpp"

/// The words for the values of parameters.
namespace aperture::stap {

inline constexpr core::Choices<Training, 3> training_choices{
    {{"block", Training::block}, {"sliding", Training::sliding}, {"all", Training::all}}};
inline constexpr core::Choices<dense::Factorisation, 2> solver_choices{
    {{"cholesky", dense::Factorisation::cholesky},
     {"gauss-jordan", dense::Factorisation::gauss_jordan}}};
inline constexpr core::Choices<Detector, 5> detector_choices{{{"none", Detector::none},
                                                              {"amf", Detector::amf},
                                                              {"ace", Detector::ace},
                                                              {"glrt", Detector::glrt},
                                                              {"cfar", Detector::cfar}}};
inline constexpr core::Choices<Implementation, 3> implementation_choices{
    {{"fused", Implementation::fused},
     {"staged", Implementation::staged},
     {"cublas", Implementation::cublas}}};
inline constexpr core::Choices<Precision, 3> precision_choices{
    {{"auto", Precision::automatic}, {"fp32", Precision::fp32}, {"mixed", Precision::mixed}}};

}  // namespace aperture::stap
