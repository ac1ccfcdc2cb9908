// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What kernels for a CPU call of <math.h>. All of that takes compilers 0.1 s, often more than a
// kernel does.
#define APERTURE_MATH_DECLARED

inline float sqrt(float a) { return __builtin_sqrtf(a); }
inline double sqrt(double a) { return __builtin_sqrt(a); }
inline float fabs(float a) { return __builtin_fabsf(a); }
inline double fabs(double a) { return __builtin_fabs(a); }
inline float rint(float a) { return __builtin_rintf(a); }
inline double rint(double a) { return __builtin_rint(a); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
