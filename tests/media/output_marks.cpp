// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "aperture/media/flow_file.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/media/output_mark.hpp"
#include "aperture/media/picture.hpp"
#include "aperture/media/result_file.hpp"
#include "aperture/signal/grey.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

#if APERTURE_OPENCV
constexpr std::array formats{".ppm", ".pgm", ".png", ".jpg", ".jpeg", ".bmp"};
#else
constexpr std::array formats{".ppm", ".pgm"};
#endif

TEST(OutputMark, IsInPicturesOfEveryFormatAndHarmsNone) {
    const TemporaryFolder folder;
    for (const bool grey : {false, true}) {
        Picture picture(40, 30, {200, 200, 200});
        if (!grey) picture = Picture(40, 30, {200, 100, 50});
        for (const std::string extension : formats) {
            const auto file = folder / ("a" + extension);
            write_picture(file, picture);
            EXPECT_TRUE(is_output(file)) << extension;
            const Image image = read_image(file);
            EXPECT_EQ(image.planes.extent()[2], 40) << extension;
            const Image expected = read_image(folder / "a.ppm");
            EXPECT_NEAR(signal::to_grey(image.planes)(15, 20),
                        signal::to_grey(expected.planes)(15, 20), 2)
                << extension;
        }
    }
}

TEST(OutputMark, IsInResultsAndInNothingElse) {
    const TemporaryFolder folder;
    for (const char* const program : {"program", "other"}) {
        ResultFile file(folder / "a.h5");
        file.attribute("/", program, std::string("corr"));
        file.commit();
        EXPECT_EQ(is_output(folder / "a.h5"), program == std::string("program"));
    }
    for (const char* const name : {"a.flo", "a.npy", "a.mp4", "a.csv", "a.json"}) {
        EXPECT_TRUE(is_output(folder / name)) << name;
    }
    // A photograph by another program of this name, files without our mark, damaged files.
    for (const std::string& bytes :
         {std::string("\xff\xd8\xff\xe1"
                      "Aperture 3.6"),
          std::string("P5 2 1 255\nab"), std::string("\x89PNG\r\n\x1a\n"), std::string("BM"),
          std::string("\x89HDF"), std::string()}) {
        write_bytes(folder / "a.flow.png", bytes);
        EXPECT_FALSE(is_output(folder / "a.flow.png")) << bytes;
    }
    EXPECT_FALSE(is_output(folder / "missing.png"));
}

#if APERTURE_OPENCV

TEST(OutputMark, IsInAFlowOfKitti) {
    const TemporaryFolder folder;
    core::Array<float, 3> flow({2, 5, 7});
    std::fill(flow.begin(), flow.end(), 1.5F);
    write_flow(folder / "a.png", flow);
    EXPECT_TRUE(is_output(folder / "a.png"));
    EXPECT_EQ(read_flow(folder / "a.png")(1, 4, 6), 1.5F);
}

#endif

}  // namespace
}  // namespace aperture::media::tests
