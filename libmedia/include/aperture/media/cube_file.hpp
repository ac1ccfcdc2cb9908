// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"

namespace aperture::media {

/// Meaning of a cube's second axis.
enum class Domain {
    pulse,   ///< slow time: before Doppler processing
    doppler  ///< Doppler bins
};
/// "pulse" or "doppler".
const char* name(Domain domain);

/// Source of a cube's axis order; the first that applies is used (docs/formats.md).
enum class AxisRule {
    caller,            ///< CubeRequest::axes
    dimension_labels,  ///< HDF5 dimension labels of the dataset
    axes_attribute,    ///< the `axes` attribute of the dataset or the file
    matlab,            ///< a MATLAB_class attribute: ([cpi])[pulse][channel][range] in C order
    canonical          ///< no information: ([cpi])[channel][pulse][range]
};
/// "as asked", "dimension labels", "axes attribute", "MATLAB order", "default".
const char* name(AxisRule rule);

/// The cube to read, with overrides of the file's own description.
struct CubeRequest {
    std::filesystem::path path;
    std::optional<std::string> dataset{};  ///< else /cube, else the only complex one, 3-D or 4-D
    /// "channel,pulse,range" in any order, slowest axis first; "doppler" in place of "pulse"; and
    /// "cpi" if the dataset has four axes.
    std::optional<std::string> axes{};
    std::optional<Domain> domain{};
};

/// A cube's metadata, in the canonical order [channel][pulse or doppler][range].
struct RadarCube {
    std::filesystem::path path;
    bool is_numpy = false;  ///< a NumPy file, else HDF5
    std::string dataset;    ///< path inside the file: "/cube"
    core::index_t channels = 0;
    core::index_t pulses = 0;  ///< Doppler bins if `domain` is doppler
    core::index_t range_cells = 0;
    core::index_t cpis = 1;     ///< coherent processing intervals, each of shape()
    bool has_cpi_axis = false;  ///< even if there is only one
    Domain domain = Domain::pulse;
    /// Stored element type: "complex64 {r,i}", "int16 {I,Q}", "float32 [...,2]".
    std::string element;
    std::string axes;  ///< order in the file, slowest first: "pulse,channel,range"
    AxisRule axis_rule = AxisRule::canonical;

    // Processing parameters, from attributes of the dataset or else of the file's root.
    std::optional<core::index_t> doppler_bins;
    std::optional<core::index_t> training_block;  ///< range cells
    std::optional<double> element_spacing_wavelengths;
    std::optional<double> prf_hz;
    std::optional<double> range_bin_m;  ///< length of a range cell
    double range_start_m = 0;           ///< range of cell 0; valid with range_bin_m
    /// Extents [vector][channels*tdof] of /steering, if the file has one.
    std::optional<core::Extents<2>> steering;

    /// Of one CPI.
    core::Extents<3> shape() const { return {channels, pulses, range_cells}; }
};

/// Reads one radar data cube, of one or more CPIs, from an HDF5 file, in any complex form and axis
/// order of docs/formats.md, to the canonical order. The file is opened once, read-only. Elements
/// are read as stored and converted here, in parallel: HDF5's own conversion is some fifty times
/// slower and, with different member names, silently returns nothing. Besides the destination,
/// memory use is bounded (a few MiB, or one HDF5 chunk if that is larger).
///
/// Every fault of the file throws core::InvalidArgument with a one-line text that starts with the
/// path; faults in the metadata throw in the constructor.
class CubeReader {
  public:
    /// `threads` = 0 uses OpenMP's default.
    explicit CubeReader(const CubeRequest& request, int threads = 0);
    ~CubeReader();

    const RadarCube& info() const;

    /// One CPI, the whole cube if it has no more. `out` has info().shape() and any strides. Throws
    /// core::InvalidArgument unless `cpi` is below info().cpis.
    void read(core::View<std::complex<float>, 3, core::Host> out, core::index_t cpi = 0);

    /// The steering vectors of the file, [vector][channels*tdof], if it has /steering.
    std::optional<core::Array<std::complex<float>, 2>> steering();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Silences HDF5 until the process ends; for programs, which own stderr. Readers and writers
/// silence it during their calls, but for some damaged files HDF5 1.10 leaks memory and complains
/// at process exit ("infinite loop closing library").
void silence_hdf5();

}  // namespace aperture::media
