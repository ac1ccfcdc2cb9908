// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/inputs.hpp"

#include "aperture/media/flow_file.hpp"

namespace aperture::apps {
namespace {

void expect_size(const std::filesystem::path& file, flow::Shape shape, const OflowOptions& options,
                 flow::Shape expected) {
    core::expects(shape == expected, file.string(), ": ", size_text(shape), " pixels, but ",
                  options.image0().string(), " has ", size_text(expected));
}

}  // namespace

std::string size_text(flow::Shape shape) { return core::text(shape.columns, 'x', shape.rows); }

ImageForm form_of(const media::Image& image) { return {image.bits, image.planes.extent()[0]}; }

OflowInputs read_inputs(const OflowOptions& options, Console& console) {
    OflowInputs inputs;
    const auto read = [&](const std::filesystem::path& file, bool keep, media::Image& kept,
                          ImageForm& form) {
        console.phase("reading " + file.string());
        media::Image image = media::read_image(file);
        form = form_of(image);
        core::Array<float, 2> grey = media::to_grey(image);
        if (keep) kept = std::move(image);
        return grey;
    };
    inputs.grey0 = read(options.image0(), options.arrows.has_value(), inputs.image0, inputs.form0);
    inputs.grey1 = read(options.image1(), options.warped.has_value(), inputs.image1, inputs.form1);
    expect_size(options.image1(), {inputs.grey1.extent()[0], inputs.grey1.extent()[1]}, options,
                inputs.shape());
    if (options.truth) {
        console.phase("reading " + options.truth->string());
        inputs.truth = media::read_flow(*options.truth);
        expect_size(*options.truth, {inputs.truth.extent()[1], inputs.truth.extent()[2]}, options,
                    inputs.shape());
    }
    console.done();
    return inputs;
}

}  // namespace aperture::apps
