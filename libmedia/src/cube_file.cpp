// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/cube_file.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5.hpp"
#include "libmedia/src/npy_dataset.hpp"
#include "libmedia/src/npy_header.hpp"
#include "libmedia/src/stored_dataset.hpp"

namespace aperture::media {
namespace {

using core::Host;
using core::View;

constexpr const char* default_dataset = "/cube";
constexpr const char* steering_dataset = "/steering";
constexpr std::size_t listed_datasets = 8;
// Of a cube: channel, pulse, range, and the CPI if there are several.
constexpr StoredDataset::Ranks cube_ranks{3, 4};

struct Candidate {
    std::string path;
    std::string described;  ///< "/a/b complex64 {r,i} [8,128,403]"
    bool is_cube;
};

std::vector<std::string> dataset_paths(hid_t file) {
    std::vector<std::string> paths;
    const auto append = [](hid_t, const char* path, const H5O_info_t* object, void* data) noexcept {
        if (object->type == H5O_TYPE_DATASET) {
            static_cast<std::vector<std::string>*>(data)->push_back(std::string("/") + path);
        }
        return herr_t{0};
    };
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, append, &paths, H5O_INFO_BASIC);
    return paths;
}

/// Where the samples of a cube are: in one dataset of complex numbers; in two of real numbers; or
/// in the halves of one, whose first extent is 2.
struct CubePlace {
    std::string real;
    std::string imag{};  ///< empty for complex numbers
    bool halves() const { return real == imag; }
    std::string text() const { return imag.empty() || halves() ? real : real + " + " + imag; }
};

bool is_dataset(hid_t file, const std::string& path) {
    H5O_info_t object;
    return H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0 &&
           H5Oget_info_by_name2(file, path.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           object.type == H5O_TYPE_DATASET;
}

/// Extents of a dataset of real numbers; empty for others.
std::vector<index_t> real_extents(hid_t file, const std::string& path) {
    if (!is_dataset(file, path)) return {};
    const Handle dataset{H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose};
    if (!dataset.valid()) return {};
    const Handle type{H5Dget_type(dataset), H5Tclose};
    const Handle space{H5Dget_space(dataset), H5Sclose};
    return number_of(type) ? extents_of(space) : std::vector<index_t>{};
}

/// Whether real numbers of these extents are complex ones in halves along the first axis.
bool in_halves(const std::vector<index_t>& extents) {
    return cube_ranks.allow(static_cast<int>(extents.size()) - 1) && extents.front() == 2 &&
           extents.back() != 2;
}

/// The pairs of real datasets in a folder, "/" or "/group/", that are named as the parts of
/// complex numbers.
std::vector<CubePlace> pairs_in(hid_t file, const std::string& folder) {
    std::vector<CubePlace> pairs;
    for (const PartNames& names : part_names) {
        CubePlace pair{core::text(folder, names.real), core::text(folder, names.imag)};
        const std::size_t rank = real_extents(file, pair.real).size();
        if (cube_ranks.allow(static_cast<int>(rank)) &&
            real_extents(file, pair.imag).size() == rank) {
            pairs.push_back(std::move(pair));
        }
    }
    return pairs;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// `path` is a dataset, or a group with the datasets real and imag or other names of such parts.
CubePlace place_of(hid_t file, const std::string& path) {
    const bool group = !is_dataset(file, path);
    // Before the halves: a real part of two CPIs looks like them.
    for (const CubePlace& pair : pairs_in(file, group ? path + "/" : folder_of(path))) {
        if (group || path == pair.real) return pair;
    }
    if (in_halves(real_extents(file, path))) return {path, path};
    return {path};
}

bool is_imaginary_part(hid_t file, const std::string& path) {
    const std::vector<CubePlace> pairs = pairs_in(file, folder_of(path));
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const CubePlace& pair) { return pair.imag == path; });
}

Candidate candidate(hid_t file, const std::string& path) {
    const Handle dataset{H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose};
    if (!dataset.valid()) return {path, path + " (unreadable)", false};
    const Handle type{H5Dget_type(dataset), H5Tclose};
    const Handle space{H5Dget_space(dataset), H5Sclose};
    const std::vector<index_t> extents = extents_of(space);
    const auto rank = static_cast<int>(extents.size());
    const bool compound = cube_ranks.allow(rank) && compound_form(type).has_value();
    const bool trailing =
        cube_ranks.allow(rank - 1) && extents.back() == 2 && trailing_form(type).has_value();
    const bool is_cube = (compound || trailing || !place_of(file, path).imag.empty()) &&
                         !is_imaginary_part(file, path);
    return {path, core::text(path, ' ', type_text(type), ' ', extents_text(extents)), is_cube};
}

std::string list(const std::vector<Candidate>& candidates) {
    std::string words;
    for (std::size_t c = 0; c < std::min(candidates.size(), listed_datasets); ++c) {
        words += (c > 0 ? "; " : "") + candidates[c].described;
    }
    if (candidates.size() > listed_datasets) {
        words += core::text("; and ", candidates.size() - listed_datasets, " more");
    }
    return words;
}

std::string choose_dataset(hid_t file, const CubeRequest& request) {
    const std::string label = request.path.string();
    if (request.dataset) {
        core::expects(!request.dataset->empty(), label, ": the name of the dataset is empty");
        return request.dataset->front() == '/' ? *request.dataset : "/" + *request.dataset;
    }
    const htri_t has_default = H5Lexists(file, default_dataset, H5P_DEFAULT);
    if (has_default < 0) {
        throw core::InvalidArgument(
            core::text(label, ": file is damaged (", last_failure().reason, ")"));
    }
    if (has_default > 0) return default_dataset;
    std::vector<Candidate> datasets;
    for (const std::string& path : dataset_paths(file)) datasets.push_back(candidate(file, path));
    std::vector<Candidate> cubes;
    std::copy_if(datasets.begin(), datasets.end(), std::back_inserter(cubes),
                 [](const Candidate& c) { return c.is_cube; });
    core::expects(!datasets.empty(), label, ": contains no dataset");
    core::expects(!cubes.empty(), label, ": no 3-D or 4-D complex dataset among ", list(datasets));
    core::expects(
        cubes.size() == 1, label,
        ": several 3-D or 4-D complex datasets, select one with --dataset: ", list(cubes));
    return cubes.front().path;
}

using Names = std::vector<std::string>;

// Canonical axes; the first three are those of a view of the cube.
enum Axis { channel, pulse, range, cpi };

/// The canonical axis of each axis of the file.
struct AxisOrder {
    std::vector<Axis> canonical;
    AxisRule rule = AxisRule::canonical;
    std::optional<Domain> domain;  ///< from the name of the second axis, or from an attribute
    std::string text() const;
};

Names split(const std::string& list) {
    Names names;
    std::istringstream stream(list);
    for (std::string item; std::getline(stream, item, ',');) {
        const std::size_t first = item.find_first_not_of(" \t");
        names.push_back(first == std::string::npos
                            ? ""
                            : item.substr(first, item.find_last_not_of(" \t") - first + 1));
    }
    return names;
}

std::string join(const Names& names) {
    std::string list;
    for (const std::string& item : names) list += (&item == names.data() ? "" : ",") + item;
    return list;
}

std::optional<Axis> axis_named(const std::string& word) {
    if (word == "channel") return channel;
    if (word == "pulse" || word == "doppler") return pulse;
    if (word == "range") return range;
    if (word == "cpi") return cpi;
    return std::nullopt;
}

// `origin` is the source of the names: "dimension labels", "axes".
AxisOrder order_of(const Names& names, std::size_t axes, AxisRule rule, const std::string& subject,
                   const std::string& origin) {
    const std::string given = core::text(subject, ": ", origin, " '", join(names), "' ");
    const bool has_cpi = axes == 4;
    AxisOrder order{{}, rule, {}};
    core::expects(
        names.size() == axes, given, "must name ",
        has_cpi ? "four axes: cpi, " : "three axes: ", "channel, pulse or doppler, range");
    for (const std::string& word : names) {
        const std::optional<Axis> axis = axis_named(word);
        core::expects(axis && (has_cpi || axis != cpi), given, "name an axis '", word,
                      "', expected ", has_cpi ? "cpi, " : "", "channel, pulse, doppler or range");
        auto& known = order.canonical;
        core::expects(std::find(known.begin(), known.end(), *axis) == known.end(), given,
                      "must name each axis once");
        known.push_back(*axis);
        // "pulse" may label Doppler bins in files with a domain attribute.
        if (word == "doppler") order.domain = Domain::doppler;
    }
    return order;
}

/// Without names. The CPI, if there is one, is the slowest axis.
AxisOrder unnamed_order(std::size_t axes, AxisRule rule) {
    AxisOrder order{{channel, pulse, range}, rule, {}};
    if (rule == AxisRule::matlab) std::swap(order.canonical[0], order.canonical[1]);
    if (axes == 4) order.canonical.insert(order.canonical.begin(), cpi);
    return order;
}

std::optional<Names> attribute_of_either(hid_t dataset, hid_t file, const char* attribute) {
    auto names = string_attribute(dataset, attribute);
    if (!names) names = string_attribute(file, attribute);
    return names;
}

AxisOrder order_in_file(hid_t file, hid_t dataset, std::size_t axes, bool halves,
                        const std::string& subject) {
    if (auto labels = string_attribute(dataset, "DIMENSION_LABELS")) {
        const auto blank = [](const std::string& label) { return label.empty(); };
        // The dimension of real and imaginary parts is not an axis.
        if (labels->size() == axes + 1) labels->erase(halves ? labels->begin() : labels->end() - 1);
        if (!std::all_of(labels->begin(), labels->end(), blank)) {
            return order_of(*labels, axes, AxisRule::dimension_labels, subject, "dimension labels");
        }
    }
    if (auto names = attribute_of_either(dataset, file, "axes")) {
        if (names->size() == 1) names = split(names->front());
        return order_of(*names, axes, AxisRule::axes_attribute, subject, "axes attribute");
    }
    const bool matlab = attribute_of_either(dataset, file, "MATLAB_class").has_value();
    return unnamed_order(axes, matlab ? AxisRule::matlab : AxisRule::canonical);
}

std::optional<Domain> domain_in_file(hid_t file, hid_t dataset, const std::string& subject) {
    const auto words = attribute_of_either(dataset, file, "domain");
    if (!words) return std::nullopt;
    if (words->front() == name(Domain::pulse)) return Domain::pulse;
    if (words->front() == name(Domain::doppler)) return Domain::doppler;
    throw core::InvalidArgument(core::text(subject, ": domain attribute is '", words->front(),
                                           "', expected pulse or doppler"));
}

std::string AxisOrder::text() const {
    const std::array names{"channel", domain == Domain::doppler ? "doppler" : "pulse", "range",
                           "cpi"};
    Names words;
    for (const Axis axis : canonical) words.emplace_back(names[axis]);
    return join(words);
}

/// Applies the rules of docs/formats.md to a request and the attributes of a cube. `subject` is the
/// prefix of error texts: "cube.h5: dataset /cube".
AxisOrder find_axis_order(const CubeRequest& request, hid_t file, hid_t dataset, std::size_t axes,
                          bool halves, const std::string& subject) {
    AxisOrder order = request.axes ? order_of(split(*request.axes), axes, AxisRule::caller, subject,
                                              "requested axes")
                                   : order_in_file(file, dataset, axes, halves, subject);
    const std::optional<Domain> by_name = order.domain;
    const std::optional<Domain> stated =
        request.domain ? request.domain : domain_in_file(file, dataset, subject);
    // The caller's choice of either overrides the file's on the other.
    const bool same_origin = request.domain.has_value() == request.axes.has_value();
    core::expects(!same_origin || !by_name || !stated || by_name == stated, subject,
                  ": an axis is named doppler, but the domain is pulse");
    order.domain = request.domain            ? request.domain
                   : request.axes && by_name ? by_name
                   : stated                  ? stated
                                             : by_name;
    return order;
}

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
    for (const Axis axis : state_->order.canonical) {
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
