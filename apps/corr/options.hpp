// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "aperture/corr/image_correlator.hpp"
#include "aperture/corr/words.hpp"
#include "aperture/signal/registration.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/program.hpp"
#include "apps/common/sweep.hpp"

namespace aperture::apps {

/// The command line of `corr`.
struct CorrOptions {
    RunOptions common;  ///< `out` is the HDF5 file
    std::vector<std::filesystem::path> inputs;
    bool ensemble = false;  ///< otherwise `inputs` are one image or two

    corr::Parameters parameters;  ///< without planes if `inputs` are HDF5 files with planes
    /// One mask for all images, or one per image of a pair. Without masks all pixels count.
    std::vector<std::filesystem::path> masks;
    /// Instead of a surface: how the second image lies on the first. `out`, if any, is the picture
    /// of the second one moved onto the first.
    std::optional<signal::Motion> registered;
    std::optional<std::filesystem::path> difference;  ///< picture of the first less the moved one
    bool all_pairs = false;                           ///< also correlate the images of an ensemble

    std::optional<std::filesystem::path> picture;
    std::optional<std::filesystem::path> radial;    ///< table of the surface
    std::optional<std::filesystem::path> spectrum;  ///< table of the power spectrum beside it

    Sweep<CorrOptions> sweep;

    bool pair() const { return !ensemble && inputs.size() == 2; }
};

NamedFiles input_files(const CorrOptions& options);
NamedFiles output_files(const CorrOptions& options);

/// Parses the command line; returns nothing after printing what --help or --version asks for.
std::optional<CorrOptions> parse_corr_options(int argc, char** argv);

}  // namespace aperture::apps
