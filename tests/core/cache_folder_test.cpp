// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/cache_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace aperture::core {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Has a cache folder of its own.
class Cache : public testing::Test {
  protected:
    Cache() {
        setenv("XDG_CACHE_HOME", home_.path().c_str(), 1);
        unsetenv("APERTURE_CACHE");
    }

    static CacheFolder open() { return CacheFolder::open().value(); }
    fs::path folder() const { return home_ / "aperture"; }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder())) {
            names.push_back(entry.path().filename());
        }
        return names;
    }
    /// Makes a file of zeros that was used some hours ago.
    fs::path make_file(const std::string& name, std::uintmax_t bytes,
                       std::chrono::hours unused) const {
        fs::path file = folder() / name;
        std::ofstream(file).close();
        fs::resize_file(file, bytes);
        fs::last_write_time(file, fs::file_time_type::clock::now() - unused);
        return file;
    }

    const tests::TemporaryFolder home_;
};
using CacheDeathTest = Cache;

TEST_F(Cache, GivesWhatWasWritten) {
    const CacheFolder cache = open();
    EXPECT_FALSE(cache.read(".so", "a"));
    const std::string bytes("\0code\n\xff", 7);
    cache.write(".so", "a", bytes);
    cache.write(".so", "another", "");
    EXPECT_EQ(cache.read(".so", "a"), bytes);
    EXPECT_EQ(open().read(".so", "another"), "");
    EXPECT_FALSE(cache.read(".cubin", "a"));
    EXPECT_FALSE(cache.read(".so", "b"));
    cache.write(".so", "a", "newer");
    EXPECT_EQ(cache.read(".so", "a"), "newer");
    EXPECT_EQ(files().size(), 2u) << "only whole files under their own name";
}

TEST_F(Cache, IsTheUsersAlone) {
    const mode_t before = umask(0);
    open().write(".so", "a", "code");
    umask(before);
    struct stat status {};
    ASSERT_EQ(stat(folder().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    ASSERT_EQ(stat(open().path(".so", "a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Cache, IsNotUsedWhereOthersMayWrite) {
    open().write(".so", "a", "code");
    for (const mode_t mode : {0770, 0702}) {
        ASSERT_EQ(chmod(folder().c_str(), mode), 0);
        EXPECT_FALSE(CacheFolder::open()) << std::oct << mode;
    }
    ASSERT_EQ(chmod(folder().c_str(), 0755), 0);
    EXPECT_TRUE(CacheFolder::open());
    if (geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
    ASSERT_EQ(chown(folder().c_str(), 1, 1), 0);
    EXPECT_FALSE(CacheFolder::open());
}

TEST_F(Cache, DoesNotFollowLinks) {
    const CacheFolder cache = open();
    cache.write(".so", "a", "code");
    const fs::path file = cache.path(".so", "a"), elsewhere = home_ / "elsewhere";
    fs::rename(file, elsewhere);
    fs::create_symlink(elsewhere, file);
    EXPECT_FALSE(cache.read(".so", "a"));
    cache.write(".so", "a", "replaces the link");
    EXPECT_FALSE(fs::is_symlink(file));
    EXPECT_EQ(cache.read(".so", "a"), "replaces the link");

    fs::rename(folder(), home_ / "moved");
    fs::create_symlink(home_ / "moved", folder());
    EXPECT_FALSE(CacheFolder::open());
}

TEST_F(Cache, IsFoundByTheEnvironment) {
    setenv("APERTURE_CACHE", "off", 1);
    EXPECT_FALSE(CacheFolder::open());
    unsetenv("APERTURE_CACHE");
    EXPECT_FALSE(fs::exists(folder()));
    setenv("HOME", home_.path().c_str(), 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    EXPECT_EQ(open().path(".so", "a").parent_path(), home_ / ".cache/aperture");
    unsetenv("XDG_CACHE_HOME");
    EXPECT_TRUE(CacheFolder::open());
    setenv("HOME", "", 1);
    EXPECT_FALSE(CacheFolder::open());
    // The folder cannot be created because a file of that name exists.
    setenv("XDG_CACHE_HOME", (home_ / "file").c_str(), 1);
    std::ofstream(home_ / "file") << "in the way";
    EXPECT_FALSE(CacheFolder::open());
}

TEST_F(Cache, DoesNotGiveWhatIsDamagedOrAnothers) {
    const CacheFolder cache = open();
    const std::string code(1000, 'c');
    cache.write(".so", "a", code);
    const fs::path file = cache.path(".so", "a");
    const std::uintmax_t size = fs::file_size(file);
    const auto expect_refused = [&](const char* damage) {
        EXPECT_FALSE(cache.read(".so", "a")) << damage;
        cache.write(".so", "a", code);
        EXPECT_EQ(cache.read(".so", "a"), code) << damage;
    };
    fs::resize_file(file, 0);
    expect_refused("empty");
    fs::resize_file(file, size - 1);
    expect_refused("truncated");
    fs::resize_file(file, size + 1);
    expect_refused("longer");
    for (const std::streamoff at : {0, 999, 1000, 1001, 1020}) {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(at) << '\x5a';
        stream.close();
        expect_refused("a byte changed");
    }
    // As if both identities had one hash, where one ends as the other.
    for (const char* other : {"b", "aa", ""}) {
        cache.write(".so", other, code);
        fs::rename(cache.path(".so", other), file);
        expect_refused(other);
    }
    fs::remove(file);
    fs::create_directory(file);
    EXPECT_FALSE(cache.read(".so", "a"));
    cache.write(".so", "a", code);
    EXPECT_EQ(files().size(), 1u) << "no partial file is left";
}

TEST_F(Cache, DropsWhatWasNotUsedForTheLongestTime) {
    const CacheFolder cache = open();
    const fs::path day_old = make_file("day_old", 1000, 24h), hour_old = make_file("h", 1000, 1h);
    cache.write(".so", "a", std::string(900, 'c'));
    fs::last_write_time(cache.path(".so", "a"), fs::file_time_type::clock::now() - 48h);
    fs::create_directory(folder() / "somebody's");
    cache.prune(10'000);
    EXPECT_EQ(files().size(), 4u);
    ASSERT_TRUE(cache.read(".so", "a")) << "a use";
    cache.prune(2000);
    EXPECT_FALSE(fs::exists(day_old));
    EXPECT_TRUE(fs::exists(hour_old));
    cache.prune(1000);
    EXPECT_FALSE(fs::exists(hour_old));
    EXPECT_TRUE(cache.read(".so", "a"));
    cache.prune(0);
    EXPECT_FALSE(cache.read(".so", "a"));
    EXPECT_EQ(files().size(), 1u) << "the folder";
    fs::remove_all(folder());
    cache.prune(0);
}

// The first write of a process prunes.
TEST_F(CacheDeathTest, IsPrunedTo256MB) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto write = [this] {
        const CacheFolder cache = open();
        make_file("large", (256u << 20) - 100, 2h);
        make_file("small", 1000, 1h);
        cache.write(".so", "a", "code");
        const bool pruned = !fs::exists(folder() / "large") && fs::exists(folder() / "small") &&
                            cache.read(".so", "a") == "code";
        make_file("large", 256u << 20, 2h);
        cache.write(".so", "b", "code");
        const bool once = fs::exists(folder() / "large");
        fs::remove_all(home_.path());
        std::exit(pruned && once ? 0 : 1);
    };
    EXPECT_EXIT(write(), testing::ExitedWithCode(0), "");
}

TEST_F(CacheDeathTest, LeavesNothingOfAWriteThatFails) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto write = [this] {
        const CacheFolder cache = open();
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit most{1000, 1000};
        setrlimit(RLIMIT_FSIZE, &most);
        cache.write(".so", "a", std::string(2000, 'c'));
        const bool nothing = files().empty() && !cache.read(".so", "a");
        fs::remove_all(home_.path());
        std::exit(nothing ? 0 : 1);
    };
    EXPECT_EXIT(write(), testing::ExitedWithCode(0), "");
}

TEST_F(Cache, ThreadsMayReadWriteAndPrune) {
    const CacheFolder cache = open();
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&cache, thread] {
            const std::string code(5000, static_cast<char>('a' + thread));
            for (int i = 0; i < 50; ++i) {
                cache.write(".so", "a", code);
                const auto read = cache.read(".so", "a");
                if (read) {
                    EXPECT_EQ(*read, std::string(5000, read->front()));
                }
                if (i % 10 == thread) cache.prune(0);
            }
        });
    }
    threads.clear();
    cache.write(".so", "a", "last");
    EXPECT_EQ(cache.read(".so", "a"), "last");
    EXPECT_EQ(files().size(), 1u);
}

}  // namespace
}  // namespace aperture::core
