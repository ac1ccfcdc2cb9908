// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/flow/field.hpp"
#include "aperture/media/image_file.hpp"
#include "apps/oflow/options.hpp"

namespace aperture::apps {

/// How an image is stored.
struct ImageForm {
    int bits = 8;
    core::index_t channels = 1;
    bool operator==(const ImageForm&) const = default;
};
ImageForm form_of(const media::Image& image);

/// The inputs of `oflow`.
struct OflowInputs {
    media::Image image0;  ///< empty unless arrows are drawn on it
    media::Image image1;  ///< empty unless it is warped
    ImageForm form0;
    ImageForm form1;
    core::Array<float, 2> grey0;
    core::Array<float, 2> grey1;
    core::Array<float, 3> truth;  ///< empty if there is none

    flow::Shape shape() const { return {grey0.extent()[0], grey0.extent()[1]}; }
};

/// Throws core::InvalidArgument for files that cannot be read or differ in size.
OflowInputs read_inputs(const OflowOptions& options, Console& console);

/// "584x388", width first.
std::string size_text(flow::Shape shape);

}  // namespace aperture::apps
