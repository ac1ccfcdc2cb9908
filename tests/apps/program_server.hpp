// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace aperture::apps::tests {

/// The executable of a program. Programs are in BUILD/bin, test programs in BUILD/tests.
std::filesystem::path program_path(const std::string& program);

/// Lets the server of this process run a program and waits until it has ended. `request` has the
/// "words" of the command line, of which the first is the program's path; the files "out" and
/// "error"; and what is not null in Surroundings, by its name. The answer has "status" and
/// "peak_bytes", as Outcome.
///
/// The server is a process that is forked before the first test and forks itself for each run:
/// loading a program's libraries takes longer than most runs. Threads and devices that tests use
/// are none of its own.
nlohmann::json run_on_server(const nlohmann::json& request);

}  // namespace aperture::apps::tests
