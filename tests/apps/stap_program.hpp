// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/program_run.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {

using Samples = std::vector<std::complex<float>>;

/// stap on a simulated cube.
class Stap : public testing::Test {
  protected:
    void make_cube(const std::vector<std::string>& flags) {
        const Outcome outcome =
            run_program("stap_sim", joined({"--clutter", "--out", cube(), "--quiet"}, flags));
        ASSERT_EQ(outcome.status, 0) << outcome.error;
    }
    void make_small_cube() {
        make_cube({"--channels", "4", "--pulses", "12", "--range-cells", "150", "--cnr", "0",
                   "--prf", "800"});
    }
    Outcome run(const std::vector<std::string>& flags) {
        Outcome outcome = run_program("stap", joined({"--cube", cube()}, flags));
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        return outcome;
    }
    Samples output_of(const std::vector<std::string>& flags) {
        run(flags);
        return read_dataset<std::complex<float>>(result(), "/output").values;
    }
    nlohmann::json report_of(const std::vector<std::string>& flags) {
        run(joined(flags, {"--report", folder_ / "report.json"}));
        return read_json(folder_ / "report.json");
    }
    std::string cube() const { return folder_ / "cube.h5"; }
    std::string result() const { return folder_ / "cube.stap.h5"; }

    aperture::tests::TemporaryFolder folder_;
};

}  // namespace aperture::apps::tests
