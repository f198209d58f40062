"""Reference figures of internal/intruder/referee and of the regressions of internal/intruder/loss: anonymeter 1.1.0,
SDMetrics 0.32.0 and statsmodels 0.15.0 on made-up files that the Go tests make again (reference_test.go has the same
generator). Writes JSON.

    python scripts/reference/referee.py > internal/intruder/referee/testdata/reference.json
    python scripts/reference/referee.py models > internal/intruder/referee/testdata/models.json
    python scripts/reference/referee.py time 100000 FOLDER    # writes CSV files and prints the CPU seconds of anonymeter
"""

import json
import logging
import sys
import time
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
from sdmetrics.single_column import KSComplement, TVComplement
from sdmetrics.single_table import DCROverfittingProtection

NUMERIC = ["age", "educ", "wage", "hours"]
CATEGORICAL = ["sex", "region", "job"]
AUX = (["age", "sex", "educ"], ["wage", "region"])
ATTACKS = 1000


class Draws:
    """A linear congruential generator, the same in Go."""

    def __init__(self, seed):
        self.state = seed

    def below(self, k):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % k


def person(d):
    age = 18 + d.below(60)
    educ = 8 + 2 * d.below(5) + d.below(3)
    wage = 200 + 40 * educ + 6 * min(age, 55) + d.below(4000) * (1 + 3 * (d.below(20) == 0))
    hours = 20 + d.below(40)
    sex = "mf"[d.below(2)]
    region = "r%d" % min(d.below(9), d.below(9))
    job = "j%d" % (educ // 2 + d.below(4))
    return [age, educ, wage, hours, sex, region, job]


def blur(row, d):
    row = list(row)
    row[2] += d.below(41) - 20
    row[3] += d.below(5) - 2
    if d.below(10) == 0:
        row[5] = "r%d" % d.below(9)
    return row


def files(name, seed):
    """Training, released and control records of a scenario."""
    d = Draws(seed)
    n = 1500
    m = {"smaller": 400, "larger": 3000}.get(name, n)
    training = [person(d) for _ in range(n)]
    control = [person(d) for _ in range(m)]
    if name == "identical":
        released = training[n // 3 :] + training[: n // 3]
    elif name == "independent":
        released = [person(d) for _ in range(n)]
    elif name == "noisy":
        released = [blur(r, d) for r in training]
    else:
        released = [r if i % 2 == 0 else person(d) for i, r in enumerate(training)]
    frame = lambda rows: pd.DataFrame(rows, columns=["age", "educ", "wage", "hours", "sex", "region", "job"])
    return frame(training), frame(released), frame(control)


def figures(e):
    r = e.results()
    risk = r.risk()
    return {
        "attack": r.n_success, "control": float(r.n_control), "baseline": r.n_baseline,
        "attack_rate": r.attack_rate.value, "attack_error": r.attack_rate.error,
        "risk": risk.value, "lower": risk.ci[0], "upper": risk.ci[1],
    }


def main():
    out = {}
    for seed, name in enumerate(["identical", "independent", "leaky", "noisy", "smaller", "larger"]):
        ori, syn, control = files(name, seed + 1)
        np.random.seed(seed)
        s = {}
        attacks = min(ATTACKS, len(control))
        for mode in ["univariate", "multivariate"]:
            e = SinglingOutEvaluator(ori=ori, syn=syn, control=control, n_attacks=ATTACKS, seed=seed)
            s[mode] = figures(e.evaluate(mode=mode))
        e = LinkabilityEvaluator(ori=ori, syn=syn, control=control, aux_cols=AUX, n_attacks=attacks)
        s["linkability"] = figures(e.evaluate(n_jobs=-1))
        s["inference"] = {}
        for secret in NUMERIC + CATEGORICAL:
            e = InferenceEvaluator(ori=ori, syn=syn, control=control, secret=secret, n_attacks=attacks,
                                   aux_cols=[c for c in ori.columns if c != secret], regression=secret in NUMERIC)
            s["inference"][secret] = figures(e.evaluate(n_jobs=-1))
        meta = {"tables": {"t": {"columns": {c: {"sdtype": "numerical" if c in NUMERIC else "categorical"} for c in ori.columns}}}}
        s["closer_to_training"] = dcr(ori, syn, control, meta)
        s["marginals"] = {c: float((KSComplement if c in NUMERIC else TVComplement).compute(ori[c], syn[c])) for c in ori.columns}
        s["pairs"] = {}
        for i, a in enumerate(ori.columns):
            for b in ori.columns[i + 1 :]:
                if a in NUMERIC and b in NUMERIC:
                    s["pairs"][a + "," + b] = float(CorrelationSimilarity.compute(ori[[a, b]], syn[[a, b]]))
                elif a in CATEGORICAL and b in CATEGORICAL:
                    s["pairs"][a + "," + b] = float(ContingencySimilarity.compute(ori[[a, b]], syn[[a, b]]))
        out[name] = s
        print(name, file=sys.stderr)
    json.dump(out, sys.stdout, indent=1, default=float)
    print()


def dcr(ori, syn, control, meta):
    """SDMetrics' share of released records that are nearer to a training record."""
    try:
        b = DCROverfittingProtection.compute_breakdown(ori, syn, control, meta, "t")
    except Exception:
        b = DCROverfittingProtection.compute_breakdown(ori, syn, control, meta["tables"]["t"], None)
    return float(b["synthetic_data_percentages"]["closer_to_training"])


FORMULAS = ["log(wage) ~ age + I(age^2) + educ", "wage ~ educ + sex + region", "wage ~ educ * hours + sqrt(age)", "hours ~ sex:educ + age"]


def models():
    """Coefficients, standard errors and intervals by statsmodels; categories by their frequency in the original."""
    import statsmodels.formula.api as smf

    out = {}
    for seed, name in [(2, "leaky"), (3, "noisy")]:
        ori, syn, _ = files(name, seed + 1)
        # The most frequent category first, and of equally frequent ones the least.
        levels = {c: list(ori[c].value_counts().sort_index().sort_values(ascending=False, kind="stable").index) for c in ("sex", "region")}
        out[name] = {}
        for f in FORMULAS:
            both = []
            for frame in (ori, syn):
                frame = frame.copy()
                for c, order in levels.items():
                    frame[c] = frame[c].map({v: "c%02d" % i for i, v in enumerate(order)})
                # R's sex:educ has a slope for each category where educ has none of its own; the program's has those of
                # the other categories than the reference.
                text = f.replace("log", "np.log").replace("sqrt", "np.sqrt").replace("^", "**").replace("sex:educ", "I((sex=='c01')*educ)")
                fit = smf.ols(text, frame).fit()
                ci = fit.conf_int()
                both.append([[float(fit.params[k]), float(fit.bse[k]), float(ci.loc[k, 0]), float(ci.loc[k, 1])] for k in fit.params.index])
                terms = list(fit.params.index)
            out[name][f] = {"terms": terms, "original": both[0], "released": both[1]}
    json.dump(out, sys.stdout, indent=1)
    print()


def clocked(n, folder):
    """CPU seconds of anonymeter's attacks on files of n records, three tenths of the released ones copies."""
    rng = np.random.default_rng(7)

    def population():
        age, educ = rng.integers(18, 78, n), 8 + 2 * rng.integers(0, 5, n) + rng.integers(0, 3, n)
        wage = np.round(200 + 40 * educ + 6 * np.minimum(age, 55) + rng.gamma(2, 400, n), 2)
        named = lambda letter, codes: np.char.add(letter, codes.astype(str))
        return pd.DataFrame({
            "age": age, "educ": educ, "wage": wage, "hours": rng.integers(20, 60, n),
            "experience": np.maximum(0, age - educ - 6 - rng.integers(0, 5, n)), "sex": named("s", rng.integers(0, 2, n)),
            "region": named("r", rng.integers(0, 9, n)), "job": named("j", educ // 2 + rng.integers(0, 4, n)),
            "married": named("m", rng.integers(0, 3, n)), "sector": named("t", rng.integers(0, 20, n)),
        })

    ori, control, syn = population(), population(), population()
    copies = rng.random(n) < 0.3
    syn[copies] = ori[copies]
    for name, frame in (("original", ori), ("control", control), ("released", syn)):
        frame.to_csv("%s/%s.csv" % (folder, name), index=False)
    common = dict(ori=ori, syn=syn, control=control, n_attacks=2000)
    total = 0.0

    def timed(what, evaluator, *args, **named):
        nonlocal total
        start = time.process_time()
        evaluator.evaluate(*args, **named)
        total += time.process_time() - start
        print("%-12s %8.1f s of CPU so far" % (what, total), file=sys.stderr, flush=True)

    timed("univariate", SinglingOutEvaluator(seed=1, **common), mode="univariate")
    timed("multivariate", SinglingOutEvaluator(seed=1, max_attempts=100_000, **common), mode="multivariate")
    timed("linkability", LinkabilityEvaluator(aux_cols=(["age", "sex", "educ", "married"], ["wage", "region"]), **common), n_jobs=1)
    for secret in ori.columns:
        timed(secret, InferenceEvaluator(secret=secret, regression=ori[secret].dtype != object, aux_cols=[c for c in ori if c != secret], **common), n_jobs=1)
    print("%.1f" % total)


if __name__ == "__main__":
    if "models" in sys.argv:
        models()
    elif "time" in sys.argv:
        clocked(int(sys.argv[2]), sys.argv[3])
    else:
        main()
