// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <complex>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace aperture::apps::tests {

/// What a program left behind.
struct Outcome {
    int status = -1;  ///< exit status; -1 where it was killed
    std::string out;
    std::string error;
    std::int64_t peak_bytes = 0;  ///< the most memory that it had at a time
};

/// The system that a program finds.
struct Surroundings {
    std::optional<std::uint64_t> file_size_limit{};  ///< bytes that one file may have
    bool stdout_full = false;                        ///< standard output is /dev/full
    /// Where given: as soon as the program has written into an open file that lies, or is to lie,
    /// in this folder, it is killed (SIGKILL).
    std::optional<std::filesystem::path> killed_while_writing_to{};
};

/// Runs `bgsub`, `corr`, `oflow`, `stap` or `stap_sim` of this build and waits for it.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const Surroundings& surroundings = {});

/// Lines of a text, without their ends.
std::vector<std::string> lines(const std::string& text);

/// A dataset of an output file.
template <class T>
struct Dataset {
    std::vector<hsize_t> extent;
    std::vector<T> values;
};
/// T is int, float, double or std::complex<float|double>; throws std::runtime_error where it is
/// absent.
template <class T>
Dataset<T> read_dataset(const std::filesystem::path& file, const std::string& name);
/// One column of a table.
std::vector<double> read_column(const std::filesystem::path& file, const std::string& table,
                                const std::string& column);
bool has_dataset(const std::filesystem::path& file, const std::string& name);
/// An attribute of an object of the file, "/" being the file; NaN where there is none.
double number_attribute(const std::filesystem::path& file, const std::string& object,
                        const std::string& name);
/// A string attribute of the file; empty where there is none.
std::string text_attribute(const std::filesystem::path& file, const std::string& name);

}  // namespace aperture::apps::tests
