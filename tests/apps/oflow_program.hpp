// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aperture/media/flow_file.hpp"
#include "tests/apps/image_pairs.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/median.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {

/// Motion of a test's pair unless the test sets another, in pixels.
inline constexpr double shift_u = 1.4;
inline constexpr double shift_v = -0.7;

using aperture::tests::median;

inline std::vector<float> component(const core::Array<float, 3>& flow, core::index_t i) {
    const core::index_t pixels = flow.size() / 2;
    return {flow.data() + i * pixels, flow.data() + (i + 1) * pixels};
}

/// oflow on a pair of images.
class Oflow : public testing::Test {
  protected:
    void write_pair(const StoredPicture& stored = {}, double u = shift_u, double v = shift_v) {
        write_texture(image0(), stored, 0, 0);
        write_texture(image1(), stored, -u, -v);
    }
    Outcome run(const std::vector<std::string>& flags) {
        Outcome outcome =
            run_program("oflow", joined({image0(), image1(), "--device", "cpu"}, flags));
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        return outcome;
    }
    core::Array<float, 3> flow_of(const std::vector<std::string>& flags) {
        run(joined(flags, {"--quiet", "--no-picture"}));
        return media::read_flow(folder_ / "a.flo");
    }
    nlohmann::json report_of(const std::vector<std::string>& flags) {
        run(joined(flags, {"--report", folder_ / "report.json"}));
        return read_json(folder_ / "report.json");
    }
    void expect_shift(const core::Array<float, 3>& flow) {
        EXPECT_NEAR(median(component(flow, 0)), shift_u, 0.1);
        EXPECT_NEAR(median(component(flow, 1)), shift_v, 0.1);
    }
    std::string image0() const { return folder_ / "a.pgm"; }
    std::string image1() const { return folder_ / "b.pgm"; }
    std::string picture(const std::string& name) const {
        return folder_ / (name + picture_extension);
    }

    aperture::tests::TemporaryFolder folder_;
};

}  // namespace aperture::apps::tests
