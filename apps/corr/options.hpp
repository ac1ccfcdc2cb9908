// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "aperture/corr/correlator.hpp"
#include "aperture/corr/estimator.hpp"
#include "aperture/corr/image_planes.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// The command line of `corr`.
struct CorrOptions {
    RunOptions common;  ///< `out` is the HDF5 file
    std::vector<std::filesystem::path> inputs;
    bool ensemble = false;  ///< otherwise `inputs` are one image or two

    /// Planes made from images; empty if `inputs` are HDF5 files with planes.
    std::optional<corr::PlaneKind> planes = corr::PlaneKind::lab_orientation;
    corr::Normalization normalization = corr::Normalization::plane;
    std::optional<corr::Shape> offsets;  ///< default: half the image, rounded up
    bool both_signs = false;
    corr::Estimator estimator = corr::Estimator::raw;
    std::optional<corr::Method> method;                 ///< default: the faster
    corr::Precision precision = corr::Precision::fp32;  ///< of the direct method
    /// One mask for all images, or one per image of a pair. Without masks all pixels count.
    std::vector<std::filesystem::path> masks;
    bool all_pairs = false;  ///< also correlate the images of an ensemble

    std::optional<std::filesystem::path> picture;
    std::optional<std::filesystem::path> radial;    ///< table of the surface
    std::optional<std::filesystem::path> spectrum;  ///< table of the power spectrum beside it

    bool pair() const { return !ensemble && inputs.size() == 2; }
    /// Whether to compute a surface per plane: to write it, or because the estimator needs it.
    bool each_plane() const {
        return !ensemble || (estimator == corr::Estimator::pearson && !masks.empty());
    }
    bool needs_direct() const { return precision != corr::Precision::fp32; }
    corr::Lags lags(corr::Shape image) const {
        const corr::Shape size =
            offsets.value_or(corr::Shape{(image.rows + 1) / 2, (image.columns + 1) / 2});
        return {size.rows, size.columns, both_signs};
    }
};

inline constexpr Choices<corr::PlaneKind, 5> plane_choices{
    {{"lab-orientation", corr::PlaneKind::lab_orientation},
     {"grey", corr::PlaneKind::grey},
     {"gray", corr::PlaneKind::grey},
     {"rgb", corr::PlaneKind::rgb},
     {"gradient", corr::PlaneKind::gradient}}};
inline constexpr Choices<corr::Normalization, 2> normalization_choices{
    {{"plane", corr::Normalization::plane}, {"none", corr::Normalization::none}}};
inline constexpr Choices<corr::Estimator, 3> estimator_choices{
    {{"raw", corr::Estimator::raw},
     {"unbiased", corr::Estimator::unbiased},
     {"pearson", corr::Estimator::pearson}}};
inline constexpr Choices<std::optional<corr::Method>, 3> correlation_choices{
    {{"auto", std::nullopt}, {"direct", corr::Method::direct}, {"fft", corr::Method::fft}}};

inline constexpr Choices<corr::Precision, 3> corr_precision_choices{
    {{"fp32", corr::Precision::fp32},
     {"tf32x3", corr::Precision::tf32x3},
     {"fp64", corr::Precision::fp64}}};

NamedFiles input_files(const CorrOptions& options);
NamedFiles output_files(const CorrOptions& options);

/// Parses the command line; returns nothing after printing what --help or --version asks for.
std::optional<CorrOptions> parse_corr_options(int argc, char** argv);

}  // namespace aperture::apps
