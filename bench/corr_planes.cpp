// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/corr_planes.hpp"

#include <cmath>
#include <random>

#include "aperture/corr/image_planes.hpp"
#if APERTURE_CUDA
#include "bench/gpu_ceilings.hpp"
#endif
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using corr::index_t;
using corr::Normalization;
using corr::PlaneKind;
using corr::Shape;
using Planes = core::Array<float, 3>;

struct Kind {
    const char* name;
    PlaneKind kind;
};
constexpr Kind kinds[] = {{"lab-orientation", PlaneKind::lab_orientation},
                          {"grey", PlaneKind::grey},
                          {"rgb", PlaneKind::rgb},
                          {"gradient", PlaneKind::gradient}};

/// Pixels of 8 bits.
Planes random_image(Shape shape) {
    std::mt19937 generator(1);
    Planes image({3, shape.rows, shape.columns});
    for (float& value : image) value = static_cast<float>(generator() % 256);
    return image;
}

/// Whether every plane has zero mean and unit energy.
bool normalized(const Planes& planes) {
    const index_t pixels = planes.extent()[1] * planes.extent()[2];
    for (index_t p = 0; p < planes.extent()[0]; ++p) {
        double sum = 0;
        double energy = 0;
        for (index_t i = 0; i < pixels; ++i) {
            const auto value = static_cast<double>(planes.data()[p * pixels + i]);
            sum += value;
            energy += value * value;
        }
        if (!(std::abs(sum) < 1e-4 && std::abs(energy - 1) < 1e-5)) return false;
    }
    return true;
}

/// The bound is one read of the image and one write of the planes.
void report(benchmark::State& state, const Planes& image, const Planes& planes, double seconds,
            double bandwidth_gbs) {
    const double gigabytes = 4e-9 * static_cast<double>(image.size() + planes.size());
    state.counters["images/s"] = 1 / seconds;
    state.counters["%copy"] = 100 * gigabytes / seconds / bandwidth_gbs;
    if (!normalized(planes)) fail(state, "planes are not normalized");
}

void on_cpu(benchmark::State& state, const std::string& name, PlaneKind kind, Shape shape) {
    core::Cpu cpu;
    const Planes image = random_image(shape);
    Planes planes({plane_count(kind), shape.rows, shape.columns});
    corr::ImagePlanes<core::Cpu> planes_of(cpu, kind, Normalization::plane);
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        planes_of.derive(image, planes);
        return watch.seconds();
    });
    report(state, image, planes, best, copy_bandwidth_gbs(cpu.threads()));
}

#if APERTURE_CUDA
void on_gpu(benchmark::State& state, const std::string& name, PlaneKind kind, Shape shape) {
    core::Gpu gpu;
    const Planes image = random_image(shape);
    Planes planes({plane_count(kind), shape.rows, shape.columns});
    core::Array<float, 3, core::Device> device_image(image.extent());
    core::Array<float, 3, core::Device> device_planes(planes.extent());
    core::copy(gpu, image.view(), device_image.view());
    corr::ImagePlanes<core::Gpu> planes_of(gpu, kind, Normalization::plane);
    core::Timeline timeline;
    const double best = measure(state, name, [&] {
        return seconds_on(gpu, timeline, smoke ? 1 : calls_in_a_row,
                          [&](std::size_t) { planes_of.derive(device_image, device_planes); });
    });
    core::copy(gpu, std::as_const(device_planes).view(), planes.view());
    gpu.synchronize();
    report(state, image, planes, best, gpu_copy_gbs(gpu));
}
#endif

}  // namespace

void register_planes() {
    const auto add = [](const std::string& prefix, auto* run) {
        for (const Shape shape :
             smoke ? std::vector<Shape>{{40, 50}} : std::vector<Shape>{{500, 500}, {512, 768}}) {
            for (const auto& [kind_name, kind] : kinds) {
                add_measured(core::text(prefix, shape.rows, 'x', shape.columns, '/', kind_name),
                             [=, chosen = kind](benchmark::State& state, const std::string& name) {
                                 run(state, name, chosen, shape);
                             });
            }
        }
    };
    add("planes/", on_cpu);
#if APERTURE_CUDA
    if (core::gpu_status().usable) add("gpu/planes/", on_gpu);
#endif
}

}  // namespace aperture::bench
