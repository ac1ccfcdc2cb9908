// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/inputs.hpp"

#include "aperture/media/flow_file.hpp"

namespace aperture::apps {
namespace {

/// Of planes [plane][row][column].
flow::Shape shape_of(const core::Array<float, 3>& planes) {
    return {planes.extent()[1], planes.extent()[2]};
}

void expect_size(const std::filesystem::path& file, flow::Shape shape, const OflowOptions& options,
                 flow::Shape expected) {
    core::expects(shape == expected, file.string(), ": ", size_text(shape), " pixels, but ",
                  options.image0.string(), " has ", size_text(expected));
}

}  // namespace

std::string size_text(flow::Shape shape) { return core::text(shape.columns, 'x', shape.rows); }

OflowInputs read_inputs(const OflowOptions& options, Console& console) {
    OflowInputs inputs;
    console.phase("reading " + options.image0.string());
    inputs.image0 = media::read_image(options.image0);
    console.phase("reading " + options.image1.string());
    inputs.image1 = media::read_image(options.image1);
    const flow::Shape shape = shape_of(inputs.image0.planes);
    expect_size(options.image1, shape_of(inputs.image1.planes), options, shape);
    if (options.truth) {
        console.phase("reading " + options.truth->string());
        inputs.truth = media::read_flow(*options.truth);
        expect_size(*options.truth, shape_of(inputs.truth), options, shape);
    }
    inputs.grey0 = media::to_grey(inputs.image0);
    inputs.grey1 = media::to_grey(inputs.image1);
    console.done();
    return inputs;
}

}  // namespace aperture::apps
