// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/apps/image_pairs.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {

using aperture::tests::TemporaryFolder;
using media::tests::read_bytes;
using media::tests::write_bytes;
using std::filesystem::path;

inline std::vector<std::string> axes_of(const path& file, const std::string& dataset) {
    const media::Handle opened{H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    const media::Handle owner{H5Oopen(opened, dataset.c_str(), H5P_DEFAULT), H5Oclose};
    return media::string_attribute(owner, "DIMENSION_LABELS").value_or(std::vector<std::string>{});
}

/// Runs corr on the CPU in a folder of its own.
class Corr : public testing::Test {
  protected:
    Outcome run(const std::vector<std::string>& arguments) const {
        return run_program("corr", joined(arguments, {"--device", "cpu"}));
    }
    Outcome run_well(const std::vector<std::string>& arguments) const {
        Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        return outcome;
    }
    /// The dataset /surface of a run with --quiet.
    std::vector<double> surface(const std::vector<std::string>& arguments) const {
        const path out = folder_ / "surface.h5";
        const Outcome quiet =
            run_well(joined(arguments, {"--out", out, "--no-picture", "--quiet"}));
        EXPECT_THAT(quiet.out, testing::IsEmpty());
        return read_dataset<double>(out, "/surface").values;
    }
    std::string image(const std::string& name, const StoredPicture& stored = {}, double x = 0,
                      double y = 0) const {
        write_texture(folder_ / name, stored, x, y);
        return folder_ / name;
    }
    void expect_refusal(const std::vector<std::string>& arguments, const std::string& words) const {
        const auto before = folder_.entries();
        expect_refused("corr", run(arguments), words);
        EXPECT_EQ(folder_.entries(), before);
    }
    TemporaryFolder folder_;
};

}  // namespace aperture::apps::tests
