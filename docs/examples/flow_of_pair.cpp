// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Estimates the optical flow between two image files on the CPU, prints its mean and writes it to
// flow.flo.
#include <cstdio>
#include <exception>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/flow/estimator.hpp"
#include "aperture/flow/parameters.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/signal/grey.hpp"

namespace core = aperture::core;
namespace flow = aperture::flow;
namespace media = aperture::media;
namespace signal = aperture::signal;

namespace {

void flow_of_pair(const char* file0, const char* file1) {
    core::Cpu cpu;

    // Grey images: [row][column], 0 to 255, of one shape.
    const core::Array<float, 2> image0 = signal::to_grey(media::read_image(file0).planes);
    const core::Array<float, 2> image1 = signal::to_grey(media::read_image(file1).planes);
    const auto [rows, columns] = image0.extent();
    core::expects(image1.extent() == image0.extent(), file1, ": not the size of ", file0);

    flow::Parameters parameters = flow::preset(flow::Preset::fast, flow::Method::horn_schunck);
    parameters.warps = 5;  // any parameter may differ from the preset
    flow::Estimator<core::Cpu> estimator(cpu, {rows, columns}, parameters);

    // The flow: [2][row][column]; plane 0 is u, to the right, plane 1 is v, down, in pixels.
    core::Array<float, 3> field({2, rows, columns});
    const bool start = false;  // begin with zero, not with what `field` holds
    estimator.run(image0.view(), image1.view(), field.view(), start, nullptr);

    double u = 0;
    double v = 0;
    for (core::index_t y = 0; y < rows; ++y) {
        for (core::index_t x = 0; x < columns; ++x) {
            u += field(0, y, x);
            v += field(1, y, x);
        }
    }
    const auto pixels = static_cast<double>(rows * columns);
    std::printf("mean flow: %.3f pixels to the right, %.3f down\n", u / pixels, v / pixels);
    media::write_flow("flow.flo", field.view());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: flow_of_pair IMAGE0 IMAGE1\n");
        return 1;
    }
    try {
        flow_of_pair(argv[1], argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "flow_of_pair: %s\n", error.what());
        return 1;
    }
}
