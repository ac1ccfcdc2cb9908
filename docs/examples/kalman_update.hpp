// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"

/// The measurement update of Kalman filters with five states, for for_each_element on a CPU or a
/// GPU: two measurements z = H x + noise of covariance R, the same H and R for all filters. The
/// covariance P stays symmetric and positive in rounding errors (Joseph's form).
struct KalmanUpdate {
    float h[2][5];
    float r[2][2];

    template <class State, class Covariance, class Measurement>
    APERTURE_HD void operator()(State& x, Covariance& p, const Measurement& z) const {
        using T = typename State::Number;
        T cross[5][2];  // P H^T
        for (int i = 0; i < 5; ++i) {
            for (int m = 0; m < 2; ++m) {
                cross[i][m] = p(i, 0) * h[m][0];
                for (int k = 1; k < 5; ++k) cross[i][m] += p(i, k) * h[m][k];
            }
        }
        T s[2][2];  // H P H^T + R
        for (int m = 0; m < 2; ++m) {
            for (int n = 0; n < 2; ++n) {
                s[m][n] = r[m][n];
                for (int k = 0; k < 5; ++k) s[m][n] += cross[k][n] * h[m][k];
            }
        }
        const T scale = T(1) / (s[0][0] * s[1][1] - s[0][1] * s[1][0]);
        T gain[5][2];
        for (int i = 0; i < 5; ++i) {
            gain[i][0] = (cross[i][0] * s[1][1] - cross[i][1] * s[1][0]) * scale;
            gain[i][1] = (cross[i][1] * s[0][0] - cross[i][0] * s[0][1]) * scale;
        }
        T innovation[2];
        for (int m = 0; m < 2; ++m) {
            innovation[m] = z(m);
            for (int k = 0; k < 5; ++k) innovation[m] -= x(k) * h[m][k];
        }
        for (int i = 0; i < 5; ++i) x(i) += gain[i][0] * innovation[0] + gain[i][1] * innovation[1];
        // P = A P A^T + K R K^T with A = I - K H, row by row: B = A P, D = B H^T - K R, P = B - D
        // K^T.
        for (int i = 0; i < 5; ++i) {
            T row[5];
            T d[2];
            for (int j = 0; j < 5; ++j) {
                row[j] = p(i, j) - gain[i][0] * cross[j][0] - gain[i][1] * cross[j][1];
            }
            for (int m = 0; m < 2; ++m) {
                d[m] = -gain[i][0] * r[0][m] - gain[i][1] * r[1][m];
                for (int k = 0; k < 5; ++k) d[m] += row[k] * h[m][k];
            }
            for (int j = i; j < 5; ++j) {
                p(i, j) = row[j] - d[0] * gain[j][0] - d[1] * gain[j][1];
            }
        }
        for (int i = 1; i < 5; ++i) {
            for (int j = 0; j < i; ++j) p(i, j) = p(j, i);
        }
    }
};
