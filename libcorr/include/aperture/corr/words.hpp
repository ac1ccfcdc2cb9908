// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "aperture/core/choices.hpp"
#include "aperture/corr/image_correlator.hpp"

/// The words for the values of parameters.
namespace aperture::corr {

inline constexpr core::Choices<PlaneKind, 5> plane_choices{
    {{"lab-orientation", PlaneKind::lab_orientation},
     {"grey", PlaneKind::grey},
     {"gray", PlaneKind::grey},
     {"rgb", PlaneKind::rgb},
     {"gradient", PlaneKind::gradient}}};
inline constexpr core::Choices<Normalization, 2> normalization_choices{
    {{"plane", Normalization::plane}, {"none", Normalization::none}}};
inline constexpr core::Choices<Estimator, 3> estimator_choices{
    {{"raw", Estimator::raw}, {"unbiased", Estimator::unbiased}, {"pearson", Estimator::pearson}}};
inline constexpr core::Choices<std::optional<Method>, 3> method_choices{
    {{"auto", std::nullopt}, {"direct", Method::direct}, {"fft", Method::fft}}};
inline constexpr core::Choices<Precision, 3> precision_choices{
    {{"fp32", Precision::fp32}, {"tf32x3", Precision::tf32x3}, {"fp64", Precision::fp64}}};

}  // namespace aperture::corr
