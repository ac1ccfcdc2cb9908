// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/host_compiler.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "aperture/core/compilation_counts.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/child_process.hpp"
#include "libcompose/private_folder.hpp"
#include "tests/variable.hpp"

namespace aperture::compose {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string contents(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// What `work` returns in a child process, which has nothing that this one has compiled since.
std::string in_child(const std::function<std::string()>& work) {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        const std::string words = work();
        const bool written =
            ::write(ends[1], words.data(), words.size()) == static_cast<ssize_t>(words.size());
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    std::string words;
    std::array<char, 256> piece{};
    for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) > 0;) {
        words.append(piece.data(), static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status)) words += core::text(" killed by signal ", WTERMSIG(status));
    return words;
}

/// A function that returns 40 + 2; `comment` makes the text another one.
HostSource answer(const std::string& comment) {
    return {core::text("int answer() { return 40 + 2; } // ", comment, "\n"), {"answer"}};
}

/// "42 compiled", "42 cached", or the reason.
std::string result_of(const HostSource& source) {
    const HostCompiled compiled = compile_on_host(source);
    if (compiled.loaded == nullptr) return compiled.reason;
    return core::text(compiled.loaded->function<int()>("answer")(),
                      compiled.from_cache ? " cached" : " compiled");
}

/// Every test has folders of its own for the cache and for temporary files.
class ComposeHostCompiler : public testing::Test {
  protected:
    void SetUp() override { fs::create_directory(path("tmp")); }
    void TearDown() override {
        EXPECT_TRUE(fs::is_empty(path("tmp"))) << "temporary files are left";
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD) << "a child process is left";
    }

    fs::path path(const std::string& name) const { return folder_.path() / name; }
    fs::path cached_file() const {
        const fs::directory_iterator all(path("cache/aperture")), end;
        return all == end ? fs::path() : all->path();
    }
    /// A program that says its version, then runs `script` with the compiler's arguments.
    std::string compiler(const std::string& script, const std::string& version = "version 1") {
        const fs::path file = path("compiler");
        fs::remove(file);
        std::ofstream(file) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" << version
                            << "'; exit; fi\n"
                            << script << '\n';
        fs::permissions(file, fs::perms::owner_all);
        return file;
    }

    PrivateFolder folder_;
    tests::Variable cache_{"XDG_CACHE_HOME", (folder_.path() / "cache").c_str()};
    tests::Variable temporary_{"TMPDIR", (folder_.path() / "tmp").c_str()};
    tests::Variable is_on_{"APERTURE_CACHE", nullptr};
    tests::Variable by_default_{"APERTURE_CXX", nullptr};
};

TEST_F(ComposeHostCompiler, CompilesTheFunctionsThatAreNamed) {
    const HostSource source{
        "#include <math.h>\n"
        "namespace kernels {\n"
        "template <class T> void scale(T* x, int n, T by) {\n"
        "    for (int i = 0; i < n; ++i) x[i] *= by;\n"
        "}\n"
        "}\n"
        "static double root(double x) { return sqrt(x); }\n",
        {"kernels::scale<float>", "kernels::scale<double>", "root"}};
    const HostCompiled compiled = compile_on_host(source);
    ASSERT_NE(compiled.loaded, nullptr) << compiled.reason;
    EXPECT_FALSE(compiled.from_cache);
    EXPECT_THAT(compiled.reason, IsEmpty());
    EXPECT_GT(compiled.ms, 0);
    const HostLibrary& library = *compiled.loaded;
    float x[] = {1, 2, 3};
    library.function<void(float*, int, float)>("kernels::scale<float>")(x, 3, 2.0F);
    EXPECT_THAT(x, testing::ElementsAre(2, 4, 6));
    double y[] = {1, 2, 3};
    library.function<void(double*, int, double)>("kernels::scale<double>")(y, 2, 3.0);
    EXPECT_THAT(y, testing::ElementsAre(3, 6, 3));
    EXPECT_EQ(library.function<double(double)>("root")(6.25), 2.5);
    EXPECT_THROW(library.function<double(double)>("kernels::scale"), core::InvalidArgument);
    EXPECT_THROW(compile_on_host({"int f() { return 1; }", {}}), core::InvalidArgument);
}

TEST_F(ComposeHostCompiler, DoesNotChangeArithmetic) {
    const HostSource source{
        "double f(double a, double b, double c) { return a * b + c; }\n"
        "bool is_nan(double a) { return a != a; }\n",
        {"f", "is_nan"}};
    const HostCompiled compiled = compile_on_host(source);
    ASSERT_NE(compiled.loaded, nullptr) << compiled.reason;
    const double a = 1 + 0x1p-30;
    // Contracted, the result would be 2^-60.
    EXPECT_EQ(compiled.loaded->function<double(double, double, double)>("f")(a, a, -1 - 0x1p-29),
              0);
    EXPECT_TRUE(compiled.loaded->function<bool(double)>("is_nan")(std::nan("")));
}

TEST_F(ComposeHostCompiler, PassesOptionsAndEmbeddedFiles) {
    static constexpr core::KernelText first[] = {
        {"bodies/number.cuh", "#pragma once\ninline int number() { return NUMBER; }\n"},
        {"bodies/sum.cuh",
         "#pragma once\n#include \"bodies/number.cuh\"\n"
         "inline int sum() { return number() + 1; }\n"}};
    static constexpr core::KernelText second[] = {
        {"bodies/number.cuh", "#pragma once\ninline int number() { return 2 * NUMBER; }\n"},
        first[1]};
    HostSource source{
        "#include \"bodies/sum.cuh\"\n#include \"bodies/number.cuh\"\n"
        "int answer() { return sum() + number(); }\n",
        {"answer"},
        {first},
        {"-DNUMBER=10"}};
    EXPECT_EQ(result_of(source), "21 compiled");
    EXPECT_EQ(result_of(source), "21 cached");
    source.options = {"-DNUMBER=20"};
    EXPECT_EQ(result_of(source), "41 compiled");
    source.texts = {second};
    EXPECT_EQ(result_of(source), "81 compiled");
    EXPECT_EQ(in_child([&] { return result_of(source); }), "81 cached");
    static constexpr core::KernelText outside[] = {{"../number.cuh", ""}};
    source.texts = {outside};
    EXPECT_THROW(compile_on_host(source), core::InvalidArgument);
}

TEST_F(ComposeHostCompiler, KeepsResultsInMemoryAndOnDisk) {
    const HostSource source = answer("kept");
    EXPECT_EQ(in_child([&] { return result_of(source); }), "42 compiled");
    EXPECT_EQ(in_child([&] { return result_of(source); }), "42 cached");
    const core::CompilationCounts before = core::compilation_counts();
    const HostCompiled from_disk = compile_on_host(source);
    EXPECT_TRUE(from_disk.from_cache);
    EXPECT_EQ(compile_on_host(source).loaded, from_disk.loaded);
    const core::CompilationCounts after = core::compilation_counts();
    EXPECT_EQ(after.compiled, before.compiled);
    EXPECT_EQ(after.from_cache, before.from_cache + 1);
    EXPECT_GT(after.ms, before.ms);
    EXPECT_EQ(in_child([&] { return result_of(answer("another")); }), "42 compiled");
    const tests::Variable off("APERTURE_CACHE", "off");
    EXPECT_EQ(in_child([&] { return result_of(answer("another")); }), "42 compiled");
}

TEST_F(ComposeHostCompiler, CompilesAgainWhatIsDamagedOnDisk) {
    const HostSource source = answer("damaged");
    EXPECT_EQ(in_child([&] { return result_of(source); }), "42 compiled");
    const std::string whole = contents(cached_file());
    for (const std::size_t at : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(~damaged[at]);
        std::ofstream(cached_file(), std::ios::binary) << damaged;
        EXPECT_EQ(in_child([&] { return result_of(source); }), "42 compiled") << at;
        EXPECT_EQ(in_child([&] { return result_of(source); }), "42 cached") << at;
    }
    std::ofstream(cached_file(), std::ios::binary) << whole.substr(0, whole.size() / 2);
    EXPECT_EQ(in_child([&] { return result_of(source); }), "42 compiled");
}

TEST_F(ComposeHostCompiler, DoesNotTakeTheObjectOfAnotherText) {
    EXPECT_EQ(in_child([&] { return result_of(answer("mine")); }), "42 compiled");
    const fs::path mine = cached_file();
    const std::string before = contents(mine);
    fs::remove(mine);
    HostSource other = answer("other");
    other.text = "int answer() { return 7; }";
    EXPECT_EQ(in_child([&] { return result_of(other); }), "7 compiled");
    // As if both had one hash.
    std::ofstream(cached_file(), std::ios::binary) << before;
    EXPECT_EQ(in_child([&] { return result_of(other); }), "7 compiled");
}

TEST_F(ComposeHostCompiler, CompilesAgainForAnotherCompilerOrProcessor) {
    const HostSource source = answer("versions");
    const auto result = [&](const std::string& version) {
        const std::string its_path = compiler("exec /usr/bin/g++ \"$@\"", version);
        const tests::Variable chosen("APERTURE_CXX", its_path.c_str());
        return in_child([&] { return result_of(source); });
    };
    EXPECT_EQ(result("version 1"), "42 compiled");
    EXPECT_EQ(result("version 1"), "42 cached");
    EXPECT_EQ(result("version 2"), "42 compiled");
#if defined(__x86_64__)
    EXPECT_THAT(processor(), AllOf(HasSubstr("flags"), HasSubstr("sse2"), HasSubstr("model")));
    EXPECT_THAT(processor(), Not(HasSubstr("MHz"))) << "varies from one moment to the next";
#endif
}

TEST_F(ComposeHostCompiler, WorksWithoutAFolderForTheCache) {
    std::ofstream(path("file")) << "no folder";
    const tests::Variable none("XDG_CACHE_HOME", path("file").c_str());
    EXPECT_EQ(in_child([&] { return result_of(answer("no folder")); }), "42 compiled");
    EXPECT_EQ(in_child([&] { return result_of(answer("no folder")); }), "42 compiled");
}

TEST_F(ComposeHostCompiler, CompilesInTmpWithoutAnotherFolder) {
    for (const char* folder : {"/does/not/exist", "relative", ""}) {
        const tests::Variable temporary("TMPDIR", folder);
        const HostSource source = answer(core::text("in tmp, not ", folder));
        EXPECT_EQ(result_of(source), "42 compiled");
    }
}

/// From here on the process cannot have files in memory.
bool forbid_files_in_memory() {
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{std::size(rules), rules};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(ComposeHostCompiler, LoadsFromAFileWhereMemoryIsForbidden) {
    const std::string result = in_child([] {
        if (!forbid_files_in_memory()) return std::string("cannot be forbidden");
        return result_of(answer("from a file")) + ", " + result_of(answer("from another file"));
    });
    if (result == "cannot be forbidden") GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(result, "42 compiled, 42 compiled");
}

TEST_F(ComposeHostCompiler, GivesAReasonIfThereIsNoCompiler) {
    const auto reason = [](const char* setting) {
        const tests::Variable chosen("APERTURE_CXX", setting);
        return result_of(answer("no compiler"));
    };
    EXPECT_EQ(reason("off"), "APERTURE_CXX is off");
    EXPECT_EQ(reason("/does/not/exist"), "APERTURE_CXX: /does/not/exist is no program");
    EXPECT_EQ(reason("/tmp"), "APERTURE_CXX: /tmp is no program");
    EXPECT_EQ(reason("/etc/passwd"), "APERTURE_CXX: /etc/passwd is no program");
    EXPECT_THAT(reason("/bin/false"), HasSubstr("/bin/false failed with status 1"));
    std::ofstream(path("damaged")) << "no program\n";
    fs::permissions(path("damaged"), fs::perms::owner_all);
    EXPECT_THAT(reason(path("damaged").c_str()), HasSubstr("cannot be started: Exec format error"));
    EXPECT_THAT([&] { reason("g++"); },
                testing::ThrowsMessage<core::InvalidArgument>(
                    "APERTURE_CXX is g++, expected the absolute path of a compiler, or off"));
    EXPECT_EQ(reason(""), "42 compiled");
    // What is loaded already does not override the setting.
    EXPECT_EQ(reason("off"), "APERTURE_CXX is off");
}

TEST_F(ComposeHostCompiler, ThrowsTheCompilersMessageForAWrongText) {
    const auto log = [](const HostSource& source) -> std::string {
        try {
            return core::text("no error; ", compile_on_host(source).reason);
        } catch (const core::CompileError& error) {
            EXPECT_THAT(error.what(), HasSubstr("compiling f failed"));
            return error.log();
        }
    };
    EXPECT_THAT(log({"int f() {\n    return nothing;\n}\n", {"f"}}),
                AllOf(HasSubstr("kernel.cpp:2:"), HasSubstr("error:"), HasSubstr("nothing")));
    EXPECT_THAT(log({"int g() { return 1; }\n", {"f"}}), HasSubstr("functions:1:"));
    EXPECT_THAT(log({"\n#line 7 \"mine.txt\"\nint f( { return 1; }\n", {"f"}}),
                HasSubstr("mine.txt:7:"));
    static constexpr core::KernelText body[] = {{"bodies/wrong.cuh", "\n\nint wrong = ;\n"}};
    EXPECT_THAT(log({"#include \"bodies/wrong.cuh\"\nint f() { return wrong; }\n", {"f"}, {body}}),
                HasSubstr("bodies/wrong.cuh:3:"));
    EXPECT_THAT(fs::is_empty(path("cache/aperture")), true);
}

TEST_F(ComposeHostCompiler, GivesAReasonIfTheCompilerFails) {
    const auto reason = [&](const std::string& script) {
        const std::string its_path = compiler(script);
        const tests::Variable chosen("APERTURE_CXX", its_path.c_str());
        return result_of(answer("a compiler that fails"));
    };
    EXPECT_THAT(reason("kill -SEGV $$"), HasSubstr("compiler was ended by signal 11"));
    EXPECT_THAT(reason("echo 'cc: fatal error: Killed signal terminated program cc1plus'; exit 1"),
                HasSubstr("failed with status 1:\ncc: fatal error: Killed signal"));
    EXPECT_THAT(reason("echo '/tmp/x.s:9: fatal error: No space left on device' >&2; exit 1"),
                HasSubstr("No space left on device"));
    EXPECT_THAT(reason("exit 0"), HasSubstr("compiler wrote no shared object"));
    EXPECT_THAT(reason("echo no object > kernel.so"), HasSubstr("kernel.so: file too short"));
    EXPECT_THAT(reason("rm \"$0\"; exec /does/not/exist"), HasSubstr("failed with status 127"));
    EXPECT_FALSE(fs::exists(cached_file()));
    EXPECT_EQ(reason("exec /usr/bin/g++ \"$@\""), "42 compiled");
}

TEST_F(ComposeHostCompiler, GivesAReasonIfTheLibraryCannotBeLoaded) {
    const HostCompiled compiled = compile_on_host(
        {"int not_in_this_program();\nint f() { return not_in_this_program(); }\n", {"f"}});
    EXPECT_EQ(compiled.loaded, nullptr);
    EXPECT_THAT(compiled.reason, HasSubstr("undefined symbol: _Z19not_in_this_programv"));
    EXPECT_FALSE(fs::exists(cached_file()));
}

TEST_F(ComposeHostCompiler, GivesAReasonIfTheDiskIsFull) {
    const auto with_limit = [](rlim_t bytes) {
        return in_child([bytes] {
            std::signal(SIGXFSZ, SIG_IGN);
            const rlimit limit{bytes, bytes};
            ::setrlimit(RLIMIT_FSIZE, &limit);
            return result_of(answer("a full disk"));
        });
    };
    EXPECT_THAT(with_limit(0), HasSubstr("kernel.cpp cannot be written: File too large"));
    EXPECT_THAT(with_limit(3000), HasSubstr("File too large"));
}

TEST_F(ComposeHostCompiler, KillsACompilerThatHangs) {
    // Its child, too, which holds the pipe.
    const std::string its_path =
        compiler(core::text("echo $$ > ", path("pids").string(), "; sleep 100 & echo $! >> ",
                            path("pids").string(), "; wait"));
    const tests::Variable chosen("APERTURE_CXX", its_path.c_str());
    HostSource source = answer("a compiler that hangs");
    source.limit = std::chrono::milliseconds(300);
    const HostCompiled compiled = compile_on_host(source);
    EXPECT_THAT(compiled.reason, HasSubstr("did not end within 0.3 s"));
    EXPECT_LT(compiled.ms, 5000);
    std::ifstream pids(path("pids"));
    int count = 0;
    for (pid_t pid = 0; pids >> pid; ++count) {
        // A killed orphan is there until the system's first process has seen its end.
        bool runs = true;
        for (int i = 0; runs && i < 500; ++i) {
            const std::string status = contents(core::text("/proc/", pid, "/stat"));
            runs = !status.empty() && status.find(") Z ") == std::string::npos;
            if (runs) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        EXPECT_FALSE(runs) << pid;
    }
    EXPECT_EQ(count, 2);
}

TEST_F(ComposeHostCompiler, GivesTheCompilerNothingOfTheCaller) {
    const tests::Variable secret("APERTURE_TEST_SECRET", "1");
    const int open_file = ::fcntl(STDERR_FILENO, F_DUPFD, 77);
    ASSERT_GE(open_file, 77);
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    sigset_t blocked, mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &mask);
    const std::string its_path = compiler(core::text(
        "exec 9> ", path("seen").string(),
        "; env >&9; pwd >&9; cat >&9; grep SigIgn /proc/self/status >&9; for d in "
        "/proc/$$/fd/*; do echo \"descriptor $d.\" >&9; done; exec /usr/bin/g++ \"$@\""));
    const tests::Variable chosen("APERTURE_CXX", its_path.c_str());
    EXPECT_EQ(result_of(answer("nothing of the caller")), "42 compiled");
    // A shell starts with signals that are not blocked.
    const ChildEnd blocks =
        run_child({"/bin/grep", "SigBlk", "/proc/self/status"}, "/", {}, std::chrono::seconds(30));
    EXPECT_EQ(blocks.output, "SigBlk:\t0000000000000000\n");
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    std::signal(SIGPIPE, before);
    ::close(open_file);
    const std::string seen = contents(path("seen"));
    EXPECT_THAT(seen, AllOf(HasSubstr("PATH=/usr/bin:/bin\n"), HasSubstr("LC_ALL=C\n"),
                            HasSubstr("TMPDIR=" + path("tmp/aperture.").string())));
    EXPECT_THAT(seen, AllOf(Not(HasSubstr("SECRET")), Not(HasSubstr("HOME=")),
                            Not(HasSubstr(core::text("/fd/", open_file, ".")))));
    // The C library ignores two signals of its own, 32 and 33.
    EXPECT_THAT(
        seen, AllOf(HasSubstr("/fd/2."), testing::ContainsRegex("SigIgn:\t[0-9a-f]{8}[08]0{7}\n")));
}

TEST_F(ComposeHostCompiler, ReadsAllOutputAndKeepsItsBeginning) {
    const ChildEnd end =
        run_child({"/bin/sh", "-c", "echo first; head -c 3000000 /dev/zero; echo last >&2; exit 3"},
                  "/", {}, std::chrono::seconds(30));
    EXPECT_EQ(end.failure, "");
    EXPECT_EQ(end.exit_status, 3);
    EXPECT_EQ(end.output.size(), 64U << 10);
    EXPECT_THAT(end.output, testing::StartsWith("first\n"));
    const ChildEnd silent = run_child({"/bin/sh", "-c", "exec >&- 2>&-; sleep 0.1; exit 4"}, "/",
                                      {}, std::chrono::seconds(30));
    EXPECT_EQ(silent.exit_status, 4);
    const ChildEnd hangs = run_child({"/bin/sh", "-c", "exec >&- 2>&-; exec sleep 100"}, "/",
                                     {"PATH=/usr/bin:/bin"}, std::chrono::milliseconds(200));
    EXPECT_THAT(hangs.failure, HasSubstr("did not end within 0.2 s"));
}

TEST_F(ComposeHostCompiler, GoesOnWhenSignalsInterrupt) {
    static std::atomic<int> signals = 0;
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) { ++signals; };  // without SA_RESTART
    ::sigaction(SIGALRM, &action, &before);
    const itimerval often{{0, 500}, {0, 500}}, never{};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    const std::string result = result_of(answer("signals"));
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    EXPECT_EQ(result, "42 compiled");
    EXPECT_GT(signals, 10);
}

TEST_F(ComposeHostCompiler, LivesWhereTheStatusOfChildrenIsIgnored) {
    EXPECT_THAT(in_child([] {
                    std::signal(SIGCHLD, SIG_IGN);
                    return result_of(answer("ignored children"));
                }),
                HasSubstr("took its status"));
}

TEST_F(ComposeHostCompiler, UsesALevelWhereNativeIsUnknown) {
    const std::string its_path = compiler(core::text(
        "for each in \"$@\"; do if [ \"$each\" = -march=native ]; then echo \"error: bad "
        "value 'native' for '-march=' switch\"; exit 1; fi; done; echo \"$@\" > ",
        path("arguments").string(), "; exec /usr/bin/g++ \"$@\""));
    const tests::Variable chosen("APERTURE_CXX", its_path.c_str());
    EXPECT_EQ(result_of(answer("a level")), "42 compiled");
#if defined(__x86_64__)
    EXPECT_THAT(contents(path("arguments")), HasSubstr("-march=x86-64-v"));
#endif
}

TEST_F(ComposeHostCompiler, CompilesOnceForManyThreads) {
    const std::string its_path =
        compiler(core::text("echo run >> ", path("runs").string(), "; exec /usr/bin/g++ \"$@\""));
    const tests::Variable chosen("APERTURE_CXX", its_path.c_str());
    std::array<std::string, 4> results;
    {
        std::vector<std::jthread> threads;
        for (std::string& result : results) {
            threads.emplace_back([&result] { result = result_of(answer("threads")); });
        }
    }
    std::sort(results.begin(), results.end());
    EXPECT_THAT(results,
                testing::ElementsAre("42 cached", "42 cached", "42 cached", "42 compiled"));
    EXPECT_EQ(contents(path("runs")), "run\n");
}

TEST_F(ComposeHostCompiler, SeveralProcessesMayCompileAtOnce) {
    std::array<std::string, 3> results;
    {
        std::vector<std::jthread> threads;
        for (std::string& result : results) {
            threads.emplace_back(
                [&result] { result = in_child([] { return result_of(answer("processes")); }); });
        }
    }
    EXPECT_THAT(results, testing::Each(testing::StartsWith("42 ")));
    EXPECT_EQ(in_child([] { return result_of(answer("processes")); }), "42 cached");
}

TEST_F(ComposeHostCompiler, KeepsTheLastLibrariesOnly) {
    const auto descriptors = [] {
        const fs::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const HostSource first = answer("the first of many");
    const HostCompiled held = compile_on_host(first);
    ASSERT_NE(held.loaded, nullptr) << held.reason;
    const auto before = descriptors();
    // Objects from disk, so that this does not take minutes.
    const std::string its_path = compiler(core::text("cp ", cached_file().string(), " kernel.so"));
    const tests::Variable chosen("APERTURE_CXX", its_path.c_str());
    for (int i = 0; i < 140; ++i) ASSERT_EQ(result_of(answer(core::text(i))), "42 compiled");
    EXPECT_EQ(result_of(answer("139")), "42 cached");
    EXPECT_LE(descriptors(), before + 128);
    EXPECT_EQ(held.loaded->function<int()>("answer")(), 42);
}

TEST_F(ComposeHostCompiler, UsesClangWhereThatIsChosen) {
    if (!fs::exists("/usr/bin/clang++")) GTEST_SKIP() << "no clang++ here";
    const tests::Variable chosen("APERTURE_CXX", "/usr/bin/clang++");
    EXPECT_EQ(result_of(answer("clang")), "42 compiled");
}

#if defined(APERTURE_SANITIZE)
TEST_F(ComposeHostCompiler, SanitizesWhatItCompiles) {
    const HostCompiled compiled =
        compile_on_host({"void store(float* x, int i) { x[i] = 1; }\n"
                         "int shift(int by) { return 1 << by; }\n",
                         {"store", "shift"}});
    ASSERT_NE(compiled.loaded, nullptr) << compiled.reason;
    std::vector<float> x(4);
    EXPECT_DEATH(compiled.loaded->function<void(float*, int)>("store")(x.data(), 4),
                 "heap-buffer-overflow");
    EXPECT_DEATH(compiled.loaded->function<int(int)>("shift")(40), "kernel.cpp:2:.*shift exponent");
}
#endif

}  // namespace
}  // namespace aperture::compose
