// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace aperture::compose {

/// How a child process ended.
struct ChildEnd {
    /// Why it could not be started, or did not end by itself; empty if it exited.
    std::string failure;
    int exit_status = 0;
    /// What it wrote to standard output and standard error: the first 64 KB.
    std::string output;
};

/// Runs the program `command[0]`, a path, in `folder`, and waits until it ends. There is no shell.
/// The child has `environment` ("NAME=value") and nothing of the caller's, reads /dev/null, and
/// inherits no descriptor, signal mask or ignored signal. After `limit` it is killed together with
/// its own children. Thread-safe.
ChildEnd run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                   const std::vector<std::string>& environment, std::chrono::milliseconds limit);

}  // namespace aperture::compose
