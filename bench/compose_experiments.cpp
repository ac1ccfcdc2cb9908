// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// The experiments of Fousek et al. 2011, section 5, and of Anderson 2014, chapters 5 to 7, on array
// programs. scripts/compose makes tables and figures of the report, in which
// DEVICE/FIGURE/SERIES/POINT is a point of a figure. plans_13 is as Fousek's Figure 5, of
// Anderson's program 13.
//   compose_experiments [--quick] [Google Benchmark's options]     --quick: a fifth of the plans
// Nothing is taken from or kept in the cache on disk, so that first calls compile.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aperture/compose/tune.hpp"
#include "aperture/compose_operations/flow.hpp"
#include "aperture/compose_operations/stap.hpp"
#include "aperture/flow/linear_system.hpp"
#include "aperture/flow/words.hpp"
#include "bench/compose_batches.hpp"
#include "bench/compose_program.hpp"
#include "bench/compose_stap.hpp"
#include "bench/program.hpp"
#include "libcompose/data_flow.hpp"
#include "libcompose/emit.hpp"
#include "tests/compose/thesis_programs.hpp"

namespace aperture::bench {
namespace {

using compose::Fusion;
using compose::Plan;
using compose::Program;
using core::index_t;

bool quick = false;

template <class Executor>
const std::string device = core::is_gpu<Executor> ? "gpu/" : "cpu/";

/// What predictions are made for: this machine.
template <class Executor>
compose::Machine machine() {
    Executor executor;
    return compose::measured_machine(executor);
}

compose::Registry all_operations() {
    compose::Registry all;
    compose::add_flow(all);
    compose::add_stap(all);
    return all;
}
template <class Executor>
Plan planned(const Program& program, Fusion fusion) {
    return compose::plan(program, all_operations(), fusion, machine<Executor>());
}

/// A plan's kernels by the results of their calls: "M1 v1; s1".
std::string kernels_of(const Plan& plan) {
    std::string all;
    for (const compose::Kernel* kernel : plan.kernels()) {
        if (!all.empty()) all += ";";
        for (const compose::PlannedCall& planned : kernel->calls) {
            all += (all.empty() ? "" : " ") + (*plan.program)[planned.call->results[0]].name;
        }
    }
    return all;
}

/// Of a program's data, which is kept while points of one figure follow one another.
ProgramData& data_of(const Program& program, const std::string& text) {
    static std::string known;
    static std::optional<ProgramData> data;
    if (known != text) {
        data.emplace(program);
        known = text;
    }
    return *data;
}

/// Fails if another plan of the same program had other results.
template <class Executor>
void expect_same_bits(benchmark::State& state, Composed<Executor>& composed,
                      const ProgramData& data) {
    static std::map<std::string, std::size_t> first;
    composed.seconds_with_copies();
    const std::string_view bytes(reinterpret_cast<const char*>(data.result.data()),
                                 data.result.size() * sizeof(float));
    const std::size_t hash = std::hash<std::string_view>()(bytes);
    const std::string text = compose::print(*composed.plan().program);
    if (first.emplace(text, hash).first->second != hash) {
        fail(state, "another plan of the program has other results");
    }
}

// Fousek et al.

index_t problems_of_listing1() { return smoke ? 100 : 31744; }

/// A benchmark calls a function several times: what was measured at the first of them.
template <class Measure>
auto first_of(const std::string& name, const Measure& measure) -> decltype(measure()) {
    static std::map<std::string, decltype(measure())> known;
    if (const auto found = known.find(name); found != known.end()) return found->second;
    return known[name] = measure();
}

template <class Function>
void add_point(const std::string& name, const Function& function) {
    constexpr double seconds = 0.1;
    add_measured(name, function, seconds);
}

/// Measures a plan and predicts it. A run computes so many `items`; `text` is the program's.
template <class Executor>
void add_plan(const std::string& name, const Plan& plan, const std::string& text, double items) {
    add_point(name, [=](benchmark::State& state, const std::string& of) {
        ProgramData& data = data_of(*plan.program, text);
        Composed<Executor> composed(plan, data);
        const double best = measure(state, of, [&] { return composed.seconds(); });
        expect_same_bits(state, composed, data);
        state.counters["M/s"] = items / best * 1e-6;
        state.counters["predicted M/s"] =
            items / compose::predicted_seconds(plan, machine<Executor>()) * 1e-6;
        state.counters["kernels"] = double(plan.kernels().size());
        state.SetLabel(kernels_of(plan));
    });
}

/// The calls of Listing 1.
struct Listed {
    const char *result, *expression;
    std::vector<const char*> inputs;
    std::vector<std::size_t> reads;  ///< other calls
};
const std::vector<Listed> listed{{"M1", "matrix_multiply(A, B)", {"A", "B"}, {}},
                                 {"v1", "matrix_multiply(M1, c)", {"c"}, {0}},
                                 {"s1", "norm(v1)", {}, {1}},
                                 {"M2", "matrix_multiply(D, E)", {"D", "E"}, {}},
                                 {"M3", "add(M2, D)", {"D"}, {3}},
                                 {"F", "multiply(M3, s1)", {}, {4, 2}}};
bool has(unsigned set, std::size_t call) { return (set >> call & 1U) != 0; }

/// Some of these calls as a program, which reads what the others would make.
std::string fusion_text(unsigned set) {
    const index_t problems = problems_of_listing1();
    std::set<std::string> inputs, locals, returned;
    std::string body;
    for (std::size_t i = 0; i < listed.size(); ++i) {
        if (!has(set, i)) continue;
        const Listed& call = listed[i];
        inputs.insert(call.inputs.begin(), call.inputs.end());
        for (const std::size_t other : call.reads) {
            if (!has(set, other)) inputs.insert(listed[other].result);
            returned.erase(listed[other].result);  // Each is read by one call.
        }
        locals.insert(call.result);
        returned.insert(call.result);
        body += core::text(call.result, " = ", call.expression, ";");
    }
    std::string text = core::text("program set_", set, " {");
    const auto declare = [&](const char* source, const std::set<std::string>& names) {
        for (const std::string& name : names) {
            const bool vector = name == "c" || name == "v1", number = name == "s1";
            const bool small = name == "A" || name == "B" || name == "M1";
            text += core::text(source, " ", name, ": batch f32[", problems,
                               vector   ? ", 3]; "
                               : number ? ", 1]; "
                               : small  ? ", 3, 3]; "
                                        : ", 5, 5]; ");
        }
    };
    declare("input", inputs);
    declare("local", locals);
    std::string results;
    for (const std::string& name : returned) results += (results.empty() ? "" : ", ") + name;
    return core::text(text, body, " return ", results, "; }");
}
/// Whether values go from call to call through all of them.
bool is_connected(unsigned set) {
    unsigned reached = set & -set;
    for (std::size_t pass = 0; pass < listed.size(); ++pass) {
        for (std::size_t i = 0; i < listed.size(); ++i) {
            for (const std::size_t other : listed[i].reads) {
                const unsigned pair = 1U << i | 1U << other;
                if ((pair & set) == pair && (pair & reached) != 0) reached |= pair;
            }
        }
    }
    return reached == set;
}

/// Plans in the order of prediction; `quick`: a fifth of them.
template <class Executor>
void add_plans(const char* figure, const std::vector<Plan>& plans, const std::string& text,
               double items) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        const bool omitted = quick && rank % 5 != 0 && rank + 1 < plans.size();
        if (omitted || (smoke && rank > 0)) continue;
        add_plan<Executor>(core::text(device<Executor>, figure, "/plan/", rank), plans[rank], text,
                           items);
    }
}

/// The best predicted plan, and others whose kernels are joined at random: from a kernel for each
/// call to as few as chance allows.
std::vector<Plan> sample_of_plans(const Program& program, const compose::Machine& machine) {
    constexpr std::size_t count = 100;
    constexpr int most_trials = 200;
    const compose::Registry registry;
    std::vector<Plan> plans{compose::plan(program, registry, Fusion::planned, machine)};
    const auto apart =
        compose::calls_of_kernels(compose::plan(program, registry, Fusion::none, machine));
    std::mt19937 random(1);
    const auto below = [&](std::size_t end) { return random() % end; };
    for (std::size_t i = 0; i < count; ++i) {
        Plan plan = compose::plan(program, registry, apart);
        std::size_t joined = 0;
        const std::size_t wanted = apart.size() * i / count;
        for (int trial = 0; trial < most_trials && joined < wanted; ++trial) {
            compose::CallsOfKernels kernels = compose::calls_of_kernels(plan);
            const std::size_t from = below(kernels.size()), to = below(kernels.size());
            if (from == to) continue;
            std::vector<int>& calls = kernels[to];
            calls.insert(calls.end(), kernels[from].begin(), kernels[from].end());
            std::sort(calls.begin(), calls.end());
            kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(from));
            try {
                plan = compose::plan(program, registry, kernels);
                ++joined;
            } catch (const core::InvalidArgument&) {
                // These cannot run together.
            }
        }
        plans.push_back(std::move(plan));
    }
    std::stable_sort(plans.begin(), plans.end(), [&](const Plan& a, const Plan& b) {
        return compose::predicted_seconds(a, machine) < compose::predicted_seconds(b, machine);
    });
    return plans;
}

template <class Executor>
void register_listing1() {
    for (unsigned set = 1; set < 1U << listed.size(); ++set) {
        if (!is_connected(set)) continue;
        if (smoke && set != 3) continue;
        const std::string text = fusion_text(set);
        add_plan<Executor>(core::text(device<Executor>, "fousek_4/fusion/", set),
                           compose::plan(compose::parse(text), compose::Registry(), Fusion::thesis,
                                         machine<Executor>()),
                           text, double(problems_of_listing1()));
    }
    const std::string text = listing1(problems_of_listing1());
    constexpr std::size_t all = 86;
    add_plans<Executor>(
        "fousek_5",
        compose::best_plans(compose::parse(text), compose::Registry(), all, machine<Executor>()),
        text, double(problems_of_listing1()));
    add_point(core::text(device<Executor>, "fousek_5.3/listing1/ms"),
              [=](benchmark::State& state, const std::string& name) {
                  measure(state, name, [&] {
                      const core::Stopwatch watch;
                      const Plan plan = compose::plan(compose::parse(text), compose::Registry(),
                                                      Fusion::planned, machine<Executor>());
                      state.counters["space, cover"] = watch.ms();
                      const core::Stopwatch writing;
                      for (const compose::Kernel* kernel : plan.kernels()) {
                          compose::generate(*plan.program, *kernel,
                                            core::is_gpu<Executor> ? compose::Target::device
                                                                   : compose::Target::cpu);
                      }
                      state.counters["text"] = writing.ms();
                      return watch.seconds();
                  });
                  // Another number of problems is another text for the compiler.
                  state.counters["compiler"] = first_of(name, [] {
                      const Program other = compose::parse(listing1(problems_of_listing1() + 1));
                      ProgramData data(other);
                      const Plan plan = planned<Executor>(other, Fusion::planned);
                      const core::Stopwatch watch;
                      const Composed<Executor> composed(plan, data);
                      return watch.ms();
                  });
              });
}

// Anderson

struct FlowSolver {
    const char* name;
    Program (*program)(index_t rows, index_t columns, int iterations);
    flow::Solver solver;
    double flops;  ///< of a pixel and iteration, as the thesis counts them
};
constexpr double lambda2 = 64;
const std::vector<FlowSolver> flow_solvers{
    {"jacobi",
     [](index_t rows, index_t columns, int n) {
         return compose::thesis::jacobi_flow(rows, columns, lambda2, n);
     },
     flow::Solver::jacobi, 24},
    {"block2x2",
     [](index_t rows, index_t columns, int n) {
         return compose::thesis::blockwise_flow(rows, columns, lambda2, n);
     },
     flow::Solver::block2x2, 30},
    {"cg",
     [](index_t rows, index_t columns, int n) {
         return compose::thesis::conjugate_gradients_flow(rows, columns, lambda2, 0, n);
     },
     flow::Solver::cg, 48},
    {"redblack",
     [](index_t rows, index_t columns, int n) {
         return compose::thesis::red_black_flow(rows, columns, lambda2, n);
     },
     flow::Solver::redblack, 28}};

flow::Shape flow_shape() { return smoke ? flow::Shape{19, 45} : flow::Shape{388, 584}; }
int flow_iterations() { return smoke ? 3 : 400; }

/// Milliseconds of a run on the device, with copies, and of copies alone; of the first call those
/// that it takes longer.
template <class Executor>
double measure_call(benchmark::State& state, const std::string& name, const Program& program,
                    Fusion fusion) {
    ProgramData data(program);
    const core::Stopwatch watch;
    Composed<Executor> composed(planned<Executor>(program, fusion), data);
    const auto [first, total, copies] = first_of(name, [&] {
        composed.seconds_with_copies();
        std::array<double, 3> least{watch.seconds(), watch.seconds(), watch.seconds()};
        for (int run = 0; run < 5; ++run) {
            least[1] = std::min(least[1], composed.seconds_with_copies());
            least[2] = std::min(least[2], composed.seconds_of_copies());
        }
        return least;
    });
    const double best = measure(state, name, [&] { return composed.seconds(); });
    expect_same_bits(state, composed, data);
    state.counters["compute_ms"] = best * 1e3;
    state.counters["copy_ms"] = copies * 1e3;
    state.counters["total_ms"] = total * 1e3;
    state.counters["overhead_ms"] = std::max(total - best - copies, 0.0) * 1e3;
    state.counters["jit_s"] = std::max(first - total, 0.0);
    state.counters["kernels"] = double(composed.plan().kernels().size());
    return best;
}

template <class Executor>
void register_vectors() {
    const index_t length = smoke ? 1000 : 1 << 24;
    const std::string vector = core::text("array f32[", length, "]; ");
    const std::string text =
        core::text("program p { input b: ", vector, "input c: ", vector, "local a: ", vector,
                   "a = add(b, c); a = multiply(a, a); return a; }");
    for (const auto& [word, fusion] : compose::fusion_choices) {
        add_point(core::text(device<Executor>, "anderson_5.3/", word, "/", length),
                  [=, fusion = fusion](benchmark::State& state, const std::string& name) {
                      const Program program = compose::parse(text);
                      ProgramData data(program);
                      Composed<Executor> composed(planned<Executor>(program, fusion), data);
                      const double best = measure(state, name, [&] { return composed.seconds(); });
                      state.counters["bytes/element"] = bytes_of(composed.plan()) / double(length);
                      state.counters["GB/s"] = bytes_of(composed.plan()) / best * 1e-9;
                  });
    }
}

std::string names_of(const Program& program, const compose::SymbolSet& symbols) {
    std::string all;
    for (const compose::SymbolId id : symbols) {
        all += (all.empty() ? "" : " ") + program[id].name;
    }
    return all;
}

/// The kernels of Jacobi's loop, and the live symbols of its calls, as the benchmark's label.
void register_jacobi() {
    const auto program = [] {
        constexpr index_t rows = 388, columns = 584;
        return compose::thesis::jacobi(rows, columns, 400);
    };
    for (const auto& [word, fusion] : compose::fusion_choices) {
        add_point(
            core::text("cpu/anderson_5.6/", word, "/jacobi"),
            [=, fusion = fusion](benchmark::State& state, const std::string& name) {
                std::string text;
                measure(state, name, [&] {
                    const core::Stopwatch watch;
                    text = compose::explain(compose::plan(program(), compose::Registry(), fusion));
                    return watch.seconds();
                });
                state.SetLabel(text);
            });
    }
    add_point("cpu/anderson_table_5.2/live/jacobi",
              [=](benchmark::State& state, const std::string& name) {
                  std::string text;
                  measure(state, name, [&] {
                      const core::Stopwatch watch;
                      const Program jacobi = program();
                      const auto live = compose::live_symbols(jacobi);
                      text.clear();
                      for (const compose::Statement& outer : jacobi.statements) {
                          const auto* const loop = std::get_if<compose::Loop>(&outer.what);
                          if (loop == nullptr) continue;
                          for (const compose::Statement& statement : loop->body) {
                              const auto* const call = std::get_if<compose::Call>(&statement.what);
                              if (call == nullptr) continue;
                              const compose::Live& of = live.at(call);
                              text += core::text(jacobi[call->results[0]].name, " = ",
                                                 call->operation, ";", names_of(jacobi, of.before),
                                                 ";", names_of(jacobi, of.after), "\n");
                          }
                      }
                      return watch.seconds();
                  });
                  state.SetLabel(text);
              });
}

template <class Executor>
void register_stap() {
    const std::string size = "medium";
    const std::pair<const char*, StapForm> forms[] = {{"one pass", StapForm::one_pass},
                                                      {"stages", StapForm::stages},
                                                      {"snapshots", StapForm::snapshots}};
    for (const auto& [word, form] : forms) {
        add_point(core::text(device<Executor>, "anderson_6/", word, "/", size),
                  [=, form = form](benchmark::State& state, const std::string& name) {
                      measure_call<Executor>(state, name, compose::parse(stap_program(size, form)),
                                             Fusion::thesis);
                  });
    }
}

/// libflow's solver of the same system.
template <class Executor>
void by_hand(benchmark::State& state, const std::string& name, flow::Solver of,
             flow::Implementation implementation) {
    Executor executor;
    const flow::Shape shape = flow_shape();
    using Space = typename Executor::Space;
    core::Array<float, 3> terms({5, shape.rows, shape.columns});
    const ProgramData gradients(flow_solvers.front().program(shape.rows, shape.columns, 1));
    const float* const across = gradients.inputs.at("Ix").data();
    const float* const down = gradients.inputs.at("Iy").data();
    const float* const change = gradients.inputs.at("It").data();
    const index_t pixels = shape.rows * shape.columns;
    for (index_t p = 0; p < pixels; ++p) {
        const float gx = across[p], gy = down[p], gt = change[p];
        const float of_pixel[] = {gx * gx, gx * gy, gy * gy, -gx * gt, -gy * gt};
        for (index_t i = 0; i < 5; ++i) terms.data()[i * pixels + p] = of_pixel[i];
    }
    core::Array<float, 3, Space> there(terms.extent()), x({2, shape.rows, shape.columns});
    core::Array<float, 3> zero(x.extent());
    std::fill(zero.begin(), zero.end(), 0.0F);
    if constexpr (core::is_gpu<Executor>) {
        core::copy(executor, std::as_const(terms).view(), there.view());
    } else {
        std::copy(terms.begin(), terms.end(), there.begin());
    }
    flow::LinearSystem<Space> system;
    system.tensor = std::as_const(there).view().slice(0, 0, 3);
    system.right = std::as_const(there).view().slice(0, 3, 5);
    system.smoothness = float(lambda2);
    flow::SystemSolver<Executor> solver(executor, shape,
                                        {.solver = of,
                                         .iterations = flow_iterations(),
                                         .precondition = false,
                                         .implementation = implementation});
    const double best = measure(state, name, [&] {
        if constexpr (core::is_gpu<Executor>) {
            core::copy(executor, std::as_const(zero).view(), x.view());
            executor.synchronize();
        } else {
            std::copy(zero.begin(), zero.end(), x.begin());
        }
        const core::Stopwatch watch;
        solver.solve(system, x);
        if constexpr (core::is_gpu<Executor>) executor.synchronize();
        return watch.seconds();
    });
    state.counters["compute_ms"] = best * 1e3;
}

template <class Executor>
void register_flow() {
    const flow::Shape shape = flow_shape();
    const std::string size = core::text(shape.columns, "x", shape.rows);
    const auto rates = [](benchmark::State& state, double best, int iterations, double flops) {
        const double pixels = double(flow_shape().rows) * double(flow_shape().columns);
        state.counters["iterations"] = iterations;
        state.counters["ms_iteration"] = best * 1e3 / iterations;
        state.counters["GFLOP/s"] = flops * pixels * iterations / best * 1e-9;
    };
    for (const FlowSolver& solver : flow_solvers) {
        add_point(core::text(device<Executor>, "anderson_table_7.1/", solver.name, "/", size),
                  [=](benchmark::State& state, const std::string& name) {
                      const double best = measure_call<Executor>(
                          state, name, solver.program(shape.rows, shape.columns, flow_iterations()),
                          Fusion::planned);
                      rates(state, best, flow_iterations(), solver.flops);
                  });
        for (const auto& implementation : flow::implementation_choices) {
            // It has no effect on a CPU.
            if (!core::is_gpu<Executor> && implementation.value != flow::Implementation::fused) {
                continue;
            }
            add_point(core::text(device<Executor>, "anderson_7.7/", solver.name, "/by hand, ",
                                 implementation.name),
                      [=](benchmark::State& state, const std::string& name) {
                          by_hand<Executor>(state, name, solver.solver, implementation.value);
                      });
        }
    }
    const std::string image = core::text("array f32[", shape.rows, ", ", shape.columns, "]; ");
    const std::string least_squares =
        core::text("program lucas_kanade { input error: ", image, "input across: ", image,
                   "input down: ", image, "local u: ", image, "local v: ", image,
                   "u, v = lk_least_squares(error, across, down); return u, v; }");
    add_point(core::text(device<Executor>, "anderson_table_7.1/lucas-kanade/", size),
              [=](benchmark::State& state, const std::string& name) {
                  constexpr double flops = 810;
                  const double best = measure_call<Executor>(
                      state, name, compose::parse(least_squares), Fusion::planned);
                  rates(state, best, 1, flops);
              });
    const FlowSolver& blockwise = flow_solvers[1];
    for (const auto& [word, fusion] : compose::fusion_choices) {
        add_point(core::text(device<Executor>, "anderson_7.8/", word, "/", size),
                  [=, fusion = fusion](benchmark::State& state, const std::string& name) {
                      measure_call<Executor>(
                          state, name,
                          blockwise.program(shape.rows, shape.columns, flow_iterations()), fusion);
                  });
    }
    const index_t rows = smoke ? 19 : 1080, columns = smoke ? 45 : 1920;
    constexpr int sweeps = 20;
    add_plans<Executor>(
        "plans_13", sample_of_plans(blockwise.program(rows, columns, sweeps), machine<Executor>()),
        "blockwise", double(rows * columns) * sweeps);
}

template <class Executor>
void register_on() {
    register_listing1<Executor>();
    register_vectors<Executor>();
    register_stap<Executor>();
    register_flow<Executor>();
}

void register_all() {
    register_jacobi();
    register_on<core::Cpu>();
#if APERTURE_CUDA
    if (core::gpu_status().usable) register_on<core::Gpu>();
#endif
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    using namespace aperture::bench;
    quick = take_flag(argc, argv, "--quick");
    ::setenv("APERTURE_CACHE", "off", 1);
    return run_program(argc, argv, register_all);
}
