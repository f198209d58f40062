"""Ranges of hidden cells of tables, by HiGHS: one problem a line of standard input,
as internal/tables/tabletest writes them, one list of [least, greatest] a line of
standard output; null where there is no end."""

import json
import sys

import highspy


def ranges(problem):
    column, cells = {}, []
    for cell, hidden in enumerate(problem["hidden"]):
        if hidden:
            column[cell] = len(cells)
            cells.append(cell)
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("simplex_strategy", 4)  # primal: the last vertex is feasible for the next objective
    infinite = solver.getInfinity()
    for cell in cells:
        lower, upper = problem["lower"][cell], problem["upper"][cell]
        solver.addVar(-infinite if lower is None else lower, infinite if upper is None else upper)
    for total, *parts in problem["sums"]:
        known, index, sign = 0.0, [], []
        for cell, s in [(total, -1.0)] + [(p, 1.0) for p in parts]:
            if cell in column:
                index.append(column[cell])
                sign.append(s)
            else:
                known += s * problem["value"][cell]
        if index:
            solver.addRow(-known, -known, len(index), index, sign)
    found = []
    for cell in problem["cells"]:
        if cell not in column:
            found.append([problem["value"][cell]] * 2)
            continue
        ends = []
        solver.changeColCost(column[cell], 1.0)
        for sense in (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize):
            solver.changeObjectiveSense(sense)
            solver.run()
            status = solver.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                ends.append(solver.getInfo().objective_function_value)
            elif status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
                ends.append(None)
            else:
                sys.exit(f"HiGHS: {solver.modelStatusToString(status)}")
        solver.changeColCost(column[cell], 0.0)
        found.append(ends)
    return found


for line in sys.stdin:
    print(json.dumps(ranges(json.loads(line))), flush=True)
