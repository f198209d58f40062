package tabling

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablemap"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// opened returns the source of a configuration before any data are read.
func opened(t *testing.T, dir, text string) *records {
	t.Helper()
	_, o := pipeline.Options{Version: "test", Log: zerolog.Nop()}.Ready(t.Context())
	r, err := open(t.Context(), configured(t, dir, text), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// What a run says of percentages that mask nothing is said of the masks before tables too.
func TestMasksBeforeTablesWarnAsARun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "key", testKey+"\n")
	write(t, dir, "in.csv", "region,wage\nn,7.25\ns,7.25\n")
	write(t, dir, "p.yaml", strings.ReplaceAll(`version: 1
source: {csv: {path: DIR/in.csv}}
key: {file: DIR/key}
columns: {region: {role: key}, wage: {role: sensitive}}
masks: [{noise: {columns: [wage], sd: 10%}}]
sink: {csv: {path: DIR/masked.csv}}
`, "DIR", dir))
	var log bytes.Buffer
	_, o := pipeline.Options{Log: zerolog.New(&log)}.Ready(t.Context())
	r,
		err := open(t.Context(),
		configured(t, dir,
			"version: 1\npipeline: %s/p.yaml\ntables: [{name: t, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if !strings.Contains(log.String(), `"column":"wage"`) {
		t.Errorf("the log is %q, want a warning about wage", &log)
	}
}

// A column is requested once in each form. A column that does not exist, or is not numeric where a
// number is needed, has no place in a block, and all errors are reported together.
func TestColumnsAreWantedOnce(t *testing.T) {
	r := opened(t, shopsIn(t), shopTables)
	for i, c := range []struct {
		name string
		as   microdata.Form
		want int
	}{
		{"gone", microdata.Array, -1}, {"region", microdata.Numbers, -1}, {"size", microdata.Array, 0},
		{"turnover", microdata.Numbers, 1}, {"size", microdata.Array, 0},
		{"turnover", microdata.Numbers, 1}, {"region", microdata.Array, 2}, {"turnover", microdata.Array, 3},
		{"size", microdata.Numbers, -1},
	} {
		if got := r.want("path", c.name, c.as, false); got != c.want {
			t.Errorf("request %d: the index of %s is %d, want %d", i, c.name, got, c.want)
		}
	}
	err := r.check()
	if err == nil {
		t.Fatal("check returns no error")
	}
	for _, part := range []string{`the source has no column "gone"`, "must be a numeric column, got region",
		"must be a numeric column, got size"} {
		if strings.Count(err.Error(), part) != 1 {
			t.Errorf("%q is not reported once: %v", part, err)
		}
	}
	if len(r.layout.Read) != 4 || !r.layout.Read[1].Measured || r.layout.Read[0].Measured || r.layout.Read[3].Measured {
		t.Errorf("the columns to be read are %+v", r.layout.Read)
	}
	if !r.isNumber("turnover") || r.isNumber("size") || r.isNumber("region") {
		t.Error("isNumber is wrong: only the summed column turnover is a number")
	}
}

// The reason that keeps records out of tables is reported for every family concerned, and for no
// other, in the singular or the plural. If they may be omitted, nothing is reported.
func TestRecordsThatAreKeptOut(t *testing.T) {
	dir := shopsIn(t)
	text := strings.Replace(shopTables, "value: turnover\n", "value: turnover\n    weight: turnover\n", 1)
	for _, c := range []struct {
		change func(*tally)
		want   []string
	}{
		{func(*tally) {}, nil},
		{func(t *tally) { t.read = 0 }, []string{"source: has no record"}},
		{func(t *tally) { t.malformed = 2 }, []string{"source: 2 records cannot be read"}},
		{func(t *tally) { t.refused.Value = 1 }, []string{"tables[2].value: 1 record of no value in turnover"}},
		{func(t *tally) {
			t.refused.Weight = 3
		}, []string{"tables[2].weight: 3 records of no weight of at least 1 in turnover"}},
		{func(t *tally) { t.refused.Holder = 1 }, []string{"holding: 1 record of no holding in "}},
		{func(t *tally) { t.refused.Nobody = 1 }, []string{"identity: 1 record of no identity"}},
		{func(t *tally) { t.refused.Code = 3; t.unknown = map[string]int64{"size": 1, "region": 2, "other": 0} },
			[]string{"2 records with a code that region does not have", "1 record with a code that size does not have"}},
	} {
		for _, drop := range []bool{false, true} {
			r := opened(t, dir, text)
			list := []*family{
				{of: []int{0, 1}, table: &r.config.Tables[0], columns: tabulate.Columns{Value: -1, Weight: -1}},
				{of: []int{2}, table: &r.config.Tables[2], columns: tabulate.Columns{Value: 0, Weight: 0}},
			}
			if drop {
				r.config.Unknown = "drop"
			}
			tl := &tally{read: 18}
			c.change(tl)
			err := r.refuse(list, tl)
			want := c.want
			if drop && tl.read > 0 {
				want = nil
			}
			var problems []string
			if err != nil {
				problems = strings.Split(err.Error(), "\n")
			}
			if len(problems) != len(want) {
				t.Errorf("drop %v: error %v, want %v", drop, err, want)
				continue
			}
			for i := range want {
				if !strings.Contains(problems[i], want[i]) {
					t.Errorf("drop %v: problem %s, want %s", drop, problems[i], want[i])
				}
			}
		}
	}
}

// The rules of a map are those of its tables, as text. It has a limit if each of its tables limits
// what can be inferred, by any rule.
func TestRulesOfAMap(t *testing.T) {
	for _, c := range []struct {
		gate    string
		tables  []string
		want    []string
		risk    float64
		utility float64
		limited bool
	}{
		{"{max_risk: 0.5}, {min_utility: 2}, {min_efficiency: 0.25}, {max_disclosed: 0}", []string{"by-region", "sizes"},
			[]string{"by-region: risk at most 0.5", "sizes: risk at most 0.5", "by-region: utility at least 2",
				"sizes: utility at least 2", "by-region: efficiency at least 0.25", "sizes: efficiency at least 0.25",
				"by-region: at most 0 unsafe cells can be computed", "sizes: at most 0 unsafe cells can be computed"}, 0.5, 2,
			true},
		{"{table: sizes, max_risk: 0.5}, {table: sizes, max_risk: 0.25}, {table: sizes, max_risk: 0.75}",
			[]string{"by-region", "sizes"},
			[]string{"sizes: risk at most 0.5", "sizes: risk at most 0.25", "sizes: risk at most 0.75"}, 0.25, 0, false},
		{"{table: by-region, min_range: rule}, {table: sizes, max_risk: 0.5}", []string{"by-region", "sizes"},
			[]string{"by-region: what can be inferred of every unsafe cell reaches as far as its rule asks",
				"sizes: risk at most 0.5"}, 0.5, 0, true},
		{"{table: turnover, max_risk: 0.5}", []string{"by-region", "sizes"}, nil, 9, 0, false},
		{"{min_efficiency: 0.5}", []string{"turnover"}, []string{"turnover: efficiency at least 0.5"}, 9, 0, false},
		{"{min_utility: 3}, {min_utility: 1}, {table: by-region, max_risk: 0.5}", []string{"turnover"},
			[]string{"turnover: utility at least 3", "turnover: utility at least 1"}, 9, 3, false},
	} {
		text := shopTables[:strings.Index(shopTables, "gate:")] + "gate: {rules: [" + c.gate + "]}\n" +
			shopTables[strings.Index(shopTables, "sink:"):]
		g := &mapping{records: opened(t, shopsIn(t), text)}
		m := &tablemap.Map{Tables: c.tables, MaxRisk: 9}
		var of []int
		for i := range c.tables {
			of = append(of, i)
		}
		limited := g.rules(m, of)
		if limited != c.limited || !slices.Equal(m.Rules, c.want) || float64(m.MaxRisk) != c.risk ||
			float64(m.MinUtility) != c.utility {
			t.Errorf("%s: limited %v, rules %q, greatest risk %v, least utility %v", c.gate, limited, m.Rules, m.MaxRisk,
				m.MinUtility)
		}
	}
}

// planned is the configuration of a sink that records the announced cells.
type planned struct {
	connectors.SinkConfig
	plan connectors.Plan
}

func (p *planned) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	p.plan = plan
	return p.SinkConfig.Create(ctx, plan)
}

// A sink is told how many cells it will receive, and that they cannot be read in another way.
func TestSinksAreToldOfTheCells(t *testing.T) {
	dir := shopsIn(t)
	c := configured(t, dir, shopTables)
	sink := &planned{SinkConfig: c.Sink.Config}
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
	config := *c
	config.Sink.Config = sink
	out := &outputs{records: r, options: o, list: list, report: r.account(list, tally)}
	r.config = &config
	if _, err := out.release(ctx); err != nil {
		t.Fatal(err)
	}
	src := sink.plan.Source
	if got, want := src.Records(), int64(len(read(t, dir, "out.csv"))-1); got != want || want == 0 {
		t.Errorf("the source announces %d cells, but the release has %d", got, want)
	}
	if _, err := src.Read(ctx, sink.plan.Layout, connectors.Cut{}); err == nil || src.Rewindable() {
		t.Error("the source of the cells can be read or is rewindable")
	}
	if same, err := src.Abilities().At(filepath.Join(dir, "in.csv")); err != nil || !same {
		t.Errorf("At does not know the file of the records: %v, error %v", same, err)
	}
}

// Codes in a file without types are read as texts, because 10.10 and 10.1 are different codes.
// Numbers that identify holdings stay numbers.
func TestCodesOfAFileWithoutTypes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "year,kind,holding\n10.10,a,1\n10.1,b,1.0\n10.1,b,2\n")
	r := opened(t, dir,
		"version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [year, kind], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\n")
	r.want("path", "year", microdata.Array, false)
	r.wantAs("path", "holding", microdata.Array, true, true)
	for name, numeric := range map[string]bool{"year": false, "kind": false, "holding": true} {
		if f := r.source.Schema().Fields[r.source.Schema().Index(name)]; f.Numeric() != numeric {
			t.Errorf("%s has the type %s", name, f.Type)
		}
	}
}
