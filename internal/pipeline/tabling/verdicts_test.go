package tabling

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablemap"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// protectedOf returns the first family of a configuration after protection.
func protectedOf(t *testing.T, dir, text string) (*records, *protected) {
	t.Helper()
	c := configured(t, dir, text)
	_, o := pipeline.Options{Version: "test", Log: zerolog.Nop()}.Ready(t.Context())
	r, err := open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	families, _, err := r.cellsOf(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.protect(t.Context(), families[0])
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

// The audit's results for the cells of several tables are reported for each table with the cell,
// first and last alike, and for no other. Results for respondents are in order, and each cell is
// named once. The gate counts each of them, and for respondents the exactly known ones among the
// disclosed.
func TestVerdictsAreToldOfTheirTables(t *testing.T) {
	r, p := protectedOf(t, shopsIn(t), shopTables)
	cells := func(table int) (list []int32) {
		for at := range p.size(table) {
			list = append(list, p.set.Cell(table, at))
		}
		return list
	}
	names := func(list ...int32) (out []string) {
		for _, cell := range list {
			out = append(out, p.set.Name(int(cell)))
		}
		return out
	}
	byRegion, sizes := cells(0), cells(1)
	var only []int32 // only in the first table
	for _, cell := range byRegion {
		if !slices.Contains(sizes, cell) {
			only = append(only, cell)
		}
	}
	if len(only) < 3 || len(sizes) != 3 {
		t.Fatalf("%d cells in one table alone and %d in both: the test checks nothing", len(only), len(sizes))
	}
	first, last, both := only[0], only[len(only)-1], sizes[len(sizes)-1]
	p.verdict = audit.Verdict{Disclosed: []int32{first, last}, Narrow: []int32{both, first, last, sizes[1]},
		Unproven: []int32{last, both, first}}
	p.insiders = []audit.Insider{{Knowers: []int32{1}, Infers: last, Disclosed: true}, {Knowers: []int32{2}, Infers: both},
		{Knowers: []int32{3}, Infers: last}, {Knowers: []int32{4}, Infers: first, Disclosed: true}}
	respondents := names(first, both, last)
	slices.Sort(respondents)
	for table, want := range []TableReport{
		{Disclosed: names(first, last), Narrow: names(both, first, last, sizes[1]), Unproven: 3, Respondent: respondents},
		{Disclosed: []string{}, Narrow: names(both, sizes[1]), Unproven: 1, Respondent: names(both)},
	} {
		got := p.tableReport(table, &r.config.Tables[table])
		if !slices.Equal(got.Disclosed, want.Disclosed) || !slices.Equal(got.Narrow, want.Narrow) ||
			got.Unproven != want.Unproven || !slices.Equal(got.Respondent, want.Respondent) {
			t.Errorf("the report of table %d is %+v, want %+v", table, got, want)
		}
		found := map[string]assess.RuleVerdict{}
		judgeTable(r.config, p, &got, func(v assess.RuleVerdict) { found[v.Measure] = v })
		exactly := map[int]int{0: 2, 1: 0}[table]
		for measure, n := range map[string]int{"max_disclosed": len(want.Disclosed) + exactly,
			"min_range": len(want.Narrow) + len(want.Respondent)} {
			if v := found[measure]; float64(v.Found) != float64(n) || v.Passed != (n == 0) || (v.Advice == "") != v.Passed ||
				!strings.HasPrefix(v.Rule, got.Name+": ") {
				t.Errorf("table %d, %s: the rule is %+v, want %d found", table, measure, v, n)
			}
		}
	}
	if rep := p.report(); rep.Cells != len(byRegion) || !slices.Equal(rep.Tables, []string{"by-region", "sizes"}) {
		t.Errorf("the report of the family is %+v", rep)
	}
	// For a cell of many tables and verdicts, lists are truncated but counts are complete.
	many := make([]int32, reportCells+5)
	for i := range many {
		many[i] = first
	}
	p.verdict = audit.Verdict{Disclosed: many, Narrow: many, Unproven: many}
	if got := p.tableReport(0, &r.config.Tables[0]); len(got.Disclosed) != reportCells || len(got.Narrow) != reportCells ||
		got.Unproven != len(many) {
		t.Errorf("the report lists %d disclosed and %d narrow cells and counts %d unproven ones", len(got.Disclosed),
			len(got.Narrow), got.Unproven)
	}
}

// Values with decimals are measured in their own unit: a suppressed value can be anywhere in its
// range, in steps of the last decimal, and a user of the tables assumes the middle.
func TestRiskIsInTheUnitOfValues(t *testing.T) {
	dir := shopsIn(t)
	const table = "version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [region, size], value: turnover, unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\nreport: {cells: %s/cells.csv}\n"
	res, err := run(t, dir, table)
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) float64 {
		t.Helper()
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const unit = 0.01
	risk, least, square, n := 0.0, math.Inf(1), 0.0, 0.0
	for _, row := range read(t, dir, "cells.csv")[1:] {
		value, contributors, status := number(row[3]), row[4], row[5]
		hidden := row[len(row)-1] == ""
		estimate := value
		if hidden {
			low, high := number(row[9]), number(row[10])
			estimate = (low + high) / 2
			if status == tables.Primary.String() {
				// As many values as steps, all equally probable.
				steps, mean := math.Round((high-low)/unit)+1, 0.0
				for k := range int(steps) {
					mean += math.Pow(low+float64(k)*unit-value, 2) / steps
				}
				risk, least = max(risk, 1/math.Log(steps)), min(least, mean)
			}
		}
		if contributors != "0" {
			n++
			square += math.Pow(estimate-value, 2)
		}
	}
	near := func(a assess.Float, b float64) bool { return math.Abs(float64(a)-b) <= 1e-9*math.Abs(b) }
	r := res.Report.Tables[0]
	if r.Primary < 2 || square == 0 || !near(r.Risk, risk) || !near(r.Error, least) || !near(r.Utility, n/square) {
		t.Errorf("%d unsafe cells: risk %v, error %v, utility %v; by the cells %v, %v, %v", r.Primary, r.Risk, r.Error,
			r.Utility, risk, least, n/square)
	}
}

// The measures of a point of a map count every cell of its tables, and a cell of two tables once:
// how many are unsafe, suppressed, and published unchanged with contributors.
func TestPointsAreMeasuredByTheirCells(t *testing.T) {
	r, p := protectedOf(t, shopsIn(t), shopTables)
	unsafe, held, filled, same := 0, 0, 0, 0
	for cell, status := range p.status {
		if status == tables.Primary {
			unsafe++
		}
		if status == tables.Primary || status == tables.Secondary {
			held++
		}
		if p.cells.Contributors[cell] > 0 {
			filled++
			if status != tables.Primary && status != tables.Secondary {
				same++
			}
		}
	}
	if unsafe == 0 || held == unsafe || same == 0 || 2*same == filled {
		t.Fatalf("%d unsafe, %d suppressed, %d of %d published: the test checks little", unsafe, held, same, filled)
	}
	var point tablemap.Point
	p.measure(&point)
	risk, square, utility := p.riskOf(p.cellsOf(0)) // the first table contains all cells
	if point.Unsafe != unsafe || point.HeldBack != held || float64(point.Efficiency) != float64(same)/float64(filled) ||
		float64(point.R) != risk || float64(point.Error) != square || math.Abs(float64(point.U)/utility-1) > 1e-12 {
		t.Errorf("the point is %+v, want %d unsafe, %d suppressed, %d of %d published", point, unsafe, held, same, filled)
	}
	// Of the changed counts, those equal to the original.
	p.published = slices.Clone(p.question.Value)
	clear(p.question.Hidden)
	p.published[0]++
	if p.measure(&point); float64(point.Efficiency) != float64(filled-1)/float64(filled) {
		t.Errorf("with one changed cell, the efficiency is %v", point.Efficiency)
	}
	clear(p.cells.Contributors)
	clear(p.cells.Value)
	if p.measure(&point); point.Efficiency != 1 {
		t.Errorf("with empty cells alone, the efficiency is %v, want 1", point.Efficiency)
	}
	if e := p.tableReport(0, &r.config.Tables[0]).Efficiency; e != 1 {
		t.Errorf("the efficiency of an empty table is %v, want 1", e)
	}
}

// The assumed value of a cell, and its distribution: a published cell has its own value; a
// suppressed one lies in its range, or in the published range if one end is unknown, and anywhere
// if there is none. Missing ends are written as such.
func TestCellsAreTakenToBe(t *testing.T) {
	p := &protected{family: new(family), question: audit.Question{Value: []float64{12, 340}, Hidden: []bool{false, true}}}
	p.options.Decimals = 1
	near := func(what string, got, want float64) {
		t.Helper()
		if got != want && !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("published", p.estimate(0), 12)
	near("of no range", p.estimate(1), math.Inf(1))
	p.ranges = &audit.Ranges{Low: []float64{12, 300}, High: []float64{12, 399}, ShownLow: []float64{12, 320},
		ShownHigh: []float64{12, 329}}
	near("of a range", p.estimate(1), 349.5)
	for unsolved, n := range map[int]float64{0: 100, 1: 10} {
		p.ranges.Unsolved = unsolved
		risk, square := p.cellRisk(1)
		near("risk", risk, 1/math.Log(n))
		middle := map[int]float64{0: 349.5, 1: 324.5}[unsolved]
		near("error", square, (n*n-1)/12+(middle-340)*(middle-340))
	}
	for v, want := range map[float64]string{math.Inf(1): "∞", math.Inf(-1): "−∞", 123: "12.3", -120: "-12.0"} {
		if got := p.text(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

// The decimals of a table are the maximum of all values, whether in the first record or the last.
// Rejected records do not count.
func TestDecimalsOfAnyRecord(t *testing.T) {
	for place := range 4 {
		var b microdata.Block
		b.Reset(0, 0, 5, 2)
		v := b.Columns[1].Alloc(5, false)
		copy(v.Values, []float64{1, 2, 3, 4, 0.125})
		b.Reject(4, "x", "for the test")
		at := []int{0, 3, 1}
		if place < 3 {
			v.Values[at[place]] = 7.25
		}
		s := &survey{values: map[string]int{"x": 1}, decimals: map[string]int{"x": 0}}
		if err := s.add(&b); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 2, false: 0}[place < 3]; s.decimals["x"] != want {
			t.Errorf("value at place %d: %d decimals", place, s.decimals["x"])
		}
		var last microdata.Block // ends with a value, and no record is rejected
		last.Reset(0, 0, 4, 2)
		copy(last.Columns[1].Alloc(4, false).Values, []float64{1, 2, 3, 5.5})
		if err := s.add(&last); err != nil || s.decimals["x"] < 1 {
			t.Errorf("value in a later block: %d decimals (error %v)", s.decimals["x"], err)
		}
	}
}

// A total that is itself unsafe is reported once for its table, and withholds it.
func TestTotalsThatAreUnsafe(t *testing.T) {
	r, p := protectedOf(t, shopsIn(t), shopTables)
	for _, unsafe := range []bool{false, true} {
		if unsafe {
			p.status[p.grand()] = tables.Primary
		}
		rep := p.tableReport(0, &r.config.Tables[0])
		var found []assess.RuleVerdict
		judgeTable(r.config, p, &rep, func(v assess.RuleVerdict) {
			if v.Measure == "safe_total" {
				found = append(found, v)
			}
		})
		if unsafe != (len(found) == 1) || unsafe &&
			(found[0].Passed || found[0].Found != 1 || found[0].Limit != 0 || found[0].Advice == "") {
			t.Errorf("unsafe %v: the rules are %+v", unsafe, found)
		}
	}
}

// Of many wrong lines the first ten are named and the others counted.
func TestWrongLinesAreNamedOrCounted(t *testing.T) {
	for lines, want := range map[int]string{0: "", 1: "line 1", mostWrong: "line 10", mostWrong + 1: "and 1 lines more",
		mostWrong + 7: "and 7 lines more"} {
		f := new(foreignTable)
		for i := range lines {
			f.say("line %d", i+1)
		}
		err := f.problem()
		if want == "" {
			if err != nil {
				t.Errorf("without problems: error %v", err)
			}
			continue
		}
		if named := strings.Count(err.Error(), "table: line "); err == nil || named != min(lines, mostWrong) ||
			!strings.HasSuffix(err.Error(), "table: "+want) {
			t.Errorf("%d wrong lines: error %v", lines, err)
		}
	}
}

// If a report cannot be written, that is an error, and nothing is published.
func TestReportsThatCannotBeWritten(t *testing.T) {
	dir := shopsIn(t)
	text := strings.NewReplacer(
		"  - name: turnover\n    rows: [size]\n    value: turnover\n    unsafe: [{threshold: 2}]\n    protect: {suppress: {}}\n", "", ", {table: turnover, min_efficiency: 0.9}", "")
	r, p := protectedOf(t, dir, text.Replace(shopTables))
	rep := r.account([]*protected{p}, new(tally))
	rep.Tables[1].Parameters = map[string]float64{"max": math.NaN()} // which JSON cannot represent
	o := &outputs{records: r, list: []*protected{p}, report: rep}
	res, err := o.release(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "report: ") || res != nil {
		t.Errorf("release returns %v and error %v, want an error of the report", res, err)
	}
	if err := o.abort(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder has the files %v (error %v), want 2", entries, err)
	}
}
