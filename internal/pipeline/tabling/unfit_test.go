package tabling

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/suppress"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Columns of lists identify nobody: the first and the last of an identity are refused at their
// places, and then no record has a digest.
func TestColumnsThatIdentifyNobody(t *testing.T) {
	dir := shopsIn(t)
	write(t, dir, "key", testKey)
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\nkey: {file: %s/key}\nidentity: [size, region]\ntables: [{name: t, rows: [size], unsafe: [{threshold: 2}], protect: {cell_key: {}}}]\nsink: {csv: {path: %s/out.csv}}\n"
	for name, want := range map[string]string{
		"": "", "size": "identity[0]: must be a column that can identify a record, got size, which is list",
		"region": "identity[1]: must be a column that can identify a record, got region, which is list"} {
		r := opened(t, dir, text)
		if name != "" {
			fields := r.source.Schema().Fields
			fields[r.source.Schema().Index(name)].Type = arrow.ListOf(arrow.PrimitiveTypes.Float64)
		}
		f := &family{table: &r.config.Tables[0]}
		r.keyed(f)
		err := r.check()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) ||
			(f.columns.Digests == nil) != (err != nil) || !f.options.Keys {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
	}
}

// A column of numbers that the masks of a pipeline turn into texts cannot be added up, wherever it
// stands among the masked ones; its categories can be counted.
func TestNumbersThatAreMaskedAsTexts(t *testing.T) {
	dir := shopsIn(t)
	write(t, dir, "key", testKey)
	write(t, dir, "p.yaml",
		strings.ReplaceAll(
			"version: 1\nkey: {file: %s/key}\nsource: {csv: {path: %s/in.csv}}\ncolumns: {region: {role: key}, size: {role: other}, turnover: {role: sensitive}}\n"+
				"masks: [{recode: {columns: [region], map: {n1: n, n2: n, s1: s}}}, {recode: {columns: [turnover], breaks: [0, 5, 100], labels: [low, high]}}]\nsink: {csv: {path: %s/masked.csv}}\n", "%s", dir))
	r := opened(t, dir,
		"version: 1\npipeline: %s/p.yaml\ntables: [{name: t, rows: [region], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\n")
	if at := r.want("tables[0].value", "turnover", microdata.Numbers, false); at != -1 {
		t.Errorf("want of a text to be summed returns the index %d, want −1", at)
	}
	if err := r.check(); err == nil ||
		!strings.HasPrefix(err.Error(), `tables[0].value: must be a column of numbers, got "turnover"`) {
		t.Errorf("check returns %v", err)
	}
	r.problems = nil
	if at := r.want("tables[0].rows[0]", "turnover", microdata.Array, false); at < 0 || r.check() != nil {
		t.Errorf("want of a text as categories returns the index %d, check returns %v", at, r.check())
	}
}

// Values whose sum has more digits than a table can hold are refused when they are added up, with
// the table and without a value.
func TestSumsThatAreTooLarge(t *testing.T) {
	const text = "version: 1\nsource: {csv: {path: %s/in.csv, types: {wage: float64}}}\ntables: [{name: t, rows: [region], value: wage, unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\n"
	for rows, fits := range map[string]bool{
		"n,4000000000000000\nn,2\nn,3\ns,4000000000000000\ns,5\ns,6\n": true,
		"n,6000000000000000\nn,2\nn,3\ns,6000000000000000\ns,5\ns,6\n": false, // each fits, and not their sum
	} {
		dir := t.TempDir()
		write(t, dir, "in.csv", "region,wage\n"+rows)
		_, err := run(t, dir, text)
		var data *pipeline.DataError
		if fits && err != nil || !fits &&
			(!errors.As(err, &data) || !strings.HasPrefix(err.Error(), "tables[0]: ") ||
				strings.Contains(err.Error(), "6000000")) {
			t.Errorf("rows %q: error %v", rows, err)
		}
	}
}

// Of many cells that are alike the first three are named and the others counted.
func TestNamesOfCells(t *testing.T) {
	_, p := protectedOf(t, shopsIn(t), shopTables)
	for n, want := range map[int]string{1: "", 3: "", 4: "; and 1 more", 9: "; and 6 more"} {
		var cells []int32
		for i := range n {
			cells = append(cells, int32(i))
		}
		var names []string
		for i := range min(n, 3) {
			names = append(names, p.set.Name(i))
		}
		if got := p.names(cells); got != strings.Join(names, "; ")+want {
			t.Errorf("the names of %d cells are %s", n, got)
		}
	}
}

// Where a search for the cheapest cells was cut short, the report says which share of the cost
// another choice could save at most; where it was not, none.
func TestOptimaThatAreNotProven(t *testing.T) {
	_, p := protectedOf(t, shopsIn(t), shopTables)
	for _, c := range []struct{ atLeast, gap float64 }{{8, 0}, {6, 0.25}, {2, 0.75}} {
		p.optimum = &suppress.Optimum{Cost: 8, AtLeast: c.atLeast, Nodes: 3, Cuts: 4}
		r := p.optimumReport()
		if r == nil || r.Proven != (c.gap == 0) || float64(r.Gap) != c.gap || r.Nodes != 3 || r.Cuts != 4 || r.Cost != 8 ||
			float64(r.AtLeast) != c.atLeast {
			t.Errorf("with the bound %v, the optimum report is %+v", c.atLeast, r)
		}
	}
	if p.optimum = nil; p.optimumReport() != nil {
		t.Error("without an optimum, optimumReport is not nil")
	}
}

// A page for the public shows a cell that is held back as such and names no reason; one that is
// known to be empty has no value.
func TestCellsOfAPublicPage(t *testing.T) {
	_, p := protectedOf(t, shopsIn(t), shopTables)
	held, published := 0, 0
	for cell := range p.status {
		c := p.pageCell(int32(cell), false)
		switch status := p.publicStatus(int32(cell)); {
		case status == suppressed:
			held++
			if c.Text != "×" || c.Class != status || len(c.Lines) != 0 {
				t.Errorf("the suppressed cell %s is shown as %+v", p.set.Name(cell), c)
			}
		case status == empty:
			t.Errorf("%s is empty", p.set.Name(cell))
		default:
			published++
			if c.Text != p.text(p.publishedValue(int32(cell))) || c.Class != "" || len(c.Lines) != 0 {
				t.Errorf("the published cell %s is shown as %+v", p.set.Name(cell), c)
			}
		}
	}
	if held == 0 || published == 0 {
		t.Fatalf("%d suppressed, %d published: the test checks nothing", held, published)
	}
	p.cells.Contributors[0], p.cells.Value[0], p.question.Value[0], p.question.Hidden[0], p.status[0] = 0, 0, 0, false, 0
	if c := p.pageCell(0, false); p.publicStatus(0) == empty && (c.Text != "–" || c.Class != empty) ||
		p.publicStatus(0) != empty {
		t.Errorf("an empty cell is shown as %+v with the status %s", c, p.publicStatus(0))
	}
}

// What is inferred are whole numbers where records are counted; where they are weighted, or their
// values added up, they need not be.
func TestWhereCellsAreWholeNumbers(t *testing.T) {
	for more, want := range map[string]bool{"": true, "weight: turnover,": false, "value: turnover,": false,
		"value: turnover, weight: turnover,": false} {
		text := "version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [region], " + more +
			" unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\n"
		if _, p := protectedOf(t, shopsIn(t), text); p.question.Counts != want {
			t.Errorf("%q: Counts is %v", more, p.question.Counts)
		}
	}
}

// A map of tables tells how many of its points are made.
func TestProgressOfAMapOfTables(t *testing.T) {
	c := configured(t, shopsIn(t),
		"version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [region, size], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\ngate: {rules: [{table: t, max_disclosed: 0}]}\nsink: {csv: {path: %s/out.csv}}\n")
	progress := new(pipeline.Progress)
	m, err := Map(t.Context(), c, pipeline.Options{Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(len(m.Points)); n < 2 || progress.Phase() != "map" || progress.Records() != n || progress.Total() != n {
		t.Errorf("%d points: the progress has the phase %s and %d of %d", n, progress.Phase(), progress.Records(),
			progress.Total())
	}
}

// Where the range of a cell has no end, users have nothing of the tables, and what is known of the
// unsafe cells is still in the unit of their values.
func TestRiskBesideARangeWithoutAnEnd(t *testing.T) {
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [region, size], value: turnover, unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\n"
	_, p := protectedOf(t, shopsIn(t), text)
	risk, square, utility := p.riskOf(p.cellsOf(0))
	for cell, status := range p.status {
		if status == tables.Secondary {
			p.ranges.High[cell] = math.Inf(1)
		}
	}
	r, s, u := p.riskOf(p.cellsOf(0))
	if u != 0 || r != risk || s != square || !(square > 0) || !(utility > 0) {
		t.Errorf("risk %v, error %v, utility %v; at the ends %v, %v, %v", r, s, u, risk, square, utility)
	}
}

// An audit that is told to end at the belief about any of its counts, the last one too, says so.
func TestAuditsOfBeliefsEnd(t *testing.T) {
	_, p := protectedOf(t, shopsIn(t), shopTables)
	unsafe := 0
	for _, status := range p.rules.Status {
		if status == tables.Primary {
			unsafe++
		}
	}
	over := errors.New("over")
	for last := range unsafe + 1 {
		asked := 0
		p.question.Stop = func() error {
			if asked > last {
				return over
			}
			return nil
		}
		err := p.auditExchanged(func(int32, func(*tablerisk.Belief)) *tablerisk.Belief {
			asked++
			return &tablerisk.Belief{P: []float64{0.5, 0.5}}
		}, nil)
		if want := last < unsafe; errors.Is(err, over) != want || (err != nil) != want || asked != min(last+1, unsafe) {
			t.Errorf("ended after %d of %d: error %v after %d cells", last+1, unsafe, err, asked)
		}
	}
	if unsafe == 0 {
		t.Error("no count is unsafe: the test checks nothing")
	}
}

// undigested is the configuration of a sink whose release cannot be read again.
type undigested struct{ connectors.SinkConfig }

type unreadable struct{ connectors.Sink }

func (u undigested) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	sink, err := u.SinkConfig.Create(ctx, plan)
	return unreadable{sink}, err
}

func (unreadable) Abilities() connectors.SinkAbilities {
	unread := func(context.Context) (*connectors.Content, error) { return nil, errors.New("cannot be read again") }
	return connectors.SinkAbilities{Content: unread}
}

// Tables whose file cannot be digested for the report are not published.
func TestTablesThatCannotBeDigested(t *testing.T) {
	dir := shopsIn(t)
	c := configured(t, dir, strings.Replace(shopTables, ", {table: turnover, min_efficiency: 0.9}", "", 1))
	ctx, o := pipeline.Options{Log: zerolog.Nop()}.Ready(t.Context())
	r, err := open(ctx, c, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	list, tally, err := r.tabulate(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	told := *c
	told.Sink.Config = undigested{c.Sink.Config}
	out := &outputs{records: r, options: o, list: list, report: r.account(list, tally)}
	r.config = &told
	if res, err := out.release(ctx); res != nil || err == nil || err.Error() != "sink: cannot be read again" {
		t.Errorf("release returns %+v and error %v", res, err)
	}
	if err := out.abort(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.csv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tables remain in spite of the error (os.Stat returns %v)", err)
	}
}

// Where an unsafe cell cannot be protected, as all others are to be published, it is held back all
// the same, the first of the cells and the last.
func TestCellsThatCannotBeProtected(t *testing.T) {
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [region], unsafe: [{threshold: 2}], protect: {suppress: {}}, apriori: %s/apriori.csv}]\nsink: {csv: {path: %s/out.csv}}\n"
	regions := []string{"n", "s", "w"}
	last := false
	for unsafe, name := range regions {
		dir := t.TempDir()
		rows, list := "region\n", "region,as\ntotal,published\n"
		for i, region := range regions {
			if i == unsafe {
				rows += region + "\n"
				continue
			}
			rows += strings.Repeat(region+"\n", 5)
			list += region + ",published\n"
		}
		write(t, dir, "in.csv", rows)
		write(t, dir, "apriori.csv", list)
		_, p := protectedOf(t, dir, text)
		if len(p.unprotectable) == 0 {
			t.Fatalf("%s is protected: the test checks nothing", name)
		}
		for cell, status := range p.status {
			if p.hidden(int32(cell)) != (status == tables.Primary) {
				t.Errorf("%s is unsafe: cell %s with the status %v is suppressed: %v", name, p.set.Name(cell), status,
					p.hidden(int32(cell)))
			}
		}
		last = last || p.status[len(p.status)-1] == tables.Primary
	}
	if !last {
		t.Error("the last cell is never unsafe: the test checks little")
	}
}
