// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "libmedia/src/hdf5.hpp"

namespace aperture::apps::tests {

/// Result of a program run.
struct Outcome {
    int status = -1;  ///< exit status; -1 if killed by a signal
    std::string out;
    std::string error;
    std::int64_t peak_bytes = 0;  ///< peak resident memory
};

/// Restrictions on the environment of a program run.
struct Surroundings {
    std::optional<std::uint64_t> file_size_limit{};  ///< maximum bytes of a file
    bool stdout_full = false;                        ///< standard output is /dev/full
    /// Starts the executable, instead of calling its main function in a fork of the test program.
    /// Slow; only then leaks are looked for.
    bool executable = false;
    /// If set, the program is killed (SIGKILL) as soon as it has written to an open file in this
    /// folder, with or without a name there.
    std::optional<std::filesystem::path> killed_while_writing_to{};
};

/// Runs `bgsub`, `corr`, `oflow`, `stap` or `stap_sim` of this build and waits for it.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const Surroundings& surroundings = {});

/// Expects status 1, one line "PROGRAM: error: ..." that contains `words`, and no other output.
void expect_refused(const std::string& program, const Outcome& outcome, const std::string& words);

/// Lines of a text, without their ends.
std::vector<std::string> lines(const std::string& text);

/// The words between the spaces of a text.
std::vector<std::string> words_of(const std::string& text);

/// The arguments of both lists.
std::vector<std::string> joined(std::vector<std::string> arguments,
                                const std::vector<std::string>& more);

nlohmann::json read_json(const std::filesystem::path& file);

/// A dataset of an output file.
template <class T>
struct Dataset {
    std::vector<hsize_t> extent;
    std::vector<T> values;
};
/// T is int, float, double or std::complex<float|double>. Throws std::runtime_error if the dataset
/// is absent.
template <class T>
Dataset<T> read_dataset(const std::filesystem::path& file, const std::string& name);
/// One column of a table in the file.
std::vector<double> read_column(const std::filesystem::path& file, const std::string& table,
                                const std::string& column);
bool has_dataset(const std::filesystem::path& file, const std::string& name);
/// An attribute of an object, "/" for the file itself; NaN if absent.
double number_attribute(const std::filesystem::path& file, const std::string& object,
                        const std::string& name);
/// A string attribute of the file; empty if absent.
std::string text_attribute(const std::filesystem::path& file, const std::string& name);

}  // namespace aperture::apps::tests
