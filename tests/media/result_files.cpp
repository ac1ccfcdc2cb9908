// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>

#include "aperture/core/error.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/cube_file.hpp"
#include "aperture/media/result_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using core::Array;
using core::Host;
using core::View;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Limits files to `bytes` during its lifetime, which acts on a writer like a full disk.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  private:
    void (*handler_)(int);
    rlimit before_{};
};

Array<std::complex<float>, 3> counting(core::Extents<3> extents) {
    Array<std::complex<float>, 3> values(extents);
    float n = 0;
    for (auto& value : values) {
        value = {n, -n};
        n += 1;
    }
    return values;
}

TEST(AtomicFile, AppearsOnCommitOnly) {
    const TemporaryFolder folder;
    const std::filesystem::path target = folder / "report.json";
    {
        AtomicFile file(target);
        file.write("half");
        EXPECT_FALSE(std::filesystem::exists(target));
    }
    EXPECT_THAT(folder.entries(), IsEmpty());
    write_file(target, "first");
    EXPECT_EQ(read_bytes(target), "first");
    {
        AtomicFile file(target);
        file.write("second, abandoned");
    }
    EXPECT_EQ(read_bytes(target), "first");
    write_file(target, "second");
    EXPECT_EQ(read_bytes(target), "second");
    EXPECT_THAT(folder.entries(), ElementsAre("report.json"));
}

TEST(AtomicFile, ReplacesTheFileBehindALink) {
    const TemporaryFolder folder;
    write_file(folder / "real", "old");
    std::filesystem::create_symlink("real", folder / "link");
    write_file(folder / "link", "new");
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_EQ(read_bytes(folder / "real"), "new");
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
    const TemporaryFolder folder;
    write_file(folder / "file", "");
    const std::string inside = (folder / "file/a").string();
    EXPECT_EQ(error_of([&] { AtomicFile file(inside); }),
              inside + ": cannot write: not a directory");
    EXPECT_THAT(error_of([&] { AtomicFile file(folder / ""); }), HasSubstr("not a file name"));
    std::filesystem::create_directory(folder / "directory");
    EXPECT_THAT(error_of([&] { AtomicFile file(folder / "directory"); }),
                HasSubstr("is a directory"));
    EXPECT_THAT(error_of([&] { AtomicFile file("/dev/null"); }), HasSubstr("not a regular file"));
}

TEST(AtomicFile, MakesMissingFoldersWhenItIsCommitted) {
    const TemporaryFolder folder;
    {
        AtomicFile file(folder / "new/newer/a");
        file.write("abandoned");
        EXPECT_THAT(folder.entries(), IsEmpty());
    }
    EXPECT_THAT(folder.entries(), IsEmpty());
    write_file(folder / "new/newer/a", "whole");
    EXPECT_EQ(read_bytes(folder / "new/newer/a"), "whole");
    std::filesystem::create_symlink("nowhere", folder / "link");
    EXPECT_THAT(error_of([&] { AtomicFile file(folder / "link/a"); }),
                HasSubstr("cannot write: no such file or directory"));
}

TEST(AtomicFile, HasThePermissionsOfTheFileItReplaces) {
    using std::filesystem::perms;
    const TemporaryFolder folder;
    const auto mode = [&](const char* name) {
        return std::filesystem::status(folder / name).permissions();
    };
    const mode_t mask = ::umask(027);
    write_file(folder / "new", "");
    EXPECT_EQ(mode("new"), perms(0640));
    for (const auto kept : {perms(0600), perms(0666), perms(0755)}) {
        std::filesystem::permissions(folder / "new", kept);
        write_file(folder / "new", "again");
        EXPECT_EQ(mode("new"), kept);
    }
    ::umask(mask);
}

TEST(OutputSet, AppearsWholeOrNotAtAll) {
    const TemporaryFolder folder;
    write_file(folder / "first", "before");
    {
        OutputSet outputs;
        outputs.add(media::new_file(folder / "first", "after"));
        outputs.add(media::new_file(folder / "made/second", "after"));
        outputs.add(media::new_file(folder / "taken/third", "after"));
        write_file(folder / "taken", "a file in the place of a folder");
        EXPECT_THAT(error_of([&] { outputs.commit(); }), HasSubstr("third: cannot write: "));
    }
    EXPECT_EQ(read_bytes(folder / "first"), "before");
    EXPECT_THAT(folder.entries(), ElementsAre("first", "taken"));
    OutputSet outputs;
    outputs.add(media::new_file(folder / "first", "after"));
    outputs.add(media::new_file(folder / "made/second", "after"));
    EXPECT_EQ(read_bytes(folder / "first"), "before");
    outputs.commit();
    EXPECT_EQ(read_bytes(folder / "first"), "after");
    EXPECT_EQ(read_bytes(folder / "made/second"), "after");
}

TEST(AtomicFile, AFullDiskLeavesNothing) {
    const TemporaryFolder folder;
    const std::filesystem::path target = folder / "report.json";
    {
        const FileSizeLimit limit(1000);
        EXPECT_EQ(error_of([&] { write_file(target, std::string(2000, 'x')); }),
                  target.string() + ": cannot write: file too large");
    }
    EXPECT_THAT(folder.entries(), IsEmpty());
}

TEST(AtomicFile, OutputMustNotBeTheInput) {
    const TemporaryFolder folder;
    write_file(folder / "cube.h5", "data");
    std::filesystem::create_hard_link(folder / "cube.h5", folder / "same.h5");
    expects_distinct(folder / "cube.h5", folder / "out.h5");
    EXPECT_THROW(expects_distinct(folder / "cube.h5", folder / "cube.h5"), core::InvalidArgument);
    EXPECT_THROW(expects_distinct(folder / "cube.h5", folder / "same.h5"), core::InvalidArgument);
    EXPECT_THROW(expects_distinct(folder / "none.h5", folder / "." / "none.h5"),
                 core::InvalidArgument);
}

TEST(ResultFile, ComplexDatasetsComeBackThroughTheReader) {
    const TemporaryFolder folder;
    const auto values = counting({3, 4, 50});
    {
        ResultFile file(folder / "out.h5");
        file.write("/cube", values.view(), {"range", "doppler", "channel"});
        file.attribute("/cube", "prf_hz", 1000.0);
        file.attribute("/", "training_block", std::int64_t{32});
        file.commit();
    }
    EXPECT_THAT(folder.entries(), ElementsAre("out.h5"));
    CubeReader reader({folder / "out.h5"});
    EXPECT_EQ(reader.info().element, "complex64 {r,i}");
    EXPECT_EQ(reader.info().axis_rule, AxisRule::dimension_labels);
    EXPECT_EQ(reader.info().domain, Domain::doppler);
    EXPECT_EQ(reader.info().prf_hz, 1000.0);
    EXPECT_EQ(reader.info().training_block, 32);
    Array<std::complex<float>, 3> read({50, 4, 3});
    reader.read(read);
    for (index_t c = 0; c < 50; ++c) {
        for (index_t k = 0; k < 4; ++k) {
            for (index_t r = 0; r < 3; ++r) ASSERT_EQ(read(c, k, r), values(r, k, c));
        }
    }
}

template <class T>
std::vector<T> stored(const std::filesystem::path& path, const std::string& dataset, hid_t type) {
    const Handle file{H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    const Handle opened{H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose};
    const Handle space{H5Dget_space(opened), H5Sclose};
    std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    if (!values.empty()) {
        EXPECT_GE(H5Dread(opened, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
    return values;
}

TEST(ResultFile, GrowsByParts) {
    const TemporaryFolder folder;
    {
        ResultFile file(folder / "a.h5");
        file.create<float>("/frames", {0, 3, 2}, {"frame", "row", "column"}, true);
        file.create<float>("/none", {0, 3, 2}, {}, true);
        for (index_t i = 0; i < 5; ++i) {
            core::Array<float, 3> frame({1, 3, 2});
            std::fill(frame.begin(), frame.end(), static_cast<float>(i));
            file.write_part("/frames", core::Extents<3>{i, 0, 0}, std::as_const(frame).view());
        }
        const core::Array<float, 3> wide({1, 3, 3});
        EXPECT_THROW(file.write_part("/frames", core::Extents<3>{5, 0, 0}, wide.view()),
                     core::InvalidArgument);
        file.commit();
    }
    const Handle file{H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    const auto extents = [&](const char* name) {
        const Handle dataset{H5Dopen2(file, name, H5P_DEFAULT), H5Dclose};
        return extents_of(Handle{H5Dget_space(dataset), H5Sclose});
    };
    EXPECT_EQ(extents("/frames"), (std::vector<index_t>{5, 3, 2}));
    EXPECT_EQ(extents("/none"), (std::vector<index_t>{0, 3, 2}));
    const Handle dataset{H5Dopen2(file, "/frames", H5P_DEFAULT), H5Dclose};
    std::vector<float> values(30);
    ASSERT_GE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t frame = i / 6;
        EXPECT_EQ(values[i], static_cast<float>(frame));
    }
}

TEST(ResultFile, WritesNumbersAndTables) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "out.h5";
    std::array<float, 4> statistic = {1, 2, 3, 4};
    std::array<std::int32_t, 2> info = {0, 7};
    std::array<std::uint8_t, 3> mask = {0, 255, 0};
    {
        ResultFile file(path);
        file.write("/statistic", View<const float, 2, Host>(statistic.data(), {2, 2}));
        file.write("/deep/info", View<std::int32_t, 1, Host>(info.data(), {2}));
        file.write("/mask", View<const std::uint8_t, 1, Host>(mask.data(), {3}));
        file.write("/nothing", View<const float, 1, Host>(statistic.data(), {0}));
        file.attribute("/", "command", std::string("stap --cube x"));
        file.table("/detections", {{"range_cell", std::vector<std::int64_t>{147, 9}},
                                   {"azimuth_deg", std::vector<double>{14, -3.5}},
                                   {"statistic", std::vector<float>{29, 3}},
                                   {"kind", std::vector<std::string>{"target", "x"}}});
        file.table("/none", {{"range_cell", std::vector<std::int64_t>{}},
                             {"kind", std::vector<std::string>{}}});
        file.commit();
    }
    EXPECT_THAT(stored<float>(path, "/statistic", H5T_NATIVE_FLOAT), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(stored<int>(path, "/deep/info", H5T_NATIVE_INT), ElementsAre(0, 7));
    EXPECT_THAT(stored<int>(path, "/mask", H5T_NATIVE_INT), ElementsAre(0, 255, 0));
    EXPECT_THAT(stored<float>(path, "/nothing", H5T_NATIVE_FLOAT), IsEmpty());
    const Handle range_cell{H5Tcreate(H5T_COMPOUND, sizeof(double)), H5Tclose};
    H5Tinsert(range_cell, "range_cell", 0, H5T_NATIVE_DOUBLE);
    EXPECT_THAT(stored<double>(path, "/detections", range_cell), ElementsAre(147, 9));
    const Handle azimuth{H5Tcreate(H5T_COMPOUND, sizeof(double)), H5Tclose};
    H5Tinsert(azimuth, "azimuth_deg", 0, H5T_NATIVE_DOUBLE);
    EXPECT_THAT(stored<double>(path, "/detections", azimuth), ElementsAre(14, -3.5));
    EXPECT_THAT(stored<double>(path, "/none", azimuth), IsEmpty());
    const Handle file{H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    const Handle root{H5Oopen(file, "/", H5P_DEFAULT), H5Oclose};
    EXPECT_THAT(string_attribute(root, "command").value(), ElementsAre("stap --cube x"));
}

TEST(ResultFile, MisuseIsTheCallersFault) {
    const TemporaryFolder folder;
    const auto values = counting({2, 3, 4});
    ResultFile file(folder / "out.h5");
    EXPECT_THROW(file.write("/a", values.view(), {"one"}), core::InvalidArgument);
    file.create<float>("/floats", {2, 3, 4});
    EXPECT_THAT(error_of([&] { file.write_part("/floats", core::Extents<3>{}, values.view()); }),
                HasSubstr("was created with elements float32, not complex64 {r,i}"));
    file.create<std::complex<float>>("/b", {2, 3, 4});
    EXPECT_THAT(error_of([&] {
                    file.write_part("/b", core::Extents<3>{0, 1, 0}, values.view());
                }),
                HasSubstr("is not inside /b [2,3,4]"));
    EXPECT_THROW(file.write_part("/c", core::Extents<3>{}, values.view()), core::InvalidArgument);
    EXPECT_THAT(
        error_of([&] { file.write_part("/b", core::Extents<3>{}, values.view().slice(2, 0, 3)); }),
        HasSubstr("a part must be dense"));
    EXPECT_THROW(file.table("/t", {{"a", std::vector<double>{1}}, {"b", std::vector<double>{}}}),
                 core::InvalidArgument);
}

TEST(ResultFile, WithoutCommitNothingIsLeft) {
    const TemporaryFolder folder;
    write_file(folder / "out.h5", "what was there");
    {
        ResultFile file(folder / "out.h5");
        file.write("/output", counting({20, 30, 40}).view());
    }
    EXPECT_THAT(folder.entries(), ElementsAre("out.h5"));
    EXPECT_EQ(read_bytes(folder / "out.h5"), "what was there");
}

// The limit is reached in a large dataset, in the metadata of a small file, and at once.
TEST(ResultFile, AFullDiskLeavesNothingAndOneLine) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "out.h5";
    const auto large = counting({20, 100, 400});
    const auto small = counting({2, 3, 4});
    for (const auto& [limit_bytes, values] :
         {std::pair<rlim_t, const Array<std::complex<float>, 3>*>{1 << 20, &large},
          {1000, &small},
          {2100, &small},
          {0, &small}}) {
        const FileSizeLimit limit(limit_bytes);
        EXPECT_EQ(error_of([&path, view = values->view()] {
                      ResultFile file(path);
                      file.write("/output", view);
                      file.commit();
                  }),
                  path.string() + ": cannot write: file too large")
            << limit_bytes;
        EXPECT_THAT(folder.entries(), IsEmpty());
    }
    EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

TEST(ResultFile, CannotBeCommittedAfterAFailedWrite) {
    const TemporaryFolder folder;
    const auto large = counting({20, 100, 400});
    ResultFile file(folder / "out.h5");
    {
        const FileSizeLimit limit(1 << 20);
        EXPECT_NE(error_of([&] { file.write("/output", large.view()); }), "");
    }
    EXPECT_THAT(error_of([&] { file.commit(); }), HasSubstr("cannot write"));
}

}  // namespace
}  // namespace aperture::media::tests
