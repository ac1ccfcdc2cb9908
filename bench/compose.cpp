// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Composed array programs: the blockwise sweep of Horn and Schunck (program 13 of Anderson 2014)
// with its calls in as few kernels as possible and with one kernel for each, compiled and
// interpreted, beside the same sweep written by hand and libflow's; what starting a program and
// calling one costs; STAP (program 9) beside libstap's pipelines; batches beside libdense; and
// sequences of BLAS calls beside a copy.
// Names end in the size, width x height. Times are those of one sweep of 20.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/array.hpp"
#include "aperture/flow/linear_system.hpp"
#include "aperture/flow/words.hpp"
#include "bench/compose_batches.hpp"
#include "bench/compose_sequences.hpp"
#include "bench/compose_stap.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using compose::Executable;
using compose::Fusion;
using compose::Tier;
using core::index_t;
using flow::Shape;

constexpr int sweeps = 20;
constexpr float lam2 = 64;

std::string image_type(Shape shape) {
    return core::text("array f32[", shape.rows, ", ", shape.columns, "]");
}

/// The loop as the thesis prints it, 18 calls a sweep.
std::string blockwise(Shape shape) {
    const std::string image = image_type(shape);
    std::string text = "program blockwise {\n";
    for (const char* name : {"Ix", "Iy", "It"})
        text += core::text("input ", name, ": ", image, ";\n");
    for (const char* name : {"du", "dv"}) text += core::text("inout ", name, ": ", image, ";\n");
    for (const char* name : {"ubar", "vbar", "a", "b", "num", "den", "next_u", "next_v"}) {
        text += core::text("local ", name, ": ", image, ";\n");
    }
    return text + core::text("number lam2: f32 = ", lam2, ";\nconstant sweeps = ", sweeps, R"(;
stencil R: f32 replicate {(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25};
local i: iteration i64;
for i in sweeps {
    ubar = stencil_product(R, du);
    vbar = stencil_product(R, dv);
    a = multiply(Ix, ubar);
    b = multiply(Iy, vbar);
    num = add(a, b);
    num = add(num, It);
    a = multiply(Ix, Ix);
    b = multiply(Iy, Iy);
    den = add(a, b);
    den = add(den, lam2);
    a = multiply(Ix, num);
    a = divide(a, den);
    next_u = subtract(ubar, a);
    b = multiply(Iy, num);
    b = divide(b, den);
    next_v = subtract(vbar, b);
    du = copy(next_u);
    dv = copy(next_v);
}
return du, dv;
}
)");
}

using Image = core::Array<float, 2>;

/// Gradients, the derivative by time and a flow.
struct Sweep {
    explicit Sweep(Shape of_shape)
        : shape(of_shape),
          across(random_image(1, 10)),
          down(random_image(2, 10)),
          change(random_image(3, 20)),
          u(random_image(4, 0)),
          v(random_image(5, 0)) {}

    void set_zero() {
        std::fill(u.begin(), u.end(), 0.0F);
        std::fill(v.begin(), v.end(), 0.0F);
    }
    Image random_image(unsigned seed, float largest) const {
        std::mt19937 generator(seed);
        std::uniform_real_distribution<float> uniform(-largest, std::nextafter(largest, 1e9F));
        Image image({shape.rows, shape.columns});
        for (float& value : image) value = uniform(generator);
        return image;
    }
    double pixels() const { return double(shape.rows) * double(shape.columns); }

    Shape shape;
    Image across, down, change, u, v;
};

/// What a user would write: a parallel loop over rows, a SIMD loop over the columns of each.
class HandWritten {
  public:
    explicit HandWritten(Shape shape)
        : next_u_({shape.rows, shape.columns}), next_v_({shape.rows, shape.columns}) {}

    void run(Sweep& sweep, int threads) {
#pragma omp parallel num_threads(threads)
        for (int i = 0; i < sweeps; ++i) {
#pragma omp for schedule(static)
            for (index_t y = 0; y < sweep.shape.rows; ++y) compute_row(sweep, y);
#pragma omp single
            {
                std::swap(sweep.u, next_u_);
                std::swap(sweep.v, next_v_);
            }
        }
    }

  private:
    void compute_row(const Sweep& sweep, index_t y) {
        const index_t columns = sweep.shape.columns;
        const index_t above = std::max<index_t>(y - 1, 0);
        const index_t below = std::min(y + 1, sweep.shape.rows - 1);
        const float* const u = &sweep.u(y, 0);
        const float* const v = &sweep.v(y, 0);
        const float* const u_above = &sweep.u(above, 0);
        const float* const v_above = &sweep.v(above, 0);
        const float* const u_below = &sweep.u(below, 0);
        const float* const v_below = &sweep.v(below, 0);
        const float* const across = &sweep.across(y, 0);
        const float* const down = &sweep.down(y, 0);
        const float* const change = &sweep.change(y, 0);
        float* const to_u = &next_u_(y, 0);
        float* const to_v = &next_v_(y, 0);
        const auto compute = [&](index_t x, index_t left, index_t right) {
            const float mean_u =
                0.25F * u_above[x] + 0.25F * u[left] + 0.25F * u[right] + 0.25F * u_below[x];
            const float mean_v =
                0.25F * v_above[x] + 0.25F * v[left] + 0.25F * v[right] + 0.25F * v_below[x];
            const float num = across[x] * mean_u + down[x] * mean_v + change[x];
            const float den = across[x] * across[x] + down[x] * down[x] + lam2;
            to_u[x] = mean_u - across[x] * num / den;
            to_v[x] = mean_v - down[x] * num / den;
        };
        compute(0, 0, std::min<index_t>(1, columns - 1));
#pragma omp simd
        for (index_t x = 1; x < columns - 1; ++x) compute(x, x - 1, x + 1);
        compute(columns - 1, std::max<index_t>(columns - 2, 0), columns - 1);
    }

    Image next_u_, next_v_;
};

void verify(benchmark::State& state, const Sweep& found, Shape shape) {
    Sweep expected(shape);
    expected.set_zero();
    HandWritten(shape).run(expected, 1);
    double largest = 0;
    for (index_t i = 0; i < found.u.size(); ++i) {
        largest = std::max<double>(largest, std::abs(found.u.data()[i] - expected.u.data()[i]));
        largest = std::max<double>(largest, std::abs(found.v.data()[i] - expected.v.data()[i]));
    }
    state.counters["difference"] = largest;
    if (!(largest <= 1e-4)) fail(state, core::text("the flow is wrong by ", largest, " pixels"));
}

/// Times `run(sweep)`, or what `run(sweep, watch)` returns, which moves `bytes` a pixel and sweep,
/// and checks its result.
template <class Run>
void time_sweeps(benchmark::State& state, const std::string& name, Shape shape, double bytes,
                 const Run& run) {
    Sweep sweep(shape);
    const double best = measure(state, name, [&] {
        sweep.set_zero();
        core::Stopwatch watch;
        if constexpr (std::is_invocable_v<Run, Sweep&, core::Stopwatch&>) {
            return run(sweep, watch) / sweeps;
        } else {
            run(sweep);
            return watch.seconds() / sweeps;
        }
    });
    state.counters["bytes/pixel"] = bytes;
    state.counters["GB/s"] = bytes * sweep.pixels() / best * 1e-9;
    const auto by_hand = best_ms.find("hand_written/" + name.substr(name.rfind('/') + 1));
    if (by_hand != best_ms.end()) state.counters["of_hand"] = by_hand->second / (best * 1e3);
    verify(state, sweep, shape);
}

void hand_written(benchmark::State& state, const std::string& name, Shape shape) {
    const core::Cpu cpu;
    HandWritten by_hand(shape);
    time_sweeps(state, name, shape, 28, [&](Sweep& sweep) { by_hand.run(sweep, cpu.threads()); });
}

void composed(benchmark::State& state, const std::string& name, Shape shape, Fusion fusion,
              Tier tier) {
    core::Cpu cpu;
    const compose::Registry registry;
    Executable<core::Cpu> program(cpu, plan(compose::parse(blockwise(shape)), registry, fusion),
                                  tier);
    double bytes = 0;
    for (const compose::Kernel* kernel : program.plan().kernels()) bytes += kernel->bytes;
    const auto argument = [&](auto& image) {
        return compose::argument(image.data(), {shape.rows, shape.columns});
    };
    Image u({shape.rows, shape.columns}), v({shape.rows, shape.columns});
    time_sweeps(state, name, shape, bytes / (double(shape.rows) * double(shape.columns)),
                [&](Sweep& sweep) {
                    program.run(cpu,
                                {{"Ix", argument(sweep.across)},
                                 {"Iy", argument(sweep.down)},
                                 {"It", argument(sweep.change)},
                                 {"du", argument(sweep.u)},
                                 {"dv", argument(sweep.v)}},
                                std::vector{argument(u), argument(v)});
                });
}

/// The same sweeps of libflow, which does several while a band of rows is in cache, and has the
/// products of the gradients and the inverses of the pixels' equations beforehand.
core::Array<float, 3> flow_terms(Shape shape) {
    core::Array<float, 3> terms({5, shape.rows, shape.columns});
    const Sweep sweep(shape);
    for (index_t row = 0; row < shape.rows; ++row) {
        for (index_t column = 0; column < shape.columns; ++column) {
            const float gx = sweep.across(row, column), gy = sweep.down(row, column),
                        gt = sweep.change(row, column);
            const float of_pixel[] = {gx * gx, gx * gy, gy * gy, -gx * gt, -gy * gt};
            for (index_t i = 0; i < 5; ++i) terms(i, row, column) = of_pixel[i];
        }
    }
    return terms;
}
template <class Space>
flow::LinearSystem<Space> flow_system(const core::Array<float, 3, Space>& terms) {
    flow::LinearSystem<Space> system;
    system.tensor = terms.view().slice(0, 0, 3);
    system.right = terms.view().slice(0, 3, 5);
    system.smoothness = lam2 / 4;
    return system;
}
void libflow(benchmark::State& state, const std::string& name, Shape shape) {
    core::Cpu cpu;
    const core::Array<float, 3> terms = flow_terms(shape);
    core::Array<float, 3> x({2, shape.rows, shape.columns});
    const auto system = flow_system(terms);
    flow::SystemSolver<core::Cpu> solver(cpu, shape,
                                         {.solver = flow::Solver::block2x2, .iterations = sweeps});
    time_sweeps(state, name, shape, 36, [&](Sweep& sweep) {
        std::fill(x.begin(), x.end(), 0.0F);
        solver.solve(system, x);
        std::copy_n(&x(0, 0, 0), sweep.u.size(), sweep.u.data());
        std::copy_n(&x(1, 0, 0), sweep.v.size(), sweep.v.data());
    });
}

#if APERTURE_CUDA
using DeviceImage = core::Array<float, 2, core::Device>;

/// The sweeps on a GPU, as one graph.
void composed_on_gpu(benchmark::State& state, const std::string& name, Shape shape, Fusion fusion) {
    core::Gpu gpu;
    Executable<core::Gpu> program(
        gpu, plan(compose::parse(blockwise(shape)), compose::Registry(), fusion));
    double bytes = 0;
    for (const compose::Kernel* kernel : program.plan().kernels()) bytes += kernel->bytes;
    const Sweep inputs(shape);
    DeviceImage across(inputs.across.extent()), down(across.extent()), change(across.extent()),
        u(across.extent()), v(across.extent()), u_out(across.extent()), v_out(across.extent());
    core::copy(gpu, inputs.across.view(), across.view());
    core::copy(gpu, inputs.down.view(), down.view());
    core::copy(gpu, inputs.change.view(), change.view());
    const auto argument = [&](auto& image) {
        return compose::argument(image.data(), {shape.rows, shape.columns});
    };
    time_sweeps(state, name, shape, bytes / inputs.pixels(), [&](Sweep& sweep, auto& watch) {
        core::copy(gpu, std::as_const(sweep.u).view(), u.view());
        core::copy(gpu, std::as_const(sweep.v).view(), v.view());
        gpu.synchronize();
        watch.reset();
        program.run(gpu,
                    {{"Ix", argument(across)},
                     {"Iy", argument(down)},
                     {"It", argument(change)},
                     {"du", argument(u)},
                     {"dv", argument(v)}},
                    std::vector{argument(u_out), argument(v_out)});
        gpu.synchronize();
        const double seconds = watch.seconds();
        core::copy(gpu, std::as_const(u_out).view(), sweep.u.view());
        core::copy(gpu, std::as_const(v_out).view(), sweep.v.view());
        gpu.synchronize();
        return seconds;
    });
}

/// The same by libflow: a kernel a sweep, or several sweeps on chip.
void libflow_on_gpu(benchmark::State& state, const std::string& name, Shape shape,
                    flow::Implementation implementation) {
    core::Gpu gpu;
    const core::Array<float, 3> terms = flow_terms(shape);
    core::Array<float, 3, core::Device> on_device(terms.extent());
    core::copy(gpu, terms.view(), on_device.view());
    core::Array<float, 3> zero({2, shape.rows, shape.columns});
    std::fill(zero.begin(), zero.end(), 0.0F);
    core::Array<float, 3, core::Device> x(zero.extent());
    const auto system = flow_system(on_device);
    flow::SystemSolver<core::Gpu> solver(
        gpu, shape,
        {.solver = flow::Solver::block2x2, .iterations = sweeps, .implementation = implementation});
    time_sweeps(state, name, shape, 36, [&](Sweep& sweep, auto& watch) {
        core::copy(gpu, std::as_const(zero).view(), x.view());
        gpu.synchronize();
        watch.reset();
        solver.solve(system, x);
        gpu.synchronize();
        const double seconds = watch.seconds();
        core::Array<float, 3> found(zero.extent());
        core::copy(gpu, std::as_const(x).view(), found.view());
        gpu.synchronize();
        std::copy_n(&found(0, 0, 0), sweep.u.size(), sweep.u.data());
        std::copy_n(&found(1, 0, 0), sweep.v.size(), sweep.v.data());
        return seconds;
    });
}
#endif

/// A call of a program that hardly computes anything.
void warm_call(benchmark::State& state, const std::string& name, Tier tier) {
    constexpr int calls = 1000;
    core::Cpu cpu;
    std::vector<float> a(64, 1), b(64, 2), y(64);
    Executable<core::Cpu> program(
        cpu,
        plan(compose::parse("program add { input a: array f32[8, 8]; input b: array f32[8, 8];"
                            "local y: array f32[8, 8]; y = add(a, b); return y; }"),
             compose::Registry(), Fusion::thesis),
        tier);
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        for (int i = 0; i < calls; ++i) {
            program.run(cpu,
                        {{"a", compose::argument(a.data(), {8, 8})},
                         {"b", compose::argument(b.data(), {8, 8})}},
                        std::vector{compose::argument(y.data(), {8, 8})});
        }
        return watch.seconds() / calls;
    });
    state.counters["us"] = best * 1e6;
    if (y != std::vector<float>(64, 3)) fail(state, "the sum is wrong");
}

/// Milliseconds from the text of the sweep to its first result. Texts of other `seeds` are others
/// for the compiler.
double first_call_ms(const std::string& seed) {
    const Shape shape{8, 8};
    std::string text = blockwise(shape);
    for (std::size_t at = 0; (at = text.find("num", at)) != std::string::npos; at += 3) {
        if (text.compare(at, 6, "number") != 0) text.insert(at + 3, seed);
    }
    Sweep sweep(shape);
    sweep.set_zero();
    core::Cpu cpu;
    const core::Stopwatch watch;
    Executable<core::Cpu> program(cpu,
                                  plan(compose::parse(text), compose::Registry(), Fusion::thesis));
    Image u({8, 8}), v({8, 8});
    const auto argument = [](auto& image) { return compose::argument(image.data(), {8, 8}); };
    program.run(cpu,
                {{"Ix", argument(sweep.across)},
                 {"Iy", argument(sweep.down)},
                 {"It", argument(sweep.change)},
                 {"du", argument(sweep.u)},
                 {"dv", argument(sweep.v)}},
                std::vector{argument(u), argument(v)});
    return watch.seconds() * 1e3;
}

/// first_call_ms in a process of its own, for this one keeps what it has compiled.
double first_call_ms_elsewhere(const std::string& seed) {
    const std::string command = core::text("/proc/", ::getpid(), "/exe --first-call ", seed);
    std::FILE* const output = ::popen(command.c_str(), "r");
    double ms = -1;
    if (output == nullptr || std::fscanf(output, "%lf", &ms) != 1) ms = -1;
    if (output != nullptr) ::pclose(output);
    return ms;
}

void first_call(benchmark::State& state, const std::string& name, bool from_disk) {
    std::random_device random;
    std::string seed = std::to_string(random());
    if (from_disk) first_call_ms_elsewhere(seed);
    measure(state, name, [&] {
        if (!from_disk) seed = std::to_string(random());
        const double ms = first_call_ms_elsewhere(seed);
        if (ms < 0) fail(state, "the process failed");
        return ms * 1e-3;
    });
}

void register_all() {
    const std::pair<const char*, Fusion> fusions[] = {{"fused", Fusion::thesis},
                                                      {"unfused", Fusion::none}};
    const std::pair<const char*, Tier> tiers[] = {{"compiled", Tier::compiled},
                                                  {"interpreted", Tier::interpreted}};
    for (const Shape full : {Shape{388, 592}, Shape{1080, 1920}}) {
        const Shape shape = smoke ? Shape{19, 45} : full;
        const std::string size = core::text("/", full.columns, "x", full.rows);
        add_measured("hand_written" + size, [=](benchmark::State& state, const std::string& name) {
            hand_written(state, name, shape);
        });
        for (const auto& one : fusions) {
            for (const auto& other : tiers) {
                add_measured(core::text(one.first, "/", other.first, size),
                             [=](benchmark::State& state, const std::string& name) {
                                 composed(state, name, shape, one.second, other.second);
                             });
            }
        }
        add_measured("libflow" + size, [=](benchmark::State& state, const std::string& name) {
            libflow(state, name, shape);
        });
    }
#if APERTURE_CUDA
    if (core::gpu_status().usable) {
        for (const Shape shape : {Shape{388, 592}, Shape{1080, 1920}}) {
            const std::string size = core::text("/", shape.columns, "x", shape.rows);
            for (const auto& one : fusions) {
                add_measured(core::text("gpu/", one.first, size),
                             [=](benchmark::State& state, const std::string& name) {
                                 composed_on_gpu(state, name, shape, one.second);
                             });
            }
            for (const auto& implementation : flow::implementation_choices) {
                add_measured(core::text("gpu/libflow-", implementation.name, size),
                             [=](benchmark::State& state, const std::string& name) {
                                 libflow_on_gpu(state, name, shape, implementation.value);
                             });
            }
        }
    }
#endif
    for (const auto& one : tiers) {
        add_measured(
            core::text("warm_call/", one.first),
            [=](benchmark::State& state, const std::string& name) {
                warm_call(state, name, one.second);
            },
            // A time is that of one call of a thousand.
            0.001);
    }
    add_measured("first_call/compiler", [](benchmark::State& state, const std::string& name) {
        first_call(state, name, false);
    });
    add_measured("first_call/disk", [](benchmark::State& state, const std::string& name) {
        first_call(state, name, true);
    });
    register_composed_stap();
    register_composed_batches();
    register_composed_sequences();
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    using namespace aperture::bench;
    if (argc == 3 && std::string(argv[1]) == "--first-call") {
        std::cout << first_call_ms(argv[2]) << '\n';
        return 0;
    }
    return run_program(argc, argv, register_all);
}
