#!/usr/bin/env python3
"""The splits that two other programs find, rpart of R and scikit-learn, for trees on the example's data.

Both are given the same columns of examples/cps/cps1988.parquet, neither prunes, and they share
no code with the program. What they find must be the same for a case to be written:

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install pyarrow scikit-learn
    apt-get install r-cran-rpart
    /tmp/venv/bin/python scripts/reference/trees.py >transform/internal/models/testdata/trees.json

Each tree is a list of nodes, every node before its parts and the part of lesser values first: n
records, and for a split the predictor (by its number), the cut and the gain: by how much the sum
of squares, or n times Gini's index, is less in the parts together. Made with rpart 4.1.19 and
scikit-learn 1.9.1.

The program does not split off a part whose spread is a small share of that of all records. The script
refuses a case in which that would matter.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import pyarrow.parquet
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

HERE = pathlib.Path(__file__).parent
LEAST = {False: 0.0025, True: 0.05}  # share of the variance, of Gini's index, that a part must have

# response, predictors (a category of a column is whether it is that one), least records of a leaf
CASES = [
    ("wage", ["education", "experience"], 900),
    ("wage", ["education", "experience", "region=south", "region=west", "region=northeast", "parttime=yes", "smsa=yes"], 500),
    ("experience", ["wage", "education"], 700),
    ("education", ["wage", "experience", "ethnicity=cauc"], 600),
    ("region", ["wage", "education", "experience", "smsa=yes", "ethnicity=cauc"], 600),
    ("smsa", ["wage", "education", "experience"], 800),
    ("ethnicity", ["region=south", "region=west", "region=northeast", "smsa=yes", "education", "wage"], 3000),
]

RPART = """
library(rpart)
a <- commandArgs(TRUE)
d <- read.csv(a[1])
leaf <- as.integer(a[3])
f <- rpart(y ~ ., data = if (a[2] == "class") transform(d, y = factor(y)) else d, method = a[2],
           control = rpart.control(minsplit = 2 * leaf, minbucket = leaf, cp = -1, xval = 0,
                                   maxcompete = 0, maxsurrogate = 0, usesurrogate = 0))
own <- f$frame$var != "<leaf>"
at <- cumsum(own)
cat(sprintf("%s,%d,%s,%.17g,%d,%.17g,%.17g\\n", row.names(f$frame), f$frame$n, f$frame$var,
    ifelse(own, f$splits[pmax(at, 1), "index"], 0), as.integer(ifelse(own, f$splits[pmax(at, 1), "ncat"], 0)),
    ifelse(own, f$splits[pmax(at, 1), "improve"], 0), f$frame$dev), sep = "")
"""


def column(table, name):
    if "=" in name:
        name, category = name.split("=")
        values = numpy.array(table[name].to_pylist())
        if category not in values:
            sys.exit(f"{name} has no category {category}")
        return (values == category).astype(float)
    values = table[name].to_pylist()
    if isinstance(values[0], str):
        names = sorted(set(values))
        return numpy.array([float(names.index(v)) for v in values])
    return numpy.array(values, float)


def by_rpart(x, y, leaf, categories):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "data.csv")
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["y"] + [f"x{k}" for k in range(x.shape[1])])
            rows.writerows([repr(float(v)) for v in row] for row in numpy.column_stack([y, x]))
        script = pathlib.Path(folder, "tree.R")
        script.write_text(RPART)
        out = subprocess.run(["Rscript", script, path, "class" if categories else "anova", str(leaf)], check=True, capture_output=True, text=True).stdout
    frame = {}
    for line in out.splitlines():
        number, n, var, cut, side, improve, dev = line.split(",")
        frame[int(number)] = int(n), var, float(cut), int(side), float(improve), float(dev)

    def walk(number):
        n, var, cut, side, improve, dev = frame[number]
        if var == "<leaf>":
            return [{"n": n}]
        first, second = (2 * number, 2 * number + 1) if side < 0 else (2 * number + 1, 2 * number)
        gain = improve if categories else improve * dev
        return [{"n": n, "predictor": int(var[1:]), "cut": cut, "gain": gain}] + walk(first) + walk(second)

    return walk(1)


def by_sklearn(x, y, leaf, categories):
    make = DecisionTreeClassifier if categories else DecisionTreeRegressor
    tree = make(min_samples_leaf=leaf, random_state=0).fit(x, y).tree_
    for i in range(tree.node_count):
        if not tree.impurity[i] > LEAST[categories] * tree.impurity[0]:
            sys.exit(f"a part has {tree.impurity[i] / tree.impurity[0]:.4f} of the spread: take greater leaves")

    def walk(i):
        n = int(tree.n_node_samples[i])
        a, b = tree.children_left[i], tree.children_right[i]
        if a < 0:
            return [{"n": n}]
        gain = n * tree.impurity[i] - sum(tree.n_node_samples[c] * tree.impurity[c] for c in (a, b))
        return [{"n": n, "predictor": int(tree.feature[i]), "cut": float(tree.threshold[i]), "gain": float(gain)}] + walk(a) + walk(b)

    return walk(0)


def main():
    table = pyarrow.parquet.read_table(HERE / "../../examples/cps/cps1988.parquet")
    cases = []
    for response, predictors, leaf in CASES:
        categories = isinstance(table[response][0].as_py(), str)
        y = column(table, response)
        x = numpy.column_stack([column(table, name) for name in predictors])
        tree, other = by_rpart(x, y, leaf, categories), by_sklearn(x, y, leaf, categories)
        at = f"{response} by {', '.join(predictors)}"
        if len(tree) != len(other):
            sys.exit(f"{at}: {len(tree)} nodes of rpart, {len(other)} of scikit-learn")
        for i, (a, b) in enumerate(zip(tree, other)):
            same = a["n"] == b["n"] and a.get("predictor") == b.get("predictor")
            for what in ("cut", "gain"):  # scikit-learn's predictors have 24 bits
                same = same and abs(a.get(what, 0) - b.get(what, 0)) <= 1e-6 * abs(a.get(what, 0))
            if not same:
                sys.exit(f"{at}: node {i} is {a} of rpart, {b} of scikit-learn")
        print(f"{at}: {len(tree)} nodes", file=sys.stderr)
        cases.append({"response": response, "categories": categories, "predictors": predictors, "leaf": leaf, "nodes": tree})
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")


main()
