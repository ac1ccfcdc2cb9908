// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Cubes of several coherent processing intervals: every complex form, order of axes and layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "aperture/core/error.hpp"
#include "aperture/media/cube_file.hpp"
#include "tests/media/cube_files.hpp"

namespace aperture::media::tests {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using Samples = core::Array<std::complex<float>, 3>;
using Words = std::vector<std::string>;

enum class Form { compound, integers, trailing, halves, parts };
constexpr Form forms[] = {Form::compound, Form::integers, Form::trailing, Form::halves,
                          Form::parts};

/// A cube of four axes. Its extents by name: cpi, channel, pulse, range.
struct CpiCube {
    Words axes = {"cpi", "channel", "pulse", "range"};
    Form form = Form::compound;
    std::vector<hsize_t> chunk{};  ///< of the axes, compressed
    std::array<index_t, 4> extents = {3, 4, 5, 7};
};

const Words canonical = {"cpi", "channel", "pulse", "range"};

std::complex<float> value_at(const std::array<index_t, 4>& at) {
    const auto [cpi, channel, pulse, range] = at;
    return {static_cast<float>((cpi * 31 + channel * 17 + pulse * 7 + range * 3) % 113),
            static_cast<float>(cpi - 50 * channel + pulse - range % 70)};
}

std::vector<hsize_t> extents_of(const CpiCube& cube) {
    std::vector<hsize_t> extents;
    for (const std::string& axis : cube.axes) {
        const auto place = std::find(canonical.begin(), canonical.end(), axis) - canonical.begin();
        extents.push_back(static_cast<hsize_t>(cube.extents[static_cast<std::size_t>(place)]));
    }
    return extents;
}

/// The numbers of a cube in the order of its file.
std::vector<std::complex<float>> samples_of(const CpiCube& cube) {
    const std::vector<hsize_t> extents = extents_of(cube);
    std::vector<std::complex<float>> values(extents[0] * extents[1] * extents[2] * extents[3]);
    for (std::size_t v = 0; v < values.size(); ++v) {
        std::array<index_t, 4> at{};
        std::size_t rest = v;
        for (std::size_t d = 4; d-- > 0; rest /= extents[d]) {
            const auto place =
                std::find(canonical.begin(), canonical.end(), cube.axes[d]) - canonical.begin();
            at[static_cast<std::size_t>(place)] = static_cast<index_t>(rest % extents[d]);
        }
        values[v] = value_at(at);
    }
    return values;
}

void add(hid_t file, const std::string& path, hid_t type, hid_t memory,
         const std::vector<hsize_t>& extents, const std::vector<hsize_t>& chunk, const void* data) {
    const Handle creation{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
    if (!chunk.empty()) {
        H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
        H5Pset_deflate(creation, 1);
    }
    const Handle space{H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                       H5Sclose};
    const Handle dataset{
        H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose};
    ASSERT_GE(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
}

Handle pair_of(hid_t number) {
    const std::size_t bytes = H5Tget_size(number);
    Handle type{H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose};
    H5Tinsert(type, "r", 0, number);
    H5Tinsert(type, "i", bytes, number);
    return type;
}

void write(const std::filesystem::path& path, const CpiCube& cube) {
    const std::vector<std::complex<float>> values = samples_of(cube);
    std::vector<hsize_t> extents = extents_of(cube);
    std::vector<hsize_t> chunk = cube.chunk;
    std::vector<float> parts;
    for (const auto& value : values) parts.push_back(value.real());
    for (const auto& value : values) parts.push_back(value.imag());
    const Handle file = new_file(path);
    switch (cube.form) {
        case Form::compound:
        case Form::integers:
            add(file, "/cube",
                pair_of(cube.form == Form::compound ? H5T_IEEE_F32LE : H5T_STD_I16BE),
                pair_of(H5T_NATIVE_FLOAT), extents, chunk, values.data());
            break;
        case Form::trailing:
            extents.push_back(2);
            if (!chunk.empty()) chunk.push_back(2);
            add(file, "/cube", H5T_STD_I16LE, H5T_NATIVE_FLOAT, extents, chunk, values.data());
            break;
        case Form::halves:
            extents.insert(extents.begin(), 2);
            if (!chunk.empty()) chunk.insert(chunk.begin(), 1);
            add(file, "/cube", H5T_IEEE_F64LE, H5T_NATIVE_FLOAT, extents, chunk, parts.data());
            break;
        case Form::parts:
            add(file, "/real", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, extents, chunk, parts.data());
            add(file, "/imag", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, extents, chunk,
                parts.data() + values.size());
    }
}

std::string list(const Words& words) {
    std::string joined;
    for (const std::string& word : words) joined += (joined.empty() ? "" : ",") + word;
    return joined;
}

void expect_cpi(core::View<const std::complex<float>, 3, core::Host> samples, index_t cpi) {
    for (index_t c = 0; c < samples.extent[0]; ++c) {
        for (index_t p = 0; p < samples.extent[1]; ++p) {
            for (index_t r = 0; r < samples.extent[2]; ++r) {
                ASSERT_EQ(samples(c, p, r), value_at({cpi, c, p, r}))
                    << "cpi " << cpi << ", channel " << c << ", pulse " << p << ", range " << r;
            }
        }
    }
}

/// Reads every CPI, last first, into a dense view and into one whose slowest axis is range.
void expect_cpis(CubeReader& reader, const CpiCube& cube) {
    const auto [cpis, channels, pulses, ranges] = cube.extents;
    const RadarCube& info = reader.info();
    ASSERT_TRUE(info.has_cpi_axis);
    ASSERT_EQ(info.cpis, cpis);
    ASSERT_EQ(info.shape(), (core::Extents<3>{channels, pulses, ranges}));
    for (index_t cpi = cpis; cpi-- > 0;) {
        Samples dense(info.shape());
        reader.read(dense, cpi);
        expect_cpi(dense, cpi);
        std::vector<std::complex<float>> storage(
            static_cast<std::size_t>(info.shape()[0] * pulses * ranges));
        const core::View<std::complex<float>, 3, core::Host> range_slowest(
            storage.data(), info.shape(), {1, channels, channels * pulses});
        reader.read(range_slowest, cpi);
        expect_cpi(range_slowest, cpi);
    }
    Samples first(info.shape());
    reader.read(first);
    expect_cpi(first, 0);
}

class CpiCubes : public testing::Test {
  protected:
    /// Expects `cube` in the file and closes it.
    RadarCube expect_cube(const CpiCube& cube, CubeRequest request = {}) const {
        request.path = path_;
        CubeReader reader(request);
        expect_cpis(reader, cube);
        EXPECT_EQ(reader.info().axes, list(cube.axes));
        return reader.info();
    }
    std::string error(CubeRequest request = {}) const {
        request.path = path_;
        return error_of([&] { CubeReader reader(request); });
    }
    void with_cube(const std::function<void(hid_t)>& action) const {
        const Handle file = open_to_add(path_);
        const Handle dataset{H5Oopen(file, "/cube", H5P_DEFAULT), H5Oclose};
        action(dataset);
    }

    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_ / "cube.h5";
};

TEST_F(CpiCubes, HaveTheCpiFirstByDefaultInEveryForm) {
    const Words elements = {"complex64 {r,i}", "int16 big-endian {r,i}", "int16 [...,2]",
                            "float64 [2,...]", "float32 real and imaginary parts"};
    for (const Form form : forms) {
        write(path_, {.form = form});
        const RadarCube info = expect_cube({});
        EXPECT_EQ(info.axis_rule, AxisRule::canonical);
        EXPECT_EQ(info.element, elements[static_cast<std::size_t>(form)]);
    }
}

TEST_F(CpiCubes, HaveTheirAxesInAnyOrderInEveryForm) {
    Words order = canonical;
    std::sort(order.begin(), order.end());
    do {
        for (const Form form : forms) {
            write(path_, {.axes = order, .form = form});
            const RadarCube info = expect_cube({.axes = order}, {.path = {}, .axes = list(order)});
            EXPECT_EQ(info.axis_rule, AxisRule::caller);
            ASSERT_FALSE(HasFatalFailure()) << list(order);
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(CpiCubes, AreNamedByLabels) {
    const Words axes = {"pulse", "cpi", "range", "channel"};
    for (const Form form : {Form::compound, Form::trailing, Form::halves}) {
        write(path_, {.axes = axes, .form = form});
        Words labels = axes;
        if (form == Form::trailing) labels.emplace_back("part");
        if (form == Form::halves) labels.insert(labels.begin(), "part");
        with_cube([&](hid_t dataset) { add_strings(dataset, "DIMENSION_LABELS", labels); });
        EXPECT_EQ(expect_cube({.axes = axes}).axis_rule, AxisRule::dimension_labels);
    }
}

TEST_F(CpiCubes, AreNamedByTheAttribute) {
    const CpiCube cube{.axes = {"channel", "pulse", "cpi", "range"}};
    write(path_, cube);
    with_cube([](hid_t dataset) { add_string(dataset, "axes", "channel,pulse,cpi,range"); });
    EXPECT_EQ(expect_cube(cube).axis_rule, AxisRule::axes_attribute);
    const RadarCube asked = CubeReader({.path = path_, .axes = "channel,doppler,cpi,range"}).info();
    EXPECT_EQ(asked.domain, Domain::doppler);
    EXPECT_EQ(asked.axes, "channel,doppler,cpi,range");
}

TEST_F(CpiCubes, OfMatlabHaveThePulsesSecond) {
    const CpiCube cube{.axes = {"cpi", "pulse", "channel", "range"}};
    write(path_, cube);
    with_cube([](hid_t dataset) { add_string(dataset, "MATLAB_class", "single"); });
    EXPECT_EQ(expect_cube(cube).axis_rule, AxisRule::matlab);
}

TEST_F(CpiCubes, MayHaveOneCpiAndKeepTheAxis) {
    const CpiCube cube{.extents = {1, 4, 5, 7}};
    write(path_, cube);
    expect_cube(cube);
    write_cube(path_, {});
    const RadarCube three = CubeReader({path_}).info();
    EXPECT_FALSE(three.has_cpi_axis);
    EXPECT_EQ(three.cpis, 1);
}

// Of blocks (4 MiB), tiles and runs, and of chunks that hold several CPIs and parts of them.
TEST_F(CpiCubes, OfEveryLayoutAndSize) {
    const std::vector<CpiCube> layouts = {
        {.chunk = {2, 1, 3, 4}},
        {.chunk = {3, 4, 5, 7}},
        {.axes = {"range", "cpi", "pulse", "channel"}, .chunk = {3, 2, 2, 1}},
        {.axes = {"pulse", "channel", "range", "cpi"}, .chunk = {4, 2, 5, 2}},
        {.chunk = {2, 2, 17, 600}, .extents = {3, 3, 33, 1300}},
        {.extents = {2, 1, 70, 8209}}};
    for (const Form form : forms) {
        for (CpiCube cube : layouts) {
            cube.form = form;
            write(path_, cube);
            expect_cube(cube, {.path = {}, .axes = list(cube.axes)});
            ASSERT_FALSE(HasFatalFailure()) << list(cube.axes);
        }
    }
}

TEST_F(CpiCubes, InTwoDatasetsAreNeitherHalvesNorPairs) {
    for (const CpiCube& cube : {CpiCube{.form = Form::parts, .extents = {2, 3, 5, 7}},
                                CpiCube{.form = Form::parts, .extents = {3, 3, 5, 2}}}) {
        write(path_, cube);
        EXPECT_EQ(expect_cube(cube).dataset, "/real + /imag");
        expect_cube(cube, {.path = {}, .dataset = "/real"});
    }
}

TEST_F(CpiCubes, RefuseACpiThatIsNotThere) {
    const auto error_of_cpi = [&](index_t cpi) {
        CubeReader reader({path_});
        Samples samples(reader.info().shape());
        return error_of([&] { reader.read(samples, cpi); });
    };
    write(path_, {});
    for (const index_t cpi : {-1, 3}) {
        EXPECT_EQ(error_of_cpi(cpi), core::text(path_.string(), ": CPI ", cpi,
                                                " is not there; dataset /cube has 3, from 0"));
    }
    write_cube(path_, {});
    EXPECT_THAT(error_of_cpi(1), HasSubstr("CPI 1 is not there"));
    EXPECT_EQ(error_of_cpi(0), "");
}

TEST_F(CpiCubes, NeedFourNamesAndOthersThree) {
    write(path_, {});
    EXPECT_THAT(error({.path = {}, .axes = "channel,pulse,range"}),
                EndsWith("must name four axes: cpi, channel, pulse or doppler, range"));
    EXPECT_THAT(error({.path = {}, .axes = "cpi,channel,pulse,cpi"}), HasSubstr("each axis once"));
    EXPECT_THAT(error({.path = {}, .axes = "cpi,channel,pulse,time"}),
                EndsWith("name an axis 'time', expected cpi, channel, pulse, doppler or range"));
    with_cube([](hid_t dataset) { add_string(dataset, "axes", "channel,pulse,range"); });
    EXPECT_THAT(error(), HasSubstr("axes attribute 'channel,pulse,range' must name four axes"));
    write_cube(path_, {});
    EXPECT_THAT(error({.path = {}, .axes = "cpi,channel,pulse,range"}),
                EndsWith("must name three axes: channel, pulse or doppler, range"));
    EXPECT_THAT(error({.path = {}, .axes = "cpi,pulse,range"}),
                EndsWith("name an axis 'cpi', expected channel, pulse, doppler or range"));
}

TEST_F(CpiCubes, AreFoundWhereverTheyAre) {
    {
        const Handle file = new_file(path_);
        const std::vector<float> values(2 * 3 * 4 * 5 * 2);
        add_dataset(file, "/scan", pair_of(H5T_NATIVE_FLOAT), {2, 3, 4, 5}, values.data());
        add_dataset(file, "/time", H5T_NATIVE_FLOAT, {2, 3, 4}, values.data());
    }
    EXPECT_EQ(CubeReader({path_}).info().dataset, "/scan");
    {
        const Handle file = open_to_add(path_);
        const std::vector<float> values(2 * 3 * 4 * 5 * 2);
        add_dataset(file, "/more", H5T_NATIVE_FLOAT, {2, 3, 4, 5, 2}, values.data());
        add_dataset(file, "/half", H5T_NATIVE_FLOAT, {2, 2, 3, 4, 5}, values.data());
    }
    EXPECT_THAT(error(), EndsWith("several 3-D or 4-D complex datasets, select one with --dataset: "
                                  "/half float32 [2,2,3,4,5]; /more float32 [2,3,4,5,2]; "
                                  "/scan complex64 {r,i} [2,3,4,5]"));
}

TEST_F(CpiCubes, ThatAreOnlyPartlyThereAreRefused) {
    {
        const Handle file = new_file(path_);
        add_dataset(file, "/cube", pair_of(H5T_NATIVE_FLOAT), {1000, 10, 100, 1000});
    }
    EXPECT_EQ(error(), path_.string() +
                           ": dataset /cube declares 8000000000 bytes (extents "
                           "[1000,10,100,1000]) but the file holds 0");
    {
        // Only the first CPI is written.
        const Handle file = new_file(path_);
        const std::vector<hsize_t> extents = {3, 4, 5, 7};
        const std::vector<hsize_t> one = {1, 4, 5, 7};
        const Handle creation{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
        H5Pset_chunk(creation, 4, one.data());
        const Handle space{H5Screate_simple(4, extents.data(), nullptr), H5Sclose};
        const Handle type = pair_of(H5T_NATIVE_FLOAT);
        const Handle dataset{
            H5Dcreate2(file, "/cube", type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose};
        const std::vector<hsize_t> start(4, 0);
        const Handle memory{H5Screate_simple(4, one.data(), nullptr), H5Sclose};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, one.data(), nullptr);
        const std::vector<std::complex<float>> values(140);
        ASSERT_GE(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values.data()), 0);
    }
    EXPECT_THAT(error(), StartsWith(path_.string() +
                                    ": dataset /cube declares 3 chunks (extents [3,4,5,7]) but the "
                                    "file holds 1"));
}

TEST_F(CpiCubes, OfNumPy) {
    const CpiCube cube{};
    const std::vector<std::complex<float>> values = samples_of(cube);
    const std::string data(reinterpret_cast<const char*>(values.data()), 8 * values.size());
    const auto words = [](const std::string& rest) {
        return std::string("\x93NUMPY\x01\x00\x40\x00", 10) + rest +
               std::string(63 - rest.size(), ' ') + '\n';
    };
    write_bytes(path_, words("{'descr':'<c8','fortran_order':False,'shape':(3,4,5,7)}") + data);
    expect_cube(cube);

    // In Fortran order the file has range, pulse, channel, cpi.
    const std::vector<std::complex<float>> reversed =
        samples_of({.axes = {"range", "pulse", "channel", "cpi"}});
    write_bytes(path_,
                words("{'descr':'<c8','fortran_order':True,'shape':(3,4,5,7)}") +
                    std::string(reinterpret_cast<const char*>(reversed.data()), data.size()));
    expect_cube(cube);
}

}  // namespace
}  // namespace aperture::media::tests
