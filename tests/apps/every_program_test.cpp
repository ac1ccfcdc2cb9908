// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// What every program does alike: devices, --quiet, full disks, a full standard output, folders
// without permission.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "aperture/core/executor.hpp"
#include "tests/apps/program_inputs.hpp"

namespace aperture::apps::tests {
namespace {

using media::tests::read_bytes;
using media::tests::write_bytes;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A valid run and one of its outputs, which is larger than `limit` bytes.
struct GoodRun {
    std::string program;
    std::vector<std::string> arguments;
    std::string output;
    std::uint64_t limit;
};
void PrintTo(const GoodRun& run, std::ostream* stream) { *stream << run.program; }

class EveryProgram : public ProgramInputs, public testing::WithParamInterface<GoodRun> {
  protected:
    void SetUp() override {
        ProgramInputs::SetUp();
        write_texture(folder_ / "a.pgm", {}, 0, 0);
        // More frames, since bgsub warns of few.
        for (int i = 4; i < 10; ++i) {
            write_texture(folder_ / ("V/" + std::to_string(i) + ".pgm"), {}, i, 0);
        }
    }
    Outcome run_with(const std::vector<std::string>& more,
                     const Surroundings& surroundings = {}) const {
        return run(GetParam().program, joined(GetParam().arguments, more), surroundings);
    }
    bool has_device() const { return GetParam().program != "stap_sim"; }
};

INSTANTIATE_TEST_SUITE_P(
    All, EveryProgram,
    testing::Values(
        GoodRun{"stap", {"FOLDER/c.h5", "--loading", "rel:1e-2"}, "c.stap.h5", 20'000},
        GoodRun{"stap_sim", {"--perfect", "small", "--out", "FOLDER/s.h5"}, "s.h5", 100'000},
        GoodRun{"oflow", {"FOLDER/a.pgm", "FOLDER/V/1.pgm"}, "a.flo", 20'000},
        GoodRun{"corr", {"FOLDER/a.pgm"}, "a.corr.h5", 10'000},
        GoodRun{"bgsub", {"FOLDER/V", "--out-format", "npy"}, "V.mask.npy", 5'000}),
    [](const auto& instance) { return instance.param.program; });

TEST_P(EveryProgram, SaysWhichDeviceItTakesIfItIsVerbose) {
    if (!has_device()) GTEST_SKIP() << "computes on the CPU only";
    const std::string begin = GetParam().program + ": device: ";
    const Outcome outcome = run_with({"--device", "auto", "--verbose"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    const core::GpuStatus status = core::gpu_status();
    EXPECT_THAT(lines(outcome.error),
                Contains(StartsWith(begin + (status.usable ? "GPU 0" : "CPU (no usable GPU: "))));
    const Outcome silent = run_with({"--device", "auto", "--report", "FOLDER/r.json"});
    EXPECT_THAT(silent.error, IsEmpty());
    const auto device = read_json(folder_ / "r.json")["device"];
    EXPECT_EQ(device["kind"], status.usable ? "gpu" : "cpu");
    if (!status.usable) {
        EXPECT_EQ(device["reason"], status.reason);
    }
}

TEST_P(EveryProgram, WritesItsReportToStandardOutput) {
    const Outcome outcome = run_with({"--report", "-"}, {.executable = true});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report["schema"], 2);
    EXPECT_EQ(report["program"], GetParam().program);
    EXPECT_THAT(report["command_line"].get<std::string>(), HasSubstr("--report -"));
    EXPECT_THAT(report["outputs"][0]["path"].get<std::string>(),
                testing::EndsWith(GetParam().output));
    EXPECT_THAT(outcome.error, HasSubstr(GetParam().output)) << "the summary";
    EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_P(EveryProgram, WritesNothingElseToStandardOutput) {
    // stap_sim has --out among its arguments.
    const Surroundings executable{.executable = true};
    const Outcome outcome = has_device()
                                ? run_with({"--out", "-"}, executable)
                                : run("stap_sim", {"--perfect", "small", "--out", "-"}, executable);
    expect_refused(GetParam().program, outcome,
                   "--out -: only --report can be written to standard output");
}

TEST_P(EveryProgram, ProposesTheFlagThatWasMeant) {
    expect_refused(GetParam().program, run_with({"--thread", "2"}),
                   "unknown argument --thread, did you mean --threads? (see " + GetParam().program +
                       " --help)");
    expect_refused(GetParam().program, run_with({"--zzzzzzzz"}),
                   "unknown argument --zzzzzzzz (see ");
}

TEST_P(EveryProgram, HasShortFlags) {
    const Outcome quiet = run_with({"-q"});
    EXPECT_EQ(quiet.status, 0) << quiet.error;
    EXPECT_THAT(quiet.out, IsEmpty());
    EXPECT_EQ(run_program(GetParam().program, {"-V"}).out,
              run_program(GetParam().program, {"--version"}).out);
}

TEST_P(EveryProgram, OnAGpuThatIsNotThereFailsWithStatusTwo) {
    if (core::gpu_status().usable || !has_device()) GTEST_SKIP() << "a GPU is there, or not used";
    const auto before = folder_.entries();
    const Outcome outcome = run_with({"--device", "gpu"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.error,
                StartsWith(GetParam().program + ": error: --device gpu: no usable GPU: "));
    EXPECT_EQ(folder_.entries(), before);
}

TEST_P(EveryProgram, QuietSaysNothing) {
    const Outcome outcome =
        run_with(has_device() ? std::vector<std::string>{"--quiet", "--device", "auto"}
                              : std::vector<std::string>{"--quiet"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.error, IsEmpty());
}

TEST_P(EveryProgram, OnAFullDiskLeavesTheOldFiles) {
    write_bytes(folder_ / GetParam().output, "old");
    const auto before = folder_.entries();
    expect_refused(GetParam().program, run_with({}, {.file_size_limit = GetParam().limit}),
                   GetParam().output + ": cannot write");
    EXPECT_EQ(folder_.entries(), before);
    EXPECT_EQ(read_bytes(folder_ / GetParam().output), "old");
}

TEST_P(EveryProgram, FailsIfStandardOutputIsFull) {
    const Outcome outcome = run_with({}, {.stdout_full = true});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("standard output"));
}

TEST_P(EveryProgram, IsRefusedAFolderWithoutPermission) {
    if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
    if (!has_device()) GTEST_SKIP() << "--out is among its arguments";
    using std::filesystem::perms;
    std::filesystem::create_directory(folder_ / "closed");
    std::filesystem::permissions(folder_ / "closed", perms::owner_read);
    const std::filesystem::path extension = std::filesystem::path(GetParam().output).extension();
    expect_refused(GetParam().program, run_with({"--out", "FOLDER/closed/x" + extension.string()}),
                   "permission denied");
    std::filesystem::permissions(folder_ / "closed", perms::owner_all);
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "closed"));
}

}  // namespace
}  // namespace aperture::apps::tests
