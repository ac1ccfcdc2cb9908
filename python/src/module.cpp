// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The extension module: the library's functions on arrays that the package has checked. The package
// allocates every result.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "aperture/core/error.hpp"
#include "aperture/core/finite.hpp"
#include "aperture/core/version.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {
namespace {

template <class T>
void bind_count_non_finite(nanobind::module_& module) {
    module.def(
        "count_non_finite",
        [](int threads, const ArrayIn<const T, 1, core::Host>& array) {
            CpuWorker worker(threads);
            const auto view = view_of<const T, 1>(array);
            return worker.run([&] { return core::count_non_finite(worker.executor(), view); });
        },
        nanobind::arg(), nanobind::arg().noconvert());
}

}  // namespace
}  // namespace aperture::python

NB_MODULE(_cpu, module) {
    using namespace aperture;
    python::watch_forks();
    // Parameters that modules keep are alive when Python ends.
    nanobind::set_leak_warnings(false);
    nanobind::exception<core::DeviceError> error(module, "DeviceError", PyExc_RuntimeError);
    error.attr("__module__") = "aperture";
    error.attr("__doc__") = "A fault of the machine: device, driver or memory.";
    nanobind::exception<core::UnfitDevice> unfit(module, "UnfitDevice", error);
    unfit.attr("__module__") = "aperture";
    unfit.attr("__doc__") =
        "The device is unsuitable, of too little memory for example; another may be suitable.";
    module.def("version", core::version);
    module.def("git_commit", core::git_commit);
    module.def("compiler", core::compiler);
    module.def("cpu_name", [](int threads) { return core::Cpu(threads).name(); });
    module.def("cpu_threads", [](int threads) { return core::Cpu(threads).threads(); });
    python::bind_count_non_finite<float>(module);
    python::bind_count_non_finite<double>(module);
    python::bind_count_non_finite<std::complex<float>>(module);
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
