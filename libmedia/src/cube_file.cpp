// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/cube_file.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "aperture/core/error.hpp"
#include "libmedia/src/axis_order.hpp"
#include "libmedia/src/cube_place.hpp"
#include "libmedia/src/hdf5.hpp"
#include "libmedia/src/npy_dataset.hpp"
#include "libmedia/src/npy_header.hpp"
#include "libmedia/src/stored_dataset.hpp"

namespace aperture::media {
namespace {

using core::Host;
using core::View;

constexpr const char* steering_dataset = "/steering";

/// An attribute of the dataset or else of the file. Throws unless it is positive and finite.
std::optional<double> positive_attribute(hid_t file, hid_t dataset, const std::string& label,
                                         const char* attribute, bool whole = false) {
    auto value = number_attribute(dataset, attribute);
    if (!value) value = number_attribute(file, attribute);
    const bool fits = !value || (*value > 0 && std::isfinite(*value) &&
                                 (!whole || (*value <= 1e9 && *value == std::floor(*value))));
    core::expects(fits, label, ": attribute ", attribute, " is ", value.value_or(0),
                  ", expected a positive ", whole ? "whole number" : "number");
    return value;
}

/// The range of cell 0, from `range_start_m` or from the delay of its echo, `range_start_us`.
double range_start_m(hid_t file, hid_t dataset, const std::string& label) {
    constexpr double metres_per_microsecond = 299.792458 / 2;
    for (const auto& [name, metres] :
         {std::pair{"range_start_m", 1.0}, std::pair{"range_start_us", metres_per_microsecond}}) {
        auto start = number_attribute(dataset, name);
        if (!start) start = number_attribute(file, name);
        if (!start) continue;
        core::expects(std::isfinite(*start) && *start >= 0, label, ": attribute ", name, " is ",
                      *start, ", expected 0 or more");
        return *start * metres;
    }
    return 0;
}

std::optional<index_t> count_attribute(hid_t file, hid_t dataset, const std::string& label,
                                       const char* attribute) {
    const auto value = positive_attribute(file, dataset, label, attribute, true);
    if (!value) return std::nullopt;
    return static_cast<index_t>(*value);
}

}  // namespace

const char* name(Domain domain) { return domain == Domain::pulse ? "pulse" : "doppler"; }

const char* name(AxisRule rule) {
    constexpr std::array names{"as asked", "dimension labels", "axes attribute", "MATLAB order",
                               "default"};
    return names[static_cast<std::size_t>(rule)];
}

struct CubeReader::State {
    Handle file;
    std::optional<StoredDataset> cube;  ///< complex, or the real part
    std::optional<StoredDataset> imag;  ///< the imaginary part, if it is apart
    std::optional<StoredDataset> steering;
    bool halves = false;  ///< both parts are halves along the first axis of one dataset
    AxisOrder order;      ///< of the axes of both parts, without that of the halves
    RadarCube info;
    int threads = 1;

    bool open(const CubeRequest& request);
    void open_parts(const CubePlace& place);
    std::vector<index_t> extents() const;
    void set_shape();
    void read_parameters();
    void select(index_t cpi);
};

/// Returns whether the file has the axes in reverse.
bool CubeReader::State::open(const CubeRequest& request) {
    if (!is_npy(request.path)) {
        file = open_for_reading(request.path);
        return false;
    }
    core::expects(!request.dataset, request.path.string(),
                  ": is a NumPy file, which has no datasets; it was asked for ",
                  request.dataset.value_or(""));
    info.is_numpy = true;
    NpyDataset array = open_npy(request.path, default_dataset);
    file = std::move(array.file);
    return array.reversed;
}

/// Opens the datasets and says what their elements are.
void CubeReader::State::open_parts(const CubePlace& place) {
    const std::string label = info.path.string();
    info.dataset = place.text();
    if (place.imag.empty()) {
        cube.emplace(file, label, place.real, cube_ranks, StoredDataset::Numbers::complex);
        info.element = cube->form().text;
        return;
    }
    halves = place.halves();
    StoredDataset::Ranks ranks = cube_ranks;
    if (halves) ranks = {ranks.least + 1, ranks.most + 1};
    cube.emplace(file, label, place.real, ranks, StoredDataset::Numbers::real);
    imag.emplace(file, label, place.imag, ranks, StoredDataset::Numbers::real);
    core::expects(cube->axes() == imag->axes(), label, ": dataset ", place.imag, " is ",
                  extents_text(imag->axes()), ", but ", place.real, " is ",
                  extents_text(cube->axes()));
    if (halves) {
        cube->fix(0, 0);
        imag->fix(0, 1);
    }
    info.element =
        core::text(cube->form().number.text(), halves ? " [2,...]" : " real and imaginary parts");
}

/// Of the axes in `order`.
std::vector<index_t> CubeReader::State::extents() const {
    std::vector<index_t> all = cube->axes();
    if (halves) all.erase(all.begin());
    return all;
}

void CubeReader::State::set_shape() {
    info.axis_rule = order.rule;
    info.domain = order.domain.value_or(Domain::pulse);
    info.has_cpi_axis = order.canonical.size() == 4;
    const std::array canonical = {&info.channels, &info.pulses, &info.range_cells, &info.cpis};
    const std::vector<index_t> extent = extents();
    for (std::size_t d = 0; d < extent.size(); ++d) *canonical[order.canonical[d]] = extent[d];
}

void CubeReader::State::read_parameters() {
    const std::string label = info.path.string();
    info.doppler_bins = count_attribute(file, cube->id(), label, "doppler_bins");
    info.training_block = count_attribute(file, cube->id(), label, "training_block");
    info.element_spacing_wavelengths =
        positive_attribute(file, cube->id(), label, "element_spacing_wavelengths");
    info.prf_hz = positive_attribute(file, cube->id(), label, "prf_hz");
    info.range_bin_m = positive_attribute(file, cube->id(), label, "range_bin_m");
    info.range_start_m = range_start_m(file, cube->id(), label);
    if (H5Lexists(file, steering_dataset, H5P_DEFAULT) > 0) {
        steering.emplace(file, label, steering_dataset, StoredDataset::Ranks{2, 2},
                         StoredDataset::Numbers::complex);
        info.steering = {steering->extents()[1], steering->extents()[2]};
    }
}

void CubeReader::State::select(index_t index) {
    if (!info.has_cpi_axis) return;
    const auto& axes = order.canonical;
    const auto place = std::find(axes.begin(), axes.end(), cpi) - axes.begin() + (halves ? 1 : 0);
    cube->fix(static_cast<int>(place), index);
    if (imag) imag->fix(static_cast<int>(place), index);
}

CubeReader::CubeReader(const CubeRequest& request, int threads)
    : state_(std::make_unique<State>()) {
    core::expects(threads >= 0, "number of threads is ", threads, ", expected 0 or more");
    const SilentErrors silent;
    State& state = *state_;
    state.threads = threads > 0 ? threads : omp_get_max_threads();
    state.info.path = request.path;
    const bool reversed = state.open(request);
    state.open_parts(place_of(state.file, choose_dataset(state.file, request)));
    state.order =
        find_axis_order(request, state.file, state.cube->id(), state.extents().size(), state.halves,
                        core::text(request.path.string(), ": dataset ", state.info.dataset));
    state.info.axes = state.order.text();
    if (reversed) std::reverse(state.order.canonical.begin(), state.order.canonical.end());
    state.set_shape();
    state.read_parameters();
}

CubeReader::~CubeReader() = default;

const RadarCube& CubeReader::info() const { return state_->info; }

void CubeReader::read(View<std::complex<float>, 3, Host> out, index_t cpi_index) {
    const RadarCube& info = state_->info;
    const core::Extents<3> wanted = info.shape();
    core::expects(out.extent == wanted, "cube of ", extents_text({wanted.begin(), wanted.end()}),
                  " does not match the view of ",
                  extents_text({out.extent.begin(), out.extent.end()}));
    core::expects(cpi_index >= 0 && cpi_index < info.cpis, info.path.string(), ": CPI ", cpi_index,
                  " is not there; dataset ", info.dataset, " has ", info.cpis, ", from 0");
    const SilentErrors silent;
    state_->select(cpi_index);
    View<std::complex<float>, 3, Host> permuted = out;
    int d = 0;
    for (const CubeAxis axis : state_->order.canonical) {
        if (axis == cpi) continue;
        permuted.extent[d] = out.extent[axis];
        permuted.stride[d] = out.stride[axis];
        ++d;
    }
    if (!state_->imag) {
        state_->cube->read(permuted, state_->threads);
        return;
    }
    View<float, 3, Host> part;
    part.data = reinterpret_cast<float*>(permuted.data);
    part.extent = permuted.extent;
    for (d = 0; d < 3; ++d) part.stride[d] = 2 * permuted.stride[d];
    state_->cube->read(part, state_->threads);
    ++part.data;
    state_->imag->read(part, state_->threads);
}

std::optional<core::Array<std::complex<float>, 2>> CubeReader::steering() {
    if (!state_->steering) return std::nullopt;
    const SilentErrors silent;
    const core::Extents<3> extents = state_->steering->extents();
    core::Array<std::complex<float>, 2> vectors({extents[1], extents[2]});
    state_->steering->read(View<std::complex<float>, 3, Host>(vectors.data(), extents),
                           state_->threads);
    return vectors;
}

void silence_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

}  // namespace aperture::media
