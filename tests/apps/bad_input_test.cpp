// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Invalid input: exit status 1, one line that gives the reason, and no output file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tests/apps/program_run.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using aperture::tests::TemporaryFolder;
using media::Handle;
using media::tests::add_cube;
using media::tests::add_dataset;
using media::tests::new_file;
using media::tests::read_bytes;
using media::tests::write_bytes;
using media::tests::write_cube;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Path = const std::filesystem::path&;

/// A whole valid cube: 3 channels, 8 pulses, 100 range cells, order 9 with three taps.
media::tests::StoredCube valid_cube() {
    media::tests::StoredCube cube;
    cube.shape = {3, 8, 100};
    return cube;
}

void write_valid_cube(Path path) { write_cube(path, valid_cube()); }

void write_empty_cube(Path path, hid_t type, const std::vector<hsize_t>& extents) {
    const Handle file = new_file(path);
    add_dataset(file, "/cube", type, extents);
}

void write_cube_with(Path path, float bad) {
    write_cube(path, valid_cube());
    const Handle file = media::tests::open_to_add(path);
    const Handle dataset{H5Dopen2(file, "/cube", H5P_DEFAULT), H5Dclose};
    const Handle type{H5Dget_type(dataset), H5Tclose};
    std::vector<float> values(2UL * 3 * 8 * 100);
    H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    values[2 * ((2 * 8 + 5) * 100 + 40)] = bad;
    values[2 * ((1 * 8 + 6) * 100 + 70) + 1] = bad;
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

/// The checksum of the root group is wrong. HDF5 1.10 leaks memory on this error.
void write_damaged_cube(Path path) {
    {
        const Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        const Handle file{H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose};
        add_cube(file, valid_cube());
    }
    std::string bytes = read_bytes(path);
    bytes[bytes.find("OHDR") + 12] ^= 1;
    write_bytes(path, bytes);
}

/// A valid cube in a file that also lists a target.
void write_cube_with_truth(Path path, double range_cell, double doppler) {
    const Handle file = new_file(path);
    add_cube(file, valid_cube());
    const Handle type{H5Tcreate(H5T_COMPOUND, 16), H5Tclose};
    H5Tinsert(type, "range_cell", 0, H5T_IEEE_F64LE);
    H5Tinsert(type, "doppler", 8, H5T_IEEE_F64LE);
    const std::array target{range_cell, doppler};
    add_dataset(file, "/truth", type, {1}, target.data());
}

struct BadInput {
    std::string name;
    void (*write)(Path);
    std::vector<std::string> flags;
    std::string expected;  ///< after the file's name
};
void PrintTo(const BadInput& input, std::ostream* stream) { *stream << input.name; }

class RefusedInput : public testing::TestWithParam<BadInput> {};

INSTANTIATE_TEST_SUITE_P(
    All, RefusedInput,
    testing::Values(
        BadInput{"missing", [](Path) {}, {}, "no such file"},
        BadInput{
            "not_hdf5", [](Path path) { write_bytes(path, "text\n"); }, {}, "not an HDF5 file"},
        BadInput{"truncated",
                 [](Path path) {
                     write_cube(path, valid_cube());
                     const std::string bytes = read_bytes(path);
                     write_bytes(path, bytes.substr(0, bytes.size() / 2));
                 },
                 {},
                 "truncated"},
        BadInput{"damaged", write_damaged_cube, {}, "file is damaged"},
        BadInput{"rank_2",
                 [](Path path) {
                     write_empty_cube(path, H5T_IEEE_F32LE, {4, 8});
                 },
                 {},
                 "dataset /cube has rank 2, expected 3"},
        BadInput{"real",
                 [](Path path) {
                     write_empty_cube(path, H5T_IEEE_F32LE, {4, 8, 100});
                 },
                 {},
                 "dataset /cube is real"},
        BadInput{"member_names",
                 [](Path path) {
                     auto cube = valid_cube();
                     cube.members = {"left", "right"};
                     write_cube(path, cube);
                 },
                 {},
                 "compound {left,right}"},
        BadInput{"zero_extent",
                 [](Path path) {
                     auto cube = valid_cube();
                     cube.shape = {3, 0, 100};
                     write_cube(path, cube);
                 },
                 {},
                 "dataset /cube is empty"},
        BadInput{"no_such_dataset", write_valid_cube, {"--dataset", "/other"}, "/other"},
        BadInput{
            "bad_axes", write_valid_cube, {"--axes", "range,range,pulse"}, "range,range,pulse"},
        BadInput{"singular", write_valid_cube, {"--training-block", "8"}, "8 training cells"},
        BadInput{"singular_names_the_remedy",
                 write_valid_cube,
                 {"--training-block", "8"},
                 "--loading rel:"},
        BadInput{"block_beyond_cube", write_valid_cube, {"--training-block", "101"}, "101"},
        BadInput{"too_few_bins",
                 write_valid_cube,
                 {"--doppler-bins", "7"},
                 "7 Doppler bins are fewer than the 8 pulses"},
        BadInput{"too_many_directions",
                 write_valid_cube,
                 {"--azimuth", "-60:60:1025"},
                 "1025 directions exceed the maximum of 1024"},
        BadInput{"guard_without_meaning", write_valid_cube, {"--guard", "2"}, "guard 2"},
        BadInput{"taper_in_doppler_domain",
                 write_valid_cube,
                 {"--domain", "doppler", "--taper", "hann"},
                 "--taper requires a cube in the pulse domain"},
        BadInput{"cublas_on_the_cpu",
                 write_valid_cube,
                 {"--impl", "cublas", "--device", "cpu"},
                 "implementation cublas requires a GPU"},
        BadInput{"steering_of_other_length",
                 [](Path path) {
                     const Handle file = new_file(path);
                     add_cube(file, valid_cube());
                     const Handle type{H5Tcreate(H5T_COMPOUND, 8), H5Tclose};
                     H5Tinsert(type, "r", 0, H5T_IEEE_F32LE);
                     H5Tinsert(type, "i", 4, H5T_IEEE_F32LE);
                     const std::vector<float> ones(2UL * 2 * 7, 1.0F);
                     add_dataset(file, "/steering", type, {2, 7}, ones.data());
                 },
                 {},
                 "/steering has 7 elements per vector, expected 9"},
        BadInput{"nan",
                 [](Path path) { write_cube_with(path, std::numeric_limits<float>::quiet_NaN()); },
                 {},
                 "2 samples are NaN or infinite, the first at channel 1, pulse 6, range cell 70"},
        BadInput{"infinity",
                 [](Path path) { write_cube_with(path, std::numeric_limits<float>::infinity()); },
                 {},
                 "--allow-nan"},
        BadInput{"truth_without_detector",
                 [](Path path) { write_cube_with_truth(path, 40, 0.25); },
                 {"--truth", "any.h5"},
                 "--truth requires a detector"},
        BadInput{"missing_truth",
                 write_valid_cube,
                 {"--truth", "none.h5", "--detector", "amf"},
                 "none.h5: no such file"},
        BadInput{"truth_of_other_shape",
                 [](Path path) {
                     const Handle file = new_file(path);
                     add_cube(file, valid_cube());
                     add_dataset(file, "/truth", H5T_IEEE_F64LE, {2, 4});
                 },
                 {"--detector", "amf", "--truth", "cube.h5"},
                 "cube.h5: dataset /truth is float64 [2,4], expected a table of records"},
        BadInput{"truth_without_doppler",
                 [](Path path) {
                     const Handle file = new_file(path);
                     add_cube(file, valid_cube());
                     const Handle type{H5Tcreate(H5T_COMPOUND, 8), H5Tclose};
                     H5Tinsert(type, "range_cell", 0, H5T_IEEE_F64LE);
                     add_dataset(file, "/truth", type, {2});
                 },
                 {"--detector", "amf", "--truth", "cube.h5"},
                 "cube.h5: dataset /truth has no column doppler"},
        BadInput{"truth_beyond_the_cube",
                 [](Path path) { write_cube_with_truth(path, 100, 0.25); },
                 {"--detector", "amf", "--truth", "cube.h5"},
                 "cube.h5: target 0 of /truth is at range cell 100, expected a whole number from 0 "
                 "to 99"},
        BadInput{"truth_between_range_cells",
                 [](Path path) { write_cube_with_truth(path, 4.5, 0.25); },
                 {"--detector", "amf", "--truth", "cube.h5"},
                 "cube.h5: target 0 of /truth is at range cell 4.5"},
        BadInput{"truth_with_nan_range_cell",
                 [](Path path) {
                     write_cube_with_truth(path, std::numeric_limits<double>::quiet_NaN(), 0.25);
                 },
                 {"--detector", "amf", "--truth", "cube.h5"},
                 "cube.h5: target 0 of /truth is at range cell nan"},
        BadInput{"truth_with_nan_doppler",
                 [](Path path) {
                     write_cube_with_truth(path, 4, std::numeric_limits<double>::quiet_NaN());
                 },
                 {"--detector", "amf", "--truth", "cube.h5"},
                 "cube.h5: target 0 of /truth has a Doppler of nan, expected -0.5 to 0.5"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedInput, LeavesOneLineAndNoFile) {
    const TemporaryFolder folder;
    const auto& [name, write, flags, expected] = GetParam();
    write(folder / "cube.h5");
    const auto before = folder.entries();
    std::vector<std::string> arguments{"--cube", folder / "cube.h5", "--report",
                                       folder / "report.json"};
    if (std::find(flags.begin(), flags.end(), "--device") == flags.end()) {
        arguments.insert(arguments.end(), {"--device", "cpu"});
    }
    for (const std::string& flag : flags) {
        arguments.push_back(flag == "cube.h5" ? (folder / flag).string() : flag);
    }
    const Outcome outcome = run_program("stap", arguments);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    const auto messages = lines(outcome.error);
    ASSERT_FALSE(messages.empty());
    // Notes about defaults may come first. The error is the last line.
    EXPECT_THAT(messages.back(), StartsWith("stap: error: "));
    EXPECT_THAT(messages.back(), HasSubstr(expected));
    EXPECT_EQ(outcome.error.find("HDF5-DIAG"), std::string::npos);
    EXPECT_EQ(folder.entries(), before);
}

TEST(ForeignTruth, IsNotedAndLeavesDetectionsUnscored) {
    const TemporaryFolder folder;
    write_cube_with_truth(folder / "cube.h5", 100, 0.25);
    const Outcome outcome =
        run_program("stap", {"--cube", folder / "cube.h5", "--device", "cpu", "--detector", "amf",
                             "--loading", "rel:1e-2", "--out", folder / "out.h5"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr("expected a whole number from 0 to 99; detections are "
                                         "not scored"));
    EXPECT_EQ(outcome.out.find("targets "), std::string::npos);
}

TEST(AllowedNan, IsCountedAndProcessed) {
    const TemporaryFolder folder;
    write_cube_with(folder / "cube.h5", std::numeric_limits<float>::quiet_NaN());
    const Outcome outcome =
        run_program("stap", {"--cube", folder / "cube.h5", "--device", "cpu", "--allow-nan",
                             "--training-block", "20", "--loading", "rel:1e-2", "--save", "info"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr("2 samples are NaN or infinite"));
    // Range cells 40 and 70 are in blocks 2 and 3. The transform spreads a pulse over all bins.
    const auto info = read_dataset<int>(folder / "cube.stap.h5", "/info");
    ASSERT_THAT(info.extent, ElementsAre(8, 5));
    for (std::size_t i = 0; i < info.values.size(); ++i) {
        EXPECT_EQ(info.values[i] != 0, i % 5 == 2 || i % 5 == 3) << i;
    }
    const auto output = read_dataset<std::complex<float>>(folder / "cube.stap.h5", "/output");
    for (std::size_t i = 0; i < output.values.size(); ++i) {
        EXPECT_TRUE(std::isfinite(output.values[i].real())) << i;
    }
}

}  // namespace
}  // namespace aperture::apps::tests
