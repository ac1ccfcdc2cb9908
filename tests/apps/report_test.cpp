// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "aperture/core/version.hpp"
#include "libcore/count_compilation.hpp"

namespace aperture::apps {
namespace {

TEST(Report, IsTheDocumentedObject) {
    Report report;
    report.invocation = {"stap", "stap a.h5", "2026-11-25T14:31:20Z"};
    report.device = {"a \"quoted\" device", 2, "no GPU"};
    report.inputs = {{"cube", "a.h5"}};
    report.outputs = {{"result", "a.stap.h5"}};
    report.parameters = {{"training_block", 64LL}, {"taper", std::string("hann")}, {"nan", true}};
    report.times.stages = {{"doppler", 1.25, 0.5, 12.0}, {"read", 1, 0, 0}};
    report.times.compute_ms = 3.5;
    report.results = {{"residual", std::nan("")}, {"rank", 3LL}};
    EXPECT_TRUE(nlohmann::json::parse(report.json({}))["accuracy"].empty());
    report.accuracy = {{"snr_db", 101.5}};
    report.targets = {{{"range_cell", 7LL}, {"found", true}}, {{"found", false}}};
    const auto object = nlohmann::json::parse(report.json({"a warning"}));
    EXPECT_EQ(object["schema"], 2);
    EXPECT_EQ(object["program"], "stap");
    EXPECT_EQ(object["version"], core::version());
    EXPECT_EQ(object["git"], core::git_commit());
    EXPECT_EQ(object["command_line"], "stap a.h5");
    EXPECT_EQ(object["started"], "2026-11-25T14:31:20Z");
    EXPECT_FALSE(object["host"].get<std::string>().empty());
    EXPECT_EQ(object["device"], nlohmann::json({{"kind", "cpu"},
                                                {"name", "a \"quoted\" device"},
                                                {"threads", 2},
                                                {"reason", "no GPU"}}));
    EXPECT_EQ(object["inputs"][0]["content"], "cube");
    EXPECT_EQ(object["outputs"][0]["path"], "a.stap.h5");
    EXPECT_EQ(object["parameters"]["training_block"], 64);
    EXPECT_EQ(object["parameters"]["taper"], "hann");
    EXPECT_EQ(object["parameters"]["nan"], true);
    EXPECT_EQ(object["stages"][0]["name"], "doppler");
    EXPECT_EQ(object["stages"][0]["mb"], 12.0);
    EXPECT_TRUE(object["stages"][1]["gflop"].is_null());
    EXPECT_TRUE(object["stages"][1]["mb"].is_null());
    EXPECT_EQ(object["compute_ms"], 3.5);
    EXPECT_TRUE(object["results"]["residual"].is_null());
    EXPECT_TRUE(object["results"]["rank"].is_number_integer());
    EXPECT_EQ(object["accuracy"]["snr_db"], 101.5);
    ASSERT_EQ(object["accuracy"]["targets"].size(), 2);
    EXPECT_EQ(object["accuracy"]["targets"][0]["range_cell"], 7);
    EXPECT_EQ(object["accuracy"]["targets"][0]["found"], true);
    EXPECT_EQ(object["accuracy"]["targets"][1]["found"], false);
    EXPECT_EQ(object["warnings"], nlohmann::json({"a warning"}));
}

TEST(Report, OfAGpuHasNoThreads) {
    Report report;
    report.device.name = "NVIDIA H200";
    EXPECT_EQ(nlohmann::json::parse(report.json({}))["device"],
              nlohmann::json({{"kind", "gpu"}, {"name", "NVIDIA H200"}}));
}

TEST(Report, CountsKernelsMadeAtRunTime) {
    const core::CompilationCounts before = core::compilation_counts();
    const auto object_of = [] { return nlohmann::json::parse(Report().json({})); };
    EXPECT_EQ(object_of().contains("run_time_compilation"),
              before.compiled + before.from_cache > 0);
    core::count_compilation({.compiled = 0, .from_cache = 2, .ms = 1.5});
    EXPECT_TRUE(object_of().contains("run_time_compilation"));
    core::count_compilation({.compiled = 1, .from_cache = 0, .ms = 640});
    EXPECT_EQ(object_of()["run_time_compilation"],
              nlohmann::json({{"compiled", before.compiled + 1},
                              {"from_cache", before.from_cache + 2},
                              {"ms", before.ms + 641.5}}));
}

TEST(Report, HasNamesThatAreNotUtf8) {
    Report report;
    report.inputs = {{"cube", "caf\xe9.h5"}};
    const auto object = nlohmann::json::parse(report.json({}));
    EXPECT_EQ(object["inputs"][0]["path"], "caf\xef\xbf\xbd.h5");
}

TEST(Invocation, HasAllWordsAndTheTime) {
    std::string program = "./stap", flag = "--out";
    char* words[] = {program.data(), flag.data()};
    const Invocation made = invocation("stap", 2, words);
    EXPECT_EQ(made.program, "stap");
    EXPECT_EQ(made.command_line, "./stap --out");
    EXPECT_THAT(made.started, testing::MatchesRegex("[0-9-]{10}T[0-9:]{8}Z"));
}

TEST(RunTimes, AreMediansStageByStage) {
    const auto run = [](double a, double b) {
        return RunTimes{{{"a", a, 1, 2}, {"b", b, 3, 4}}, a, b};
    };
    const RunTimes odd = median_times({run(3, 9), run(1, 7), run(2, 8)});
    EXPECT_EQ(odd.stages[0].ms, 2);
    EXPECT_EQ(odd.stages[1].ms, 8);
    EXPECT_EQ(odd.stages[1].gflop, 3);
    EXPECT_EQ(odd.compute_ms, 2);
    EXPECT_EQ(odd.transfer_ms, 8);
    EXPECT_EQ(median_times({run(4, 1), run(1, 1), run(2, 1), run(3, 1)}).stages[0].ms, 2.5);
    EXPECT_THROW(median_times({run(1, 2), {{{"a", 1, 1, 1}}, 1, 1}}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::apps
