// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/wisdom.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/variable.hpp"

namespace aperture::compose {
namespace {

namespace fs = std::filesystem;

Program sum_of_images(index_t rows, index_t columns) {
    const std::string image = core::text("array f32[", rows, ", ", columns, "];");
    return parse("program sums { input a: " + image + " local b: " + image + " local c: " + image +
                 " b = add(a, a); c = add(b, a); return c; }");
}

/// Has a folder of its own.
class ComposeWisdom : public testing::Test {
  protected:
    std::vector<std::string> lines() const {
        std::ifstream stream(file_);
        std::vector<std::string> all;
        for (std::string line; std::getline(stream, line);) all.push_back(line);
        return all;
    }
    void write(const std::string& text) const { std::ofstream(file_) << text; }
    CallsOfKernels kernels(const Program& program = sum_of_images(20, 30)) const {
        const auto found = Wisdom(file_).plan("a device", program);
        return found ? found->kernels : CallsOfKernels{};
    }

    const tests::TemporaryFolder folder_;
    const fs::path file_ = folder_ / "plans.jsonl";
    const Program program_ = sum_of_images(20, 30);
    const CallsOfKernels both_{{0, 1}}, one_by_one_{{0}, {1}};
};

TEST_F(ComposeWisdom, GivesWhatWasKept) {
    const Wisdom wisdom(file_);
    EXPECT_FALSE(wisdom.plan("a device", program_));
    wisdom.keep("a device", program_, {one_by_one_, 0.25, 0.5});
    wisdom.keep("another \"device\" \xff", program_, {both_, 1, 2});
    const auto found = Wisdom(file_).plan("a device", program_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kernels, one_by_one_);
    EXPECT_EQ(found->predicted_seconds, 0.25);
    EXPECT_EQ(found->measured_seconds, 0.5);
    EXPECT_TRUE(found->loop_kernels.empty());
    EXPECT_FALSE(wisdom.plan("a third device", program_));
    wisdom.keep("a device", program_, {both_, 1, 2, {0, 3}});
    EXPECT_EQ(kernels(), both_) << "the last one counts";
    EXPECT_EQ(wisdom.plan("a device", program_)->loop_kernels, (std::vector{0, 3}));
    EXPECT_EQ(lines().size(), 3U);
    struct stat status {};
    ASSERT_EQ(stat(file_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0177, 0U) << "the user's alone";
}

TEST_F(ComposeWisdom, IsOfProgramsOfAboutTheSameExtents) {
    Wisdom(file_).keep("a device", program_, {both_, 1, 2});
    EXPECT_EQ(kernels(sum_of_images(17, 32)), both_);
    EXPECT_EQ(kernels(sum_of_images(16, 30)), CallsOfKernels());
    EXPECT_EQ(kernels(sum_of_images(20, 33)), CallsOfKernels());

    const auto batches = [](int problems, int order) {
        return parse(core::text("program p { inout A: batch f32[", problems, ", ", order, ", ",
                                order, "]; A = add(A, A); return A; }"));
    };
    Wisdom(file_).keep("a device", batches(100, 5), {{{0}}, 1, 2});
    EXPECT_EQ(kernels(batches(128, 5)), CallsOfKernels{{0}});
    EXPECT_EQ(kernels(batches(129, 5)), CallsOfKernels());
    EXPECT_EQ(kernels(batches(100, 6)), CallsOfKernels());
}

TEST_F(ComposeWisdom, SkipsWhatIsDamaged) {
    const Wisdom wisdom(file_);
    wisdom.keep("a device", program_, {both_, 1, 2});
    const std::string good = lines().at(0);
    const std::string calls = "[[0,1]]";
    const std::size_t at = good.find(calls);
    ASSERT_NE(at, std::string::npos);
    const auto with = [&](const std::string& other) {
        return std::string(good).replace(at, calls.size(), other);
    };
    auto slow = nlohmann::json::parse(good);
    const std::string hash = slow.at("text");
    slow["measured_seconds"] = "slow";
    const std::vector<std::string> damaged{good.substr(0, good.size() - 1),
                                           good.substr(1),
                                           "",
                                           "\xff\xfe" + hash,
                                           "[\"" + hash + "\"]",
                                           core::text(R"({"text":")", hash, "\"}"),
                                           with("0"),
                                           with("[0,1]"),
                                           with("[[0,1.5]]"),
                                           with("[[0,\"1\"]]"),
                                           with("[[0,null]]"),
                                           with("[[0,1e300]]"),
                                           with("[[0,1]],\"loop_kernels\":1"),
                                           with("[[0,1]],\"loop_kernels\":[1.5]"),
                                           slow.dump(),
                                           std::string(100000, '[') + hash};
    for (const std::string& line : damaged) {
        write(line + "\n");
        EXPECT_EQ(kernels(), CallsOfKernels()) << line.substr(0, 200);
        write(core::text(good, '\n', line, '\n'));
        EXPECT_EQ(kernels(), both_) << line.substr(0, 200);
        // A disk that was full left no end of a line: the next one is lost, too.
        write(line);
        wisdom.keep("a device", program_, {one_by_one_, 1, 2});
        wisdom.keep("a device", program_, {one_by_one_, 1, 2});
        EXPECT_EQ(kernels(), one_by_one_) << line.substr(0, 200);
    }
}

TEST_F(ComposeWisdom, HasRatesOfMachines) {
    const Wisdom wisdom(file_);
    Machine machine{.multiprocessors = 7};
    EXPECT_FALSE(wisdom.rates("a device", machine));
    wisdom.keep_rates("a device", h100);
    ASSERT_TRUE(wisdom.rates("a device", machine));
    EXPECT_EQ(machine.bytes_a_second, h100.bytes_a_second);
    EXPECT_EQ(machine.latency_seconds, h100.latency_seconds);
    EXPECT_EQ(machine.multiprocessors, 7) << "the device says what it has";
    EXPECT_FALSE(wisdom.rates("another", machine));
    Machine bad = h100;
    for (const double rate : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
        bad.flops_a_second = rate;
        wisdom.keep_rates("bad", bad);
        EXPECT_FALSE(wisdom.rates("bad", machine)) << rate;
    }
    EXPECT_EQ(machine.flops_a_second, h100.flops_a_second);
}

TEST_F(ComposeWisdom, IsNotKeptWhereItCannotBeWritten) {
    const auto expect_nothing = [&](const Wisdom& wisdom) {
        wisdom.keep("a device", program_, {both_, 1, 2});
        EXPECT_FALSE(wisdom.plan("a device", program_));
    };
    expect_nothing(Wisdom({}));
    expect_nothing(Wisdom(file_, true));
    EXPECT_FALSE(fs::exists(file_));
    expect_nothing(Wisdom(folder_.path()));
    expect_nothing(Wisdom(folder_ / "no/such/file"));
    ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
    expect_nothing(Wisdom(file_));
    expect_nothing(Wisdom("/dev/full"));

    fs::remove(file_);
    Wisdom(file_).keep("a device", program_, {both_, 1, 2});
    Wisdom(file_, true).keep("a device", program_, {one_by_one_, 1, 2});
    EXPECT_EQ(kernels(), both_);
    if (geteuid() == 0) return;  // who may write into all files
    ASSERT_EQ(chmod(file_.c_str(), 0400), 0);
    Wisdom(file_).keep("a device", program_, {one_by_one_, 1, 2});
    EXPECT_EQ(kernels(), both_);
}

TEST_F(ComposeWisdom, ProcessesMayWriteAtATime) {
    constexpr int processes = 4, lines_of_each = 100;
    std::vector<pid_t> children;
    for (int process = 0; process < processes; ++process) {
        const pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < lines_of_each; ++i) {
                Wisdom(file_).keep(core::text("device ", process), program_,
                                   {{{process, i}}, 1, 2});
            }
            _exit(0);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(lines().size(), std::size_t{processes * lines_of_each});
    for (const std::string& line : lines()) {
        EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    }
    for (int process = 0; process < processes; ++process) {
        const auto found = Wisdom(file_).plan(core::text("device ", process), program_);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->kernels, (CallsOfKernels{{process, lines_of_each - 1}}));
    }
}

TEST_F(ComposeWisdom, BeginsAnewWhenItIsLarge) {
    const Wisdom wisdom(file_);
    wisdom.keep("a device", program_, {both_, 1, 2});
    std::ofstream(file_, std::ios::app) << std::string(4300 << 10, 'x') << '\n';
    EXPECT_EQ(kernels(), both_);
    wisdom.keep("a new device", program_, {one_by_one_, 1, 2});
    EXPECT_EQ(lines().size(), 1U);
    EXPECT_TRUE(wisdom.plan("a new device", program_));
}

TEST_F(ComposeWisdom, IsFoundByTheEnvironment) {
    const tests::Variable home("XDG_CACHE_HOME", folder_.path().c_str());
    const tests::Variable wisdom("APERTURE_WISDOM", nullptr);
    const tests::Variable cache("APERTURE_CACHE", nullptr);
    EXPECT_EQ(usual_wisdom_file(), folder_ / "aperture/wisdom/plans.jsonl");
    Wisdom(usual_wisdom_file()).keep("a device", program_, {both_, 1, 2});
    EXPECT_TRUE(fs::exists(usual_wisdom_file()));
    const tests::Variable off("APERTURE_CACHE", "off");
    EXPECT_EQ(usual_wisdom_file(), "");
    const tests::Variable file("APERTURE_WISDOM", file_.c_str());
    EXPECT_EQ(usual_wisdom_file(), file_);
}

}  // namespace
}  // namespace aperture::compose
