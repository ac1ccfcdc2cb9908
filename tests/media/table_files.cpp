// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Tables as ResultFile writes them, and files without tables.
#include <gtest/gtest.h>

#include "aperture/media/result_file.hpp"
#include "aperture/media/table_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using Columns = std::vector<std::vector<double>>;

void write_table(const std::filesystem::path& path, const std::vector<Column>& columns) {
    ResultFile file(path);
    file.table("/t", columns);
    file.commit();
}

TEST(Table, ColumnsComeInTheOrderThatIsAskedFor) {
    const TemporaryFolder folder;
    const auto path = folder / "a.h5";
    write_table(path, {{"whole", std::vector<std::int64_t>{1, -2, 1 << 30}},
                       {"word", std::vector<std::string>{"a", "bc", ""}},
                       {"single", std::vector<float>{0.5F, -1.5F, 3}},
                       {"real", std::vector<double>{0.1, 1e300, -7}}});
    EXPECT_EQ(read_table(path, "/t", {"real", "whole"}),
              (Columns{{0.1, 1e300, -7}, {1, -2, 1 << 30}}));
    EXPECT_EQ(read_table(path, "/t", {"single"}), (Columns{{0.5, -1.5, 3}}));
    EXPECT_EQ(read_table(path, "/other", {"real"}), std::nullopt);
    write_table(path, {{"whole", std::vector<std::int64_t>{}}});
    EXPECT_EQ(read_table(path, "/t", {"whole"}), Columns(1));
}

TEST(Table, ThatCannotBeRightIsRefused) {
    const TemporaryFolder folder;
    const std::string path = folder / "a.h5";
    const auto error_of_column = [&](const std::string& name) {
        return error_of([&] { read_table(path, "/t", {name}); });
    };
    EXPECT_EQ(error_of_column("real"), path + ": no such file");
    write_bytes(path, "these are words\n");
    EXPECT_EQ(error_of_column("real"), path + ": not an HDF5 file");
    write_table(path, {{"word", std::vector<std::string>{"a"}}});
    const std::string dataset = path + ": dataset /t";
    EXPECT_EQ(error_of_column("real"), dataset + " has no column real");
    EXPECT_EQ(error_of_column("word"), dataset + ": column word is not numeric");

    const Handle record{H5Tcreate(H5T_COMPOUND, 4), H5Tclose};
    H5Tinsert(record, "real", 0, H5T_IEEE_F32LE);
    const auto error_with = [&](hid_t type, const std::vector<hsize_t>& extents) {
        add_dataset(new_file(path), "/t", type, extents);
        return error_of_column("real");
    };
    EXPECT_EQ(error_with(H5T_IEEE_F32LE, {3}),
              dataset + " is float32 [3], expected a table of records");
    EXPECT_EQ(error_with(record, {3, 2}),
              dataset + " is compound {real} [3,2], expected a table of records");
    EXPECT_EQ(error_with(record, {(1 << 20) + 1}),
              dataset + " is too large: [1048577], at most 1048576 rows");
    EXPECT_EQ(error_with(record, {1 << 20}), "");
    {
        const Handle file = new_file(path);
        const Handle group{H5Gcreate2(file, "/t", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
    }
    EXPECT_EQ(error_of_column("real"), dataset + " cannot be opened");
}

}  // namespace
}  // namespace aperture::media::tests
