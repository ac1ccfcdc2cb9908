// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/kernel_groups.hpp"

#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/compose/listing1.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/variable.hpp"

namespace aperture::compose {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAreArray;

/// Groups of kernels that no compiler sees, in a cache of its own.
class ComposeKernelGroups : public testing::Test {
  protected:
    ComposeKernelGroups() {
        // The child of a death test has its parent's folder.
        constexpr const char* variable = "APERTURE_KERNEL_GROUPS_TEST";
        if (const char* const of_parent = std::getenv(variable)) {
            cache_ = of_parent;
        } else {
            cache_ = folder_.emplace().path();
            setenv(variable, cache_.c_str(), 1);
        }
        home_.emplace("XDG_CACHE_HOME", cache_.c_str());
    }
    ~ComposeKernelGroups() override { unsetenv("APERTURE_KERNEL_GROUPS_TEST"); }

    /// Plans of a program that no other test has: the process knows its kernels only by this one.
    static std::vector<Plan> plans_of(const std::string& name) {
        const std::regex symbol("\\b([ABcDEF]|[Mvs][123])\\b");
        const std::string text = std::regex_replace(listing1, symbol, "$1_" + name);
        return best_plans(parse(text), Registry(), 8);
    }
    std::vector<std::vector<KernelPlace>> compile(std::span<const Plan> plans,
                                                  Target target = Target::cpu) {
        groups_.clear();
        return compile_groups(plans, target, [&](const KernelGroup& group) {
            const std::scoped_lock lock(mutex_);
            groups_.push_back(group.text);
            if (fails_) throw core::InvalidArgument("no");
            return has_code_;
        });
    }
    std::size_t kernels() const {
        std::size_t all = 0;
        for (const std::string& text : groups_) {
            for (std::size_t at = 0; (at = text.find("struct Kernel {", at)) != std::string::npos;
                 ++at) {
                ++all;
            }
        }
        return all;
    }

    std::vector<std::string> groups_;  // that were compiled
    bool has_code_ = true, fails_ = false;
    std::optional<tests::TemporaryFolder> folder_;  // none of a child

  private:
    fs::path cache_;
    std::optional<tests::Variable> home_;
    std::mutex mutex_;
};
using ComposeKernelGroupsDeathTest = ComposeKernelGroups;

TEST_F(ComposeKernelGroups, HaveEachTextOnce) {
    for (const Target target : {Target::cpu, Target::device}) {
        const std::vector<Plan> plans = plans_of("each");
        const auto places = compile(plans, target);
        std::map<std::string, std::string> functions;  // names by texts
        std::set<std::string> names;
        ASSERT_EQ(places.size(), plans.size());
        for (std::size_t i = 0; i < plans.size(); ++i) {
            ASSERT_EQ(places[i].size(), plans[i].kernels().size());
            for (std::size_t k = 0; k < places[i].size(); ++k) {
                const auto& [group, first] = places[i][k];
                const std::string text =
                    generate(*plans[i].program, *plans[i].kernels()[k], target).text;
                const std::size_t begin = group->text.find(" {\n" + text + "}\n");
                ASSERT_NE(begin, std::string::npos);
                const std::size_t space = group->text.rfind(' ', begin - 1) + 1;
                const std::string name = core::text(
                    "aperture::compose::generated::", group->text.substr(space, begin - space),
                    target == Target::cpu ? "::strips" : "::elements");
                EXPECT_EQ(group->functions[first], name);
                const std::string whole = group->text + name;
                EXPECT_EQ(functions.try_emplace(text, whole).first->second, whole);
                names.insert(whole);
            }
        }
        EXPECT_EQ(names.size(), functions.size());
        EXPECT_EQ(kernels(), functions.size());
        EXPECT_EQ(groups_.size(), std::min(functions.size(), processors()));
    }
}

TEST_F(ComposeKernelGroups, AreKnownLater) {
    const std::vector<Plan> plans = plans_of("later");
    compile(plans);
    const std::size_t all = groups_.size();
    const auto sorted = [](std::vector<std::string> texts) {
        std::sort(texts.begin(), texts.end());
        return texts;
    };
    const std::vector<std::string> first = sorted(groups_);
    compile(plans);
    EXPECT_THAT(sorted(groups_), ElementsAreArray(first));
    const auto places = compile({plans.data(), 1});
    EXPECT_LE(groups_.size(), std::min(all, places.front().size()));
    EXPECT_THAT(first, testing::IsSupersetOf(groups_));
}

TEST_F(ComposeKernelGroups, AreNotKnownWithoutCode) {
    const std::vector<Plan> plans = plans_of("without");
    has_code_ = false;
    compile(plans);
    const std::size_t all = kernels();
    compile({plans.data(), 1});
    EXPECT_EQ(kernels(), plans.front().kernels().size());
    fails_ = true;
    EXPECT_THROW(compile(plans), core::InvalidArgument);
    fails_ = false;
    compile({&plans.back(), 1});
    EXPECT_EQ(kernels(), plans.back().kernels().size());
    EXPECT_LT(kernels(), all);
}

TEST_F(ComposeKernelGroupsDeathTest, AreKnownToOtherProcesses) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const std::vector<Plan> plans = plans_of("others");
    // On one processor, the parent has a group for all.
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    if (folder_) compile(plans);
    const auto in_child = [&] {
        compile({plans.data(), 1});
        std::exit(groups_.size() == 1 && kernels() > plans.front().kernels().size() ? 0 : 1);
    };
    EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), "");
    ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace aperture::compose
