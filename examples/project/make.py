"""Writes the made-up records of this example: households, their members, and visits of these to a doctor."""

import csv
import random

rng = random.Random(2)
households, persons, visits = [], [], []
for h in range(1, 801):
    hid = f"H{h:04d}"
    households.append((hid, rng.choice(["north", "south"]), rng.choice(["rented", "owned"])))
    for _ in range(rng.choice([2, 2, 3])):
        pid = f"P{len(persons) + 1:05d}"
        persons.append((pid, hid, rng.choice("fm"), rng.randint(18, 90), round(rng.lognormvariate(7, 0.6), 2)))
        for n in range(rng.choice([0, 0, 1, 1, 1, 2])):
            visits.append((len(visits) + 1, pid, f"2025-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
                           rng.choice(["acute", "planned"]) if n == 0 else "planned", round(20 + rng.expovariate(1 / 60), 2)))
visits.append((len(visits) + 1, "P99999", "2025-05-05", "acute", 30.0))  # of nobody: it leaves
for name, head, rows in [("households", ["hid", "region", "tenure"], households), ("persons", ["pid", "hid", "sex", "age", "income"], persons),
                         ("visits", ["vid", "pid", "day", "kind", "cost"], visits)]:
    with open(f"{name}.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(head)
        out.writerows(rows)
