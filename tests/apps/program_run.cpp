// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/program_run.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "libmedia/src/hdf5.hpp"
#include "tests/apps/program_server.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using media::Handle;

Handle open_file(const std::filesystem::path& file) {
    return {H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
}

Handle open_dataset(hid_t file, const std::string& name) {
    const media::SilentErrors silent;
    Handle dataset{H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose};
    if (!dataset.valid()) throw std::runtime_error("no dataset " + name);
    return dataset;
}

template <class Real>
Handle complex_type(hid_t real) {
    Handle type{H5Tcreate(H5T_COMPOUND, 2 * sizeof(Real)), H5Tclose};
    H5Tinsert(type, "r", 0, real);
    H5Tinsert(type, "i", sizeof(Real), real);
    return type;
}

template <class T>
Handle memory_type() {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
        return complex_type<float>(H5T_NATIVE_FLOAT);
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
        return complex_type<double>(H5T_NATIVE_DOUBLE);
    } else if constexpr (std::is_same_v<T, float>) {
        return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    } else if constexpr (std::is_same_v<T, double>) {
        return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
    } else {
        return {H5Tcopy(H5T_NATIVE_INT), H5Tclose};
    }
}

}  // namespace

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const Surroundings& surroundings) {
    const aperture::tests::TemporaryFolder folder;
    nlohmann::json request{{"words", joined({program_path(program)}, arguments)},
                           {"out", folder / "out"},
                           {"error", folder / "error"},
                           {"executable", surroundings.executable},
                           {"stdout_full", surroundings.stdout_full}};
    if (surroundings.file_size_limit) request["file_size_limit"] = *surroundings.file_size_limit;
    if (const auto& watched = surroundings.killed_while_writing_to) {
        request["killed_while_writing_to"] = std::filesystem::canonical(*watched);
    }
    const nlohmann::json ended = run_on_server(request);
    return {ended["status"], media::tests::read_bytes(folder / "out"),
            media::tests::read_bytes(folder / "error"), ended["peak_bytes"]};
}

void expect_refused(const std::string& program, const Outcome& outcome, const std::string& words) {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, testing::IsEmpty());
    EXPECT_THAT(lines(outcome.error), testing::SizeIs(1));
    EXPECT_THAT(outcome.error, testing::StartsWith(program + ": error: "));
    EXPECT_THAT(outcome.error, testing::HasSubstr(words));
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> joined(std::vector<std::string> arguments,
                                const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

nlohmann::json read_json(const std::filesystem::path& file) {
    return nlohmann::json::parse(media::tests::read_bytes(file));
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> list;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) list.push_back(line);
    return list;
}

template <class T>
Dataset<T> read_dataset(const std::filesystem::path& path, const std::string& name) {
    const Handle file = open_file(path);
    const Handle dataset = open_dataset(file, name);
    const Handle space{H5Dget_space(dataset), H5Sclose};
    Dataset<T> read;
    read.extent.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, read.extent.data(), nullptr);
    read.values.resize(
        std::accumulate(read.extent.begin(), read.extent.end(), hsize_t{1}, std::multiplies<>()));
    if (H5Dread(dataset, memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, read.values.data()) < 0) {
        throw std::runtime_error("cannot read " + name);
    }
    return read;
}
template Dataset<int> read_dataset(const std::filesystem::path&, const std::string&);
template Dataset<float> read_dataset(const std::filesystem::path&, const std::string&);
template Dataset<double> read_dataset(const std::filesystem::path&, const std::string&);
template Dataset<std::complex<float>> read_dataset(const std::filesystem::path&,
                                                   const std::string&);
template Dataset<std::complex<double>> read_dataset(const std::filesystem::path&,
                                                    const std::string&);

std::vector<double> read_column(const std::filesystem::path& path, const std::string& table,
                                const std::string& column) {
    const Handle file = open_file(path);
    const Handle dataset = open_dataset(file, table);
    const Handle space{H5Dget_space(dataset), H5Sclose};
    const Handle stored{H5Dget_type(dataset), H5Tclose};
    if (H5Tget_member_index(stored, column.c_str()) < 0) {
        throw std::runtime_error(table + " has no column " + column);
    }
    const Handle type{H5Tcreate(H5T_COMPOUND, sizeof(double)), H5Tclose};
    H5Tinsert(type, column.c_str(), 0, H5T_NATIVE_DOUBLE);
    std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
        throw std::runtime_error("cannot read " + table);
    }
    return values;
}

bool has_dataset(const std::filesystem::path& path, const std::string& name) {
    const Handle file = open_file(path);
    return H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0;
}

double number_attribute(const std::filesystem::path& path, const std::string& object,
                        const std::string& name) {
    const Handle file = open_file(path);
    const Handle owner{H5Oopen(file, object.c_str(), H5P_DEFAULT), H5Oclose};
    return media::number_attribute(owner, name).value_or(std::nan(""));
}

std::string text_attribute(const std::filesystem::path& path, const std::string& name) {
    const Handle file = open_file(path);
    const auto strings = media::string_attribute(file, name);
    return strings && strings->size() == 1 ? strings->front() : "";
}

}  // namespace aperture::apps::tests
