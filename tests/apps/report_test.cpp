// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "aperture/core/version.hpp"

namespace aperture::apps {
namespace {

TEST(Report, IsTheDocumentedObject) {
    Report report;
    report.program = "stap";
    report.device = "a \"quoted\" device";
    report.threads = 2;
    report.parameters = {{"training_block", 64LL}, {"taper", std::string("hann")}, {"nan", true}};
    report.times.stages = {{"doppler", 1.25, 0.5, 12.0}, {"read", 1, 0, 0}};
    report.times.compute_ms = 3.5;
    report.accuracy = {{"snr_db", 101.5}, {"residual", std::nan("")}, {"rank", 3LL}};
    EXPECT_FALSE(nlohmann::json::parse(report.json()).contains("targets"));
    report.targets = {{{"range_cell", 7LL}, {"found", true}}, {{"found", false}}};
    const auto object = nlohmann::json::parse(report.json());
    EXPECT_EQ(object["program"], "stap");
    EXPECT_EQ(object["version"], core::version());
    EXPECT_EQ(object["git"], core::git_commit());
    EXPECT_EQ(object["device"]["name"], "a \"quoted\" device");
    EXPECT_EQ(object["device"]["threads"], 2);
    EXPECT_EQ(object["parameters"]["training_block"], 64);
    EXPECT_EQ(object["parameters"]["taper"], "hann");
    EXPECT_EQ(object["parameters"]["nan"], true);
    EXPECT_EQ(object["stages"][0]["name"], "doppler");
    EXPECT_EQ(object["stages"][0]["mb"], 12.0);
    EXPECT_TRUE(object["stages"][1]["gflop"].is_null());
    EXPECT_TRUE(object["stages"][1]["mb"].is_null());
    EXPECT_EQ(object["compute_ms"], 3.5);
    EXPECT_EQ(object["accuracy"]["snr_db"], 101.5);
    EXPECT_TRUE(object["accuracy"]["residual"].is_null());
    EXPECT_TRUE(object["accuracy"]["rank"].is_number_integer());
    ASSERT_EQ(object["targets"].size(), 2);
    EXPECT_EQ(object["targets"][0]["range_cell"], 7);
    EXPECT_EQ(object["targets"][0]["found"], true);
    EXPECT_EQ(object["targets"][1]["found"], false);
}

TEST(Report, HasNamesThatAreNotUtf8) {
    Report report;
    report.parameters = {{"input", std::string("caf\xe9.h5")}};
    const auto object = nlohmann::json::parse(report.json());
    EXPECT_EQ(object["parameters"]["input"], "caf\xef\xbf\xbd.h5");
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
