"""Holds what attackers reach against what the report and the rules of the gate state."""
import itertools
import math

import numpy as np

import attackers
from cases import parameters

# How much better than stated an attack may be. A mean squared error of n records has a standard error
# that their squares give; the best of about 20 attacks is looked at for each figure, so three of them
# (1 in 700 each, 1 in 40 for the best if they were independent, which they are not). An attacker whose
# model is better than a linear one with a small tree may gain some more: 10 % of the RMSE, which
# docs/threat-model.md states.
ERRORS = 3
MODEL = 0.10


def judge(case, release, report, snooper):
    finds = []
    for column in [c for c in case.numbers if case.roles[c] == "sensitive" and case.masked(c)]:
        x = case.numbers[column]
        if column not in release.numbers or np.isnan(x).all():
            continue
        estimates = snooper.estimates(column)
        finds += _errors(case, report, column, x, estimates)
        finds += _exact(case, report, column, x, estimates, snooper)
    finds += _respondents(case, release, report)
    finds += _posteriors(case, release, report)
    finds += _missing(release)
    return finds


def doctor(case, report):
    """Makes a report claim more than holds, to see that the attacks notice."""
    for c in report["columns"].values():
        for row in c["risk"]:
            if isinstance(row["rmse"], float):
                row["rmse"] *= 2
            if isinstance(row.get("realised_R"), float):
                row["realised_R"] /= 4
    attack = report.get("attack", {}).get("uniqueness")
    if attack:
        attack["min_k"] += 1


def rows(report, column, *knowledge):
    c = report["columns"].get(column, {})
    return [r for r in c.get("risk", []) if r["target"] == "typical" and r["knowledge"] in knowledge]


def stated(report, column):
    """The least RMSE that the report states of the typical record: of a snooper who has the record. Masks
    that exchange values are more or less lucky from release to release, which is stated as realised."""
    least = math.inf
    for r in rows(report, column, "index", "record", "mean", "all_releases"):
        if r["R"] == "Infinity" or r["rmse"] == 0:
            return 0.0
        if r["rmse"] is not None:
            least = min(least, float(r["rmse"]))
        if r.get("realised_R") == "Infinity":
            return 0.0
        if r.get("realised_R"):
            least = min(least, float(r["realised_R"]) ** -0.5)
    return least


def _errors(case, report, column, x, estimates):
    promises = {"the report": stated(report, column)}
    for rule in case.rules:
        if rule.get("column") == column and "min_rmse" in rule:
            promises["the gate"] = rule["min_rmse"]
    best = {}
    exchanged = any(parameters(mask)[0] in ("swap", "rankswap", "shuffle") for mask in case.masked(column))
    released = (estimates["released value"] - x) ** 2
    for name, e in estimates.items():
        used = ~np.isnan(e) & ~np.isnan(x)
        if used.sum() < 30:
            continue
        part, both = 1.0, used & ~np.isnan(released)
        if used.sum() >= 0.5 * (~np.isnan(x)).sum():
            # The report is of all records: those that the attack leaves out are estimated otherwise.
            e = np.where(np.isnan(e), estimates["least squares, the record"], e)
            used = ~np.isnan(e) & ~np.isnan(x)
        elif np.nanmean(released) > 0:
            # Some records: that the masks have changed their values less than those of others is no success.
            part = min(1.0, math.sqrt(released[both].mean() / np.nanmean(released))) if both.any() else 0.0
        square = (e - x)[used] ** 2
        se = square.std() / math.sqrt(len(square))
        if exchanged and both.any():
            # Which of two outliers has whose value is one draw: who guesses it has luck, and no small error shows it.
            se = max(se, released[both].std() / math.sqrt(both.sum()))
        safe = math.sqrt(square.mean() + ERRORS * se)
        for who, promise in promises.items():
            # In units that no release tells apart, nothing is gained.
            if safe < promise * part * (1 - MODEL) and promise > 10.0 ** -case.decimals[column]:
                if who not in best or safe < best[who][0]:
                    best[who] = safe, f"{column}: {who} states ± {promise:.4g}; {name} is off by {math.sqrt(square.mean()):.4g} ({len(square)} records)"
    return [text for _, text in best.values()]


def _exact(case, report, column, x, estimates, snooper):
    limits = []
    for rule in case.rules:
        if rule.get("column") == column and "max_exact" in rule:
            limits.append((rule["max_exact"]["share"], rule["max_exact"]["within"], "a rule"))
    for e in report.get("attack", {}).get("inversion", {}).get("columns", []):
        if not limits and e.get("name", e.get("column")) == column:
            limits += [(e_["limit"], e_["within"], "the default") for e_ in e.get("exact") or [] if e_.get("limit") is not None]
    finds = {}
    for share, within, who in limits:
        for name, claim in itertools.chain(attackers.claims(case, column, estimates, snooper.half), snooper.most_alike(column, within)):
            use = ~np.isnan(claim) & ~np.isnan(x)
            if use.sum() < 30:
                continue
            # The default is of values: a place half-way between two states neither.
            inside = within * (1 - 1e-6) if who == "the default" and within > 1e-3 else within * (1 + 1e-6) + 1e-9
            hit = (np.abs(claim - x)[use] <= inside).mean()
            if hit - ERRORS * math.sqrt(max(share * (1 - share), hit * (1 - hit)) / use.sum()) > share and hit > finds.get(who, (0, ""))[0]:
                finds[who] = hit, f"{column}: {who} allows {share:.3g} of the values within {within:g}; {name} states {hit:.3g}"
    return [text for _, text in finds.values()]


def _respondents(case, release, report):
    finds = []
    for rule in case.rules:
        if "min_k" not in rule:
            continue
        m = rule.get("combinations", len(case.keys))
        for keys in itertools.combinations(case.keys, min(m, len(case.keys))):
            found = attackers.candidates(case, release, keys)
            if found is None:
                continue
            if found.min() < rule["min_k"]:
                finds.append(f"min_k {rule['min_k']} of {', '.join(keys)}: {int((found < rule['min_k']).sum())} respondents have fewer candidates, the least {found.min()}")
    uniqueness = report.get("attack", {}).get("uniqueness")
    if uniqueness and tuple(case.keys) == tuple(uniqueness["keys"]):
        found = attackers.candidates(case, release, case.keys)
        if found is not None and uniqueness["min_k"] is not None and found.min() < uniqueness["min_k"]:
            finds.append(f"the report states k = {uniqueness['min_k']}; {int((found < uniqueness['min_k']).sum())} respondents have fewer candidates, the least {found.min()}")
    return finds


def _posteriors(case, release, report):
    finds = []
    for rule in case.rules:
        if "max_posterior" not in rule:
            continue
        for mask in case.masks:
            kind, p = parameters(mask)
            if kind != "pram":
                continue
            for column in p["columns"]:
                sure, what = attackers.surest(case, release, column)
                if sure > rule["max_posterior"]:
                    finds.append(f"{column}: max_posterior {rule['max_posterior']}; at least {sure:.3f} ({what})")
    return finds


def _missing(release):
    """A cell that a mask has emptied looks as one that was empty."""
    finds = []
    for name, cells in release.raw.items():
        spelled = {c for c in cells if c.strip().strip('"').lower() in ("", "na", "null", "nan")}
        if len(spelled) > 1:
            finds.append(f"{name}: missing in {len(spelled)} spellings")
    if ',""' in release.text and (",," in release.text or ",\n" in release.text):
        finds.append("missing cells with quotes and without")
    return finds
