// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/program_server.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "apps/programs.hpp"

namespace aperture::apps::tests {
namespace {

using nlohmann::json;

const std::map<std::string, int (*)(int, char**)> main_functions{{"bgsub", bgsub_main},
                                                                 {"corr", corr_main},
                                                                 {"oflow", oflow_main},
                                                                 {"stap", stap_main},
                                                                 {"stap_sim", stap_sim_main}};

/// Runs the program in this process and ends it.
[[noreturn]] void become(const json& request) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    const std::string out = request.value("stdout_full", false) ? "/dev/full" : request["out"];
    const std::string error = request["error"];
    dup2(open(out.c_str(), flags, 0600), STDOUT_FILENO);
    dup2(open(error.c_str(), flags, 0600), STDERR_FILENO);
    if (request.contains("file_size_limit")) {
        const rlim_t bytes = request["file_size_limit"];
        const rlimit limit{bytes, bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
    }
    auto words = request["words"].get<std::vector<std::string>>();
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (request.value("executable", false)) {
        execv(pointers[0], pointers.data());
        _exit(127);
    }
    const auto main_function =
        main_functions.at(std::filesystem::path(words.front()).filename().string());
    const int status = main_function(static_cast<int>(words.size()), pointers.data());
    // What exit does, destroy what libraries keep and look for leaks, takes longer than most runs.
    std::fflush(nullptr);
    _exit(status);
}

/// Whether the process has an open file in `folder` that is not empty.
bool writes_to(pid_t process, const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    std::error_code error;
    for (const auto& entry :
         fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", error)) {
        // For a file without a name the link is "/folder/#123 (deleted)".
        const fs::path file = fs::read_symlink(entry.path(), error);
        if (error || file.parent_path() != folder) continue;
        if (fs::file_size(entry.path(), error) > 0 && !error) return true;
    }
    return false;
}

void kill_while_writing(pid_t process, const std::filesystem::path& folder) {
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0) {
        if (writes_to(process, folder)) {
            kill(process, SIGKILL);
            return;
        }
        usleep(1000);
    }
}

json answer(const json& request) {
    const pid_t child = fork();
    if (child == 0) become(request);
    if (request.contains("killed_while_writing_to")) {
        kill_while_writing(child, request["killed_while_writing_to"].get<std::string>());
    }
    int status = 0;
    rusage used{};
    wait4(child, &status, 0, &used);
    return {{"status", WIFEXITED(status) ? WEXITSTATUS(status) : -1},
            {"peak_bytes", used.ru_maxrss * std::int64_t{1024}}};
}

void send_message(int socket, const json& message) {
    const std::vector<std::uint8_t> bytes = json::to_cbor(message);
    if (send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
        throw std::runtime_error("cannot reach the process that runs programs");
    }
}

/// Null if the other end is closed.
json receive_message(int socket) {
    std::vector<std::uint8_t> bytes(256 * 1024);
    const ssize_t received = recv(socket, bytes.data(), bytes.size(), 0);
    if (received <= 0) return nullptr;
    bytes.resize(static_cast<std::size_t>(received));
    return json::from_cbor(bytes);
}

class Server : public testing::Environment {
  public:
    void SetUp() override {
        int ends[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        std::fflush(nullptr);
        process_ = fork();
        if (process_ == 0) {
            close(ends[0]);
            serve(ends[1]);
        }
        close(ends[1]);
        socket_ = ends[0];
    }
    void TearDown() override {
        close(socket_);
        waitpid(process_, nullptr, 0);
    }
    json run(const json& request) const {
        send_message(socket_, request);
        const json received = receive_message(socket_);
        if (received.is_null()) throw std::runtime_error("the process that runs programs ended");
        return received;
    }

  private:
    [[noreturn]] static void serve(int socket) {
        for (json request; !(request = receive_message(socket)).is_null();) {
            send_message(socket, answer(request));
        }
        _exit(0);
    }

    int socket_ = -1;
    pid_t process_ = -1;
};

const auto* const server = static_cast<Server*>(testing::AddGlobalTestEnvironment(new Server));

}  // namespace

std::filesystem::path program_path(const std::string& program) {
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    return self.parent_path().parent_path() / "bin" / program;
}

json run_on_server(const json& request) { return server->run(request); }

}  // namespace aperture::apps::tests
