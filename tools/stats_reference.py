#!/usr/bin/env python3
"""tools/stats_reference.py - computes the values tests/stats compares with, by SciPy and NumPy.

A developer tool: no test runs it. It needs python3-scipy and rewrites tests/stats/reference.json:

    tools/stats_reference.py

What SciPy has is taken from SciPy; what it has not (Holm, Benjamini-Hochberg, effective sample size,
MSER-5, Hodges-Lehmann) is computed here from the definition, by another route than the C++ takes.
"""
# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import math
import platform
from pathlib import Path

import numpy as np
import scipy
from scipy import special, stats

SEED = 20240229
OUT = Path(__file__).resolve().parent.parent / "tests" / "stats" / "reference.json"
ALTERNATIVES = ["two-sided", "less", "greater"]


def t_ppf(p, df):
    """SciPy's t quantile has about 8 digits; Newton steps on its far more accurate cdf give the rest."""
    t = stats.t.ppf(p, df)
    for _ in range(3):
        t -= (stats.t.cdf(t, df) - p) / stats.t.pdf(t, df)
    return t


def t_interval(confidence, df, centre, error):
    half = t_ppf(0.5 + confidence / 2, df) * error
    return centre - half, centre + half


def samples(rng, n):
    """The shapes measurements come in: plain, skewed, tied, far from zero, heavy-tailed, both signs."""
    yield rng.normal(100, 5, n)
    yield rng.lognormal(0, 1, n)
    yield np.round(rng.normal(10, 2, n))
    yield 1e4 + rng.normal(0, 1, n)
    yield np.abs(rng.standard_t(2, n)) + 0.1
    yield rng.normal(0, 1, n) * 10.0 ** rng.integers(-6, 6)


def pairs_of_samples(rng, sizes):
    for n, m in sizes:
        for a, b in zip(samples(rng, n), samples(rng, m)):
            yield a, b


def summary(rng):
    for n in (1, 2, 3, 5, 8, 21):
        for x in samples(rng, n):
            qs = [0, 1, 10, 25, 33.3, 50, 75, 90, 99, 99.9, 100]
            case = {
                "x": x, "mean": np.mean(x), "qs": qs, "percentiles": np.percentile(x, qs),
                "median": np.median(x), "mad_raw": stats.median_abs_deviation(x),
                "mad_normal": stats.median_abs_deviation(x, scale="normal"),
            }
            if n > 1:
                case |= {"variance": np.var(x, ddof=1), "sd": np.std(x, ddof=1),
                         "cv": np.std(x, ddof=1) / abs(np.mean(x))}
            if np.all(x > 0):
                case["geometric_mean"] = stats.gmean(x)
                if n > 1 and np.ptp(x) > 0:
                    logs = np.log(x)
                    low, high = t_interval(0.9, n - 1, np.mean(logs), stats.sem(logs))
                    case |= {"geometric_low": np.exp(low), "geometric_high": np.exp(high)}
            yield case


def distributions():
    dfs = [0.7, 1, 1.5, 2, 3, 4.2, 7, 10, 19.9, 30, 100, 345.6, 1000]
    ts = [0, 1e-3, 0.1, 0.5, 1, 1.7, 2.5, 4, 8, 20, 100]
    ps = [1e-12, 1e-6, 1e-3, 0.01, 0.025, 0.05, 0.1, 0.3, 0.45]
    zs = [-37, -20, -8, -3, -1, -0.1, 0, 0.3, 1, 2, 5, 8]
    return {
        "normal": [{"x": z, "cdf": stats.norm.cdf(z), "sf": stats.norm.sf(z)} for z in zs],
        "normal_quantile": [{"p": p, "x": stats.norm.ppf(p)} for p in [1e-300, 1e-100, 1e-30, *ps, 0.6, 0.9, 0.999]],
        "t": [{"t": t, "df": df, "cdf": stats.t.cdf(t, df), "sf": stats.t.sf(t, df)} for df in dfs for t in ts],
        "t_quantile": [{"p": p, "df": df, "t": t_ppf(p, df)} for df in dfs for p in [*ps, 0.8, 0.975]],
        "beta": [{"a": a, "b": b, "x": x, "value": special.betainc(a, b, x)}
                 for a in (0.3, 1, 2.5, 12, 80) for b in (0.5, 1, 4, 33) for x in (0, 0.01, 0.2, 0.5, 0.8, 0.99, 1)],
    }


def t_tests(rng):
    for a, b in pairs_of_samples(rng, [(2, 2), (3, 3), (5, 5), (8, 8), (20, 20)]):
        if np.ptp(a) == 0 or np.ptp(a - b) == 0:  # no spread: SciPy answers nan or inf
            continue
        case = {"a": a, "b": b}
        for alternative in ALTERNATIVES:
            one = stats.ttest_1samp(a, 0, alternative=alternative)
            rel = stats.ttest_rel(a, b, alternative=alternative)
            case[alternative] = {"one_t": one.statistic, "one_p": one.pvalue,
                                 "paired_t": rel.statistic, "paired_p": rel.pvalue}
        low, high = t_interval(0.95, len(a) - 1, np.mean(a - b), stats.sem(a - b))
        yield case | {"paired_low": low, "paired_high": high}


def welch(rng):
    for a, b in pairs_of_samples(rng, [(2, 3), (3, 3), (5, 5), (4, 9), (20, 12)]):
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            continue
        va, vb = np.var(a, ddof=1) / len(a), np.var(b, ddof=1) / len(b)
        df = (va + vb) ** 2 / (va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1))
        difference, error = np.mean(a) - np.mean(b), math.sqrt(va + vb)
        low, high = t_interval(0.95, df, difference, error)
        case = {"a": a, "b": b, "df": df, "low": low, "high": high,
                # two-sided 5 %, power 0.8
                "mde": (t_ppf(0.975, df) + t_ppf(0.8, df)) * error}
        for alternative in ALTERNATIVES:
            test = stats.ttest_ind(a, b, equal_var=False, alternative=alternative)
            case[alternative] = {"t": test.statistic, "p": test.pvalue}
        if np.all(a > 0) and np.all(b > 0):
            test = stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
            case["logs"] = {"t": test.statistic, "p": test.pvalue}
        yield case


def mann_whitney(rng):
    for a, b in pairs_of_samples(rng, [(1, 1), (2, 5), (4, 4), (5, 7), (9, 12), (20, 20), (25, 30)]):
        ties = len(np.unique(np.concatenate([a, b]))) < len(a) + len(b)
        exact = not ties and max(len(a), len(b)) <= 20
        case = {"a": a, "b": b, "exact": exact}
        for alternative in ALTERNATIVES:
            test = stats.mannwhitneyu(a, b, alternative=alternative, method="exact" if exact else "asymptotic")
            if math.isnan(test.pvalue):  # all values equal: SciPy has no answer, ours is 1
                break
            case[alternative] = {"u": test.statistic, "p": test.pvalue}
        else:
            yield case


def hodges_lehmann(rng):
    for a, b in pairs_of_samples(rng, [(1, 1), (2, 3), (5, 5), (8, 6), (15, 20)]):
        walsh = [(x + y) / 2 for x, y in itertools.combinations_with_replacement(a, 2)]
        yield {"a": a, "b": b, "one": np.median(walsh), "two": np.median(np.subtract.outer(a, b))}


def theil_sen(rng):
    for n in (3, 5, 10, 25):
        for y in samples(rng, n):
            x = np.sort(rng.choice([rng.uniform(0, 10, n), np.arange(n, dtype=float), rng.integers(0, 4, n)]))
            if len(np.unique(x)) < 2:
                continue
            fit = stats.theilslopes(y, x, 0.95)
            yield {"x": x, "y": y, "slope": fit[0], "intercept": fit[1], "low": fit[2], "high": fit[3]}


def sign_flip(rng):
    for n in (1, 2, 3, 5, 8, 11):
        for kind in range(4):
            d = [rng.normal(0.3, 1, n), np.round(rng.normal(0, 2, n)), rng.lognormal(0, 1, n) - 1.2,
                 np.full(n, 0.1)][kind]
            case = {"d": d}
            sums = np.array([np.dot(s, d) for s in itertools.product([1, -1], repeat=n)])
            for alternative in ALTERNATIVES:
                if n > 1:  # permutation_test refuses one value
                    test = stats.permutation_test((d,), lambda v, axis: np.sum(v, axis=axis), vectorized=True,
                                                  permutation_type="samples", n_resamples=np.inf,
                                                  alternative=alternative)
                    p = test.pvalue
                else:
                    slack = 1e-12
                    extreme = {"less": sums <= d.sum() + slack, "greater": sums >= d.sum() - slack,
                               "two-sided": np.abs(sums) >= abs(d.sum()) - slack}[alternative]
                    p = np.mean(extreme)
                case[alternative] = p
            yield case


def ar1(rng, n, phi):
    x = np.empty(n)
    x[0] = rng.normal()
    for i in range(1, n):
        x[i] = phi * x[i - 1] + rng.normal()
    return x


def series(rng):
    for n in (10, 23, 60, 150):
        for phi in (-0.5, 0, 0.7, 0.95):
            x = 50 + ar1(rng, n, phi)
            d = x - x.mean()
            rho = np.correlate(d, d, "full")[n - 1:] / np.dot(d, d)
            gammas = [rho[k] + rho[k + 1] for k in range(0, n - 1, 2)]
            keep = next((i for i, g in enumerate(gammas) if g <= 0), len(gammas))
            tau = 2 * sum(gammas[:keep]) - 1
            yield {"x": x, "rho1": rho[1], "rho3": rho[3], "ess": min(max(n / tau, 1), n) if tau > 0 else n}


def warm_up(rng):
    for n in (10, 14, 50, 103, 200):
        for start in (0, 5, 40):
            x = 100 + rng.normal(0, 1, n) + start * np.exp(-np.arange(n) / 8)
            batches = x[: n // 5 * 5].reshape(-1, 5).mean(axis=1)
            shortest = min(max(len(batches) // 2, 2), 5)
            scores = [np.var(batches[d:]) / (len(batches) - d) for d in range(len(batches) - shortest + 1)]
            cut, half = int(np.argmin(scores)), len(batches) // 2
            yield {"x": x, "discard": min(cut, half) * 5, "settled": cut <= half}


def multiplicity(rng):
    for n in (1, 2, 3, 5, 8):
        for p in (rng.uniform(0, 1, n), rng.uniform(0, 0.05, n) ** 2, np.round(rng.uniform(0, 1, n), 1)):
            holm, bh = [], []
            for i in range(n):
                # Holm is the closure of Bonferroni: the worst family that contains i decides.
                families = (s for r in range(1, n + 1) for s in itertools.combinations(range(n), r) if i in s)
                holm.append(max(min(1.0, len(s) * min(p[j] for j in s)) for s in families))
                bh.append(min(1.0, min(n * q / np.sum(p <= q) for q in p if q >= p[i])))
            yield {"p": p, "holm": holm, "benjamini_hochberg": bh}


def power():
    for sd in (0.01, 0.03, 0.2):
        for n in (2, 5, 8, 20):
            for alpha, beta in ((0.05, 0.2), (0.01, 0.1)):
                quantiles = t_ppf(1 - alpha, n - 1) + t_ppf(1 - beta, n - 1)
                z = stats.norm.ppf(1 - alpha) + stats.norm.ppf(1 - beta)
                effect = 0.02
                yield {"sd": sd, "n": n, "alpha": alpha, "power": 1 - beta, "mde": quantiles * sd / math.sqrt(n),
                       "effect": effect, "pairs": max(2, math.ceil((z * sd / effect) ** 2)),
                       "per_side": max(2, math.ceil(2 * (z * sd / effect) ** 2))}


def wilson():
    for k, n in ((0, 1), (1, 1), (0, 20), (1, 20), (19, 20), (20, 20), (37, 400), (399, 400)):
        low, high = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        yield {"k": k, "n": n, "low": low, "high": high}


def bootstrap(rng):
    """Percentile intervals from many draws; the test allows for the Monte-Carlo error of both sides."""
    for x in (rng.normal(10, 1, 12), rng.lognormal(0, 1, 20), rng.normal(5, 2, 40)):
        draws = rng.choice(x, (200_000, len(x)))
        block = math.ceil(1.5 * len(x) ** (1 / 3))
        starts = rng.integers(0, len(x) - block + 1, (200_000, -(-len(x) // block)))
        moving = x[(starts[:, :, None] + np.arange(block)).reshape(200_000, -1)[:, : len(x)]]
        yield {"x": x, "block": block, "mean": np.percentile(draws.mean(axis=1), [2.5, 97.5]),
               "moving_mean": np.percentile(moving.mean(axis=1), [2.5, 97.5])}


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, str):
        return value
    value = float(value)
    assert math.isfinite(value), "cases without an answer are left out where they arise"
    return value


def main():
    rng = np.random.default_rng(SEED)
    document = {
        "made_by": "tools/stats_reference.py", "seed": SEED,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "summary": list(summary(rng)), **distributions(),
        "t_tests": list(t_tests(rng)), "welch": list(welch(rng)), "mann_whitney": list(mann_whitney(rng)),
        "hodges_lehmann": list(hodges_lehmann(rng)), "theil_sen": list(theil_sen(rng)),
        "sign_flip": list(sign_flip(rng)), "series": list(series(rng)), "warm_up": list(warm_up(rng)),
        "multiplicity": list(multiplicity(rng)), "power": list(power()), "wilson": list(wilson()),
        "bootstrap": list(bootstrap(rng)),
    }
    lines = []
    for key, value in plain(document).items():  # one case per line, so that a change reads well in a diff
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(row) for row in value)
            lines.append(f'"{key}": [\n{rows}\n]')
        else:
            lines.append(f'"{key}": {json.dumps(value)}')
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
