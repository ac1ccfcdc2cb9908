// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <thread>

#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_output = 64 << 10;

std::string words(int error) { return std::generic_category().message(error); }

struct Pipe {
    Pipe() { ready = ::pipe2(ends, O_CLOEXEC) == 0; }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        if (ready) ::close(ends[0]);
        close_input();
    }
    int output() const { return ends[0]; }
    int input() const { return ends[1]; }
    void close_input() {
        if (ready && ends[1] >= 0) ::close(ends[1]);
        ends[1] = -1;
    }
    int ends[2] = {-1, -1};
    bool ready = false;
};

/// What posix_spawn does between the start of the process and that of the program.
struct Preparation {
    Preparation(const Pipe& pipe, const std::filesystem::path& folder) {
        posix_spawn_file_actions_init(&actions);
        // Copied before descriptor 0 is replaced, which may be the pipe's.
        posix_spawn_file_actions_adddup2(&actions, pipe.input(), STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
        posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
        posix_spawnattr_init(&attributes);
        // A group of its own, to be killed with its children.
        posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&attributes, 0);
        sigset_t signals;
        sigemptyset(&signals);
        posix_spawnattr_setsigmask(&attributes, &signals);
        for (const int signal : {SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM}) {
            sigaddset(&signals, signal);
        }
        posix_spawnattr_setsigdefault(&attributes, &signals);
    }
    Preparation(const Preparation&) = delete;
    Preparation& operator=(const Preparation&) = delete;
    ~Preparation() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

/// Pointers to the texts, and a null pointer.
std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& each : texts) all.push_back(each.data());
    all.push_back(nullptr);
    return all;
}

/// Reads until all writers have closed the pipe; false if that takes until `end`.
bool read_all(int descriptor, std::string& output, Clock::time_point end) {
    std::array<char, 4096> piece{};
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
        if (left <= 0) return false;
        pollfd one{descriptor, POLLIN, 0};
        const int ready = ::poll(&one, 1, static_cast<int>(std::min<long>(left, 60'000)));
        if (ready <= 0) continue;
        const ssize_t count = ::read(descriptor, piece.data(), piece.size());
        if (count == 0) return true;
        if (count < 0) continue;
        // What is too long is read all the same, or the child would wait for ever.
        output.append(piece.data(),
                      std::min(static_cast<std::size_t>(count), most_output - output.size()));
    }
}

/// As waitpid, which returns the child or, with an error, -1; 0 if it has not ended at `end`.
pid_t wait_until(pid_t child, int& status, Clock::time_point end) {
    for (;;) {
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended > 0 || (ended < 0 && errno != EINTR)) return ended;
        if (ended == 0 && Clock::now() >= end) return 0;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                   const std::vector<std::string>& environment, std::chrono::milliseconds limit) {
    const Clock::time_point end = Clock::now() + limit;
    ChildEnd result;
    const auto fails = [&](auto... parts) {
        result.failure = core::text(command[0], " ", parts...);
        return result;
    };
    Pipe pipe;
    if (!pipe.ready) return fails("cannot be started: ", words(errno));
    auto arguments = command, variables = environment;
    pid_t child = 0;
    {
        const Preparation preparation(pipe, folder);
        const int error =
            ::posix_spawn(&child, command[0].c_str(), &preparation.actions, &preparation.attributes,
                          pointers(arguments).data(), pointers(variables).data());
        if (error != 0) return fails("cannot be started: ", words(error));
    }
    pipe.close_input();

    int status = 0;
    const bool complete = read_all(pipe.output(), result.output, end);
    pid_t ended = complete ? wait_until(child, status, end) : 0;
    if (ended == 0) {
        ::kill(-child, SIGKILL);
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return fails("did not end within ", limit.count() / 1000.0, " s");
    }
    if (ended < 0) return fails("ended, but another part of this program took its status");
    if (WIFSIGNALED(status)) return fails("was ended by signal ", WTERMSIG(status));
    result.exit_status = WEXITSTATUS(status);
    return result;
}

}  // namespace aperture::compose
