// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/apps/image_pairs.hpp"
#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {

/// A run that a program refuses: expect_refused holds for `expected`.
struct Refusal {
    std::string name;
    std::string program;
    std::vector<std::string> arguments;
    std::string expected;
};
inline void PrintTo(const Refusal& refusal, std::ostream* stream) { *stream << refusal.name; }

/// Inputs for every program: a cube c.h5, and frames V/0.pgm to V/3.pgm of a moving texture.
class ProgramInputs : public testing::Test {
  protected:
    void SetUp() override {
        media::tests::write_cube(folder_ / "c.h5", {.shape = {3, 8, 100}});
        std::filesystem::create_directory(folder_ / "V");
        for (int i = 0; i < 4; ++i) {
            write_texture(folder_ / ("V/" + std::to_string(i) + ".pgm"), {}, i, 0);
        }
    }
    /// "FOLDER/x" in a word stands for x in the folder of the test. Runs on the CPU unless a device
    /// is named.
    Outcome run(const std::string& program, const std::vector<std::string>& words,
                const Surroundings& surroundings = {}) const {
        constexpr std::string_view mark = "FOLDER/";
        std::vector<std::string> arguments;
        for (const std::string& word : words) {
            arguments.push_back(
                word.starts_with(mark) ? (folder_ / word.substr(mark.size())).string() : word);
        }
        const bool names_device = std::count(words.begin(), words.end(), "--device") > 0;
        if (program != "stap_sim" && !names_device) {
            arguments.insert(arguments.end(), {"--device", "cpu"});
        }
        return run_program(program, arguments, surroundings);
    }
    aperture::tests::TemporaryFolder folder_;
};

}  // namespace aperture::apps::tests
