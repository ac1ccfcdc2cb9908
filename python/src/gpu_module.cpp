// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The extension module for arrays in a GPU's memory. The package loads it at the first need.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <complex>

#include "aperture/core/error.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

/// Memory of a GPU that the package allocated itself, for callers whose libraries do not.
class DeviceMemory {
  public:
    DeviceMemory(index_t bytes, int device) : DeviceMemory(bytes, device, core::CurrentDevice()) {}

    /// The elements from byte `offset` on as an array of a type such as "float32". The array keeps
    /// the memory.
    nb::ndarray<nb::device::cuda> array(nb::handle self, index_t offset,
                                        const std::vector<std::size_t>& shape,
                                        const std::string& type) {
        return nb::ndarray<nb::device::cuda>(bytes_.data() + offset, shape.size(), shape.data(),
                                             self, nullptr, type_of(type), 2, device_);
    }
    /// Copies a whole contiguous array of the host to the memory, or back. Waits.
    void load(const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::device::cpu>& from) {
        const core::View<const std::byte, 1, core::Host> host(
            reinterpret_cast<const std::byte*>(from.data()), {size_of(from.shape(0))});
        const nb::gil_scoped_release release;
        const core::CurrentDevice restored;
        core::Gpu gpu(device_);
        core::copy(gpu, host, bytes_.view());
        gpu.synchronize();
    }
    void store(const nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu>& to) {
        const core::View<std::byte, 1, core::Host> host(reinterpret_cast<std::byte*>(to.data()),
                                                        {size_of(to.shape(0))});
        const nb::gil_scoped_release release;
        const core::CurrentDevice restored;
        core::Gpu gpu(device_);
        core::copy(gpu, std::as_const(bytes_).view(), host);
        gpu.synchronize();
    }

  private:
    DeviceMemory(index_t bytes, int device, const core::CurrentDevice& /*restored*/)
        : device_(device) {
        core::Gpu(device).stream();
        bytes_.reshape({bytes});
    }
    index_t size_of(std::size_t bytes) const {
        core::expects(static_cast<index_t>(bytes) == bytes_.size(), bytes, " bytes for ",
                      bytes_.size());
        return bytes_.size();
    }
    static nb::dlpack::dtype type_of(const std::string& type) {
        if (type == "complex64") return nb::dtype<std::complex<float>>();
        if (type == "complex128") return nb::dtype<std::complex<double>>();
        if (type == "float32") return nb::dtype<float>();
        if (type == "float64") return nb::dtype<double>();
        if (type == "int32") return nb::dtype<std::int32_t>();
        if (type == "int64") return nb::dtype<std::int64_t>();
        if (type == "uint8") return nb::dtype<std::uint8_t>();
        if (type == "uint16") return nb::dtype<std::uint16_t>();
        if (type == "bool") return nb::dtype<bool>();
        throw core::InvalidArgument("no arrays of " + type);
    }

    int device_;
    core::Array<std::byte, 1, core::Device> bytes_;
};

void raise(const char* type, const core::DeviceError& fault) {
    const nb::object raised = nb::module_::import_("aperture").attr(type);
    PyErr_SetString(raised.ptr(), fault.what());
}

nb::object info_of(int device) {
    const core::GpuStatus status = core::gpu_status(device);
    if (!status.usable) return nb::none();
    const core::CurrentDevice restored;
    const core::Gpu gpu(device);
    nb::dict info;
    info["device"] = device;
    info["name"] = gpu.name();
    info["compute_capability"] = gpu.compute_capability() / 10.0;
    info["multiprocessors"] = gpu.multiprocessors();
    info["free_bytes"] = gpu.free_memory();
    return info;
}

}  // namespace
}  // namespace aperture::python

NB_MODULE(_gpu, module) {
    using namespace aperture;
    python::watch_forks();
    // Parameters that modules keep are alive when Python ends.
    nanobind::set_leak_warnings(false);
    nanobind::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const core::UnfitDevice& fault) {
            python::raise("UnfitDevice", fault);
        } catch (const core::DeviceError& fault) {
            python::raise("DeviceError", fault);
        }
    });
    module.def("status", [](int device) {
        const core::GpuStatus status = core::gpu_status(device);
        return status.usable ? std::string() : status.reason;
    });
    module.def("info", python::info_of);
    // A capsule of DLPack as an array that several calls accept.
    module.def(
        "hold",
        [](nanobind::ndarray<nanobind::array_api, nanobind::device::cuda> array) { return array; },
        nanobind::rv_policy::reference);
    module.def("waits", core::waits_for_gpu);
    module.def("allocations", core::device_allocations);
    nanobind::class_<python::DeviceMemory>(module, "DeviceMemory")
        .def(nanobind::init<core::index_t, int>())
        .def("array",
             [](nanobind::handle self, core::index_t offset, const std::vector<std::size_t>& shape,
                const std::string& type) {
                 return nanobind::cast<python::DeviceMemory&>(self).array(self, offset, shape,
                                                                          type);
             })
        .def("load", &python::DeviceMemory::load, nanobind::arg().noconvert())
        .def("store", &python::DeviceMemory::store, nanobind::arg().noconvert());
    python::bind_batches(module);
    python::bind_compose(module);
    python::bind_corr(module);
    python::bind_flow(module);
    python::bind_motion(module);
    python::bind_registration(module);
    python::bind_rpca(module);
    python::bind_stap(module);
    python::bind_tall_qr(module);
}
