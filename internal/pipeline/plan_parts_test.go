package pipeline

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// table is a source with given fields that can be read once or repeatedly.
type table struct {
	fields []microdata.Field
	once   bool
	split  string
}

func (s *table) Schema() *microdata.Schema { return &microdata.Schema{Fields: s.fields} }
func (s *table) Streams() []string         { return []string{"table"} }
func (s *table) Records() int64            { return -1 }
func (s *table) Rewindable() bool          { return !s.once }
func (s *table) Close() error              { return nil }
func (s *table) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{Missplit: func() string { return s.split }, InfersTypes: true}
}

func (s *table) Read(context.Context, *microdata.Layout, connectors.Cut) (connectors.Reader, error) {
	return nil, io.ErrUnexpectedEOF
}

// parsed returns a configuration of a CSV file in a folder.
func parsed(t *testing.T, dir, rest string) *config.Pipeline {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "k"),
		[]byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(
		"version: 1\nkey: {file: DIR/k}\nsource: {csv: {path: DIR/in.csv}}\nsink: {csv: {path: DIR/out.csv}}\n"+rest, "DIR",
		dir)
	p, err := config.Parse("p.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const columns = "columns: {id: {role: identifier}, wage: {role: sensitive}, region: {role: key}, kind: {role: other}}\n"

func fieldsOf(types map[string]arrow.DataType) (fields []microdata.Field) {
	for _, name := range []string{"id", "wage", "region", "kind"} {
		t := types[name]
		if t == nil {
			t = arrow.BinaryTypes.String
			if name == "wage" {
				t = arrow.PrimitiveTypes.Float64
			}
		}
		if t == arrow.Null {
			continue // there is none
		}
		fields = append(fields, microdata.Field{Name: name, Type: t})
	}
	return fields
}

// If a configuration does not fit the columns, all errors are reported together, each with its
// place. A valid plan decodes the masked, compared and measured columns, and releases all columns
// except identifiers.
func TestPlanHoldsTheConfigurationAgainstTheColumns(t *testing.T) {
	nested := arrow.ListOf(arrow.PrimitiveTypes.Float64)
	noise, swap := "masks: [{noise: {columns: [wage], sd: 3}}]\n",
		"masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}]\n"
	for _, c := range []struct {
		rest  string
		types map[string]arrow.DataType
		extra string
		split string
		want  []string
	}{
		{rest: columns + noise},
		{rest: columns + noise, extra: "more",
			want: []string{"columns: the source has columns that are not listed: column "}},
		{rest: columns + noise + "unlisted: drop\n", extra: "more"},
		{rest: columns + noise, types: map[string]arrow.DataType{"region": arrow.Null, "wage": arrow.BinaryTypes.String},
			want: []string{"columns.region: the source has no such column",
				"masks[0].noise.columns: wage is string, and noise needs a number; where only some of its values are no numbers, or it has no value at all, source.csv.types: {wage: float64}"}},
		{rest: columns + noise, types: map[string]arrow.DataType{"region": arrow.Null}, split: ";",
			want: []string{`source.csv: the fields of the first records are separated by ";": say so (delimiter: ";")`}},
		{rest: columns + noise, split: ";"}, // the columns exist
		{rest: columns + noise, types: map[string]arrow.DataType{"wage": nested},
			want: []string{"masks[0].noise.columns: wage is list<item: float64, nullable>, and noise needs a number"}},
		{rest: columns + swap},
		{rest: columns + swap, types: map[string]arrow.DataType{"wage": nested},
			want: []string{"masks[0].swap.columns: wage is nested (list<item: float64, nullable>) and cannot be swapped"}},
		{rest: columns + swap, types: map[string]arrow.DataType{"kind": nested},
			want: []string{"masks[0].swap: kind is nested (list<item: float64, nullable>) and cannot be compared"}},
		{rest: columns + noise + "identity: [id, region]\n", types: map[string]arrow.DataType{"id": nested},
			want: []string{"identity: id has type list<item: float64, nullable>, which cannot identify a respondent"}},
		{rest: columns + noise + "identity: [region]\n", types: map[string]arrow.DataType{"region": nested},
			want: []string{"identity: region has type list<item: float64, nullable>, which cannot identify a respondent"}},
		{rest: strings.Replace(columns, "wage: {role: sensitive}", "wage: {role: sensitive, decimals: 2}", 1) + noise,
			types: map[string]arrow.DataType{"wage": arrow.PrimitiveTypes.Int32},
			want:  []string{"columns.wage.decimals: must be 0, which the column's type int32 fixes, got 2"}},
		{rest: strings.Replace(columns, "wage: {role: sensitive}", "wage: {role: sensitive, decimals: 0}", 1) + noise,
			types: map[string]arrow.DataType{"wage": arrow.PrimitiveTypes.Int32}},
	} {
		p := parsed(t, t.TempDir(), c.rest)
		src := &table{fields: fieldsOf(c.types), split: c.split}
		if c.extra != "" {
			src.fields = append([]microdata.Field{{Name: c.extra, Type: arrow.BinaryTypes.String}},
				append(src.fields, microdata.Field{Name: c.extra + "2", Type: arrow.BinaryTypes.String})...)
		}
		pl, err := newPlan(p, nil, src, false)
		var problems config.Errors
		if len(c.want) > 0 && (!errors.As(err, &problems) || len(problems) != len(c.want)) || len(c.want) == 0 && err != nil {
			t.Errorf("%s, types %v: error %v, want %q", c.rest, c.types, err, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(problems[i].Error(), want) {
				t.Errorf("problem %d is %v, want %s", i, problems[i], want)
			}
		}
		if err == nil {
			var names []string
			for _, out := range pl.Layout.Release {
				names = append(names, out.Field.Name)
				if out.Masked != (out.Field.Name == "wage") || out.Column < 0 {
					t.Errorf("%s is released as %+v", out.Field.Name, out)
				}
			}
			if got := strings.Join(names, " "); got != "wage region kind" || !slices.Equal(pl.Masked, []string{"wage"}) {
				t.Errorf("the released columns are %s, the masked ones %v", got, pl.Masked)
			}
		}
	}
}

// If a source can be read only once, configurations that need a second pass are refused, with an
// alternative.
func TestSourcesThatAreReadOnce(t *testing.T) {
	key := keytest.Key(1)
	for _, c := range []struct{ masks, decimals, settle, chain string }{
		{"noise: {columns: [wage], sd: 3}", ", decimals: 2", "", ""},
		{"noise: {columns: [wage], sd: 3}", "",
			"columns.wage: the source can be read only once, so `decimals` and absolute amounts, or a `profile`, must be given",
			""},
		{"noise: {columns: [wage], sd: 3%}", ", decimals: 2", "columns.wage: the source can be read only once", ""},
		{"topcode: {columns: [wage], upper_percentile: 90}", ", decimals: 2",
			"masks[0].topcode.upper_percentile: reads the source twice, which this source does not allow: give a bound", ""},
		{"topcode: {columns: [wage], upper: 9, replace: mean}", ", decimals: 2",
			"masks[0].topcode.replace: reads the source twice", ""},
		{"topcode: {columns: [wage], upper: 9}", ", decimals: 2", "", ""},
		{"swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random, scope: dataset}",
			", decimals: 2", "",
			"masks[0].swap: looks at all records before it masks any, and this source can be read only once; use "},
	} {
		p := parsed(t, t.TempDir(), strings.Replace(columns, "role: sensitive", "role: sensitive"+c.decimals, 1)+"masks: [{"+
			c.masks+"}]\n")
		pl, err := newPlan(p, nil, &table{fields: fieldsOf(nil), once: true}, false)
		if err != nil {
			t.Fatal(err)
		}
		err = pl.Settle(t.Context(), new(Progress))
		if (err == nil) != (c.settle == "") || err != nil && !strings.HasPrefix(err.Error(), c.settle) {
			t.Errorf("%s: Settle returns %v, want %s", c.masks, err, c.settle)
		}
		if err != nil {
			continue
		}
		chain, err := pl.newChain(t.Context(), key, new(Progress))
		if (err == nil) != (c.chain == "") || err != nil && !strings.HasPrefix(err.Error(), c.chain) ||
			(chain == nil) != (err != nil) {
			t.Errorf("%s: NewChain returns %v, want %s", c.masks, err, c.chain)
		}
	}
}

// The values that a mask must know are those of the readable records, in order: no nulls, nothing
// that is not a number, and each column once, however many masks need it.
func TestValuesAreSettled(t *testing.T) {
	dir := t.TempDir()
	data := "id,wage,debt,region,kind\n"
	var wages []float64
	for i := range 500 {
		w := fmt.Sprint((i*7919)%1000, ".25")
		switch {
		case i%50 == 7:
			w = ""
		case i%100 == 9:
			w = "canary"
		case i == 300:
			w = "NaN"
		case i == 301:
			w = "Inf"
		default:
			wages = append(wages, float64((i*7919)%1000)+0.25)
		}
		data += fmt.Sprintf("%d,%s,%d,r,k\n", i, strings.ReplaceAll(w, " ", ""), 1000-i)
	}
	slices.Sort(wages)
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	p := parsed(t, dir, strings.Replace(columns, "region:", "debt: {role: sensitive}, region:", 1)+
		"masks: [{topcode: {columns: [wage], upper_percentile: 90, replace: bound}}, {noise: {columns: [wage], sd: 1}}, {topcode: {columns: [debt, wage], lower_percentile: 5}}]\n")
	p.Source.Config = mustParse(t, p, "types: {wage: float64}", dir)
	pl := planFor(t, p, false)
	progress := new(Progress)
	if err := pl.Settle(t.Context(), progress); err != nil {
		t.Fatal(err)
	}
	seen := new(Progress)
	if err := pl.settleValues(t.Context(), seen); err != nil || seen.Phase() != "survey" || seen.Records() != 500 {
		t.Errorf("settleValues returns %v; the progress has the phase %s and %d records", err, seen.Phase(), seen.Records())
	}
	sorted := pl.Sorted()
	if len(sorted) != 2 || !slices.Equal(sorted["wage"], wages) || len(sorted["debt"]) == 0 || sorted["debt"][0] != 501 ||
		!slices.IsSorted(sorted["debt"]) {
		t.Errorf("%d values of wage, want %d; debt %v …", len(sorted["wage"]), len(wages),
			sorted["debt"][:min(3, len(sorted["debt"]))])
	}
	if pl.SD("wage") != pl.Columns[0].SD || !math.IsNaN(pl.SD("gone")) {
		t.Errorf("the standard deviation is %v, and for a missing column %v (want NaN)", pl.SD("wage"), pl.SD("gone"))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if again, err := newPlan(p, nil, pl.Source, false); err != nil {
		t.Fatal(err)
	} else if err := again.Settle(ended, progress); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context, Settle returns %v", err)
	}
}

// mustParse returns the source of a configuration with further parameters.
func mustParse(t *testing.T, p *config.Pipeline, more, dir string) connectors.SourceConfig {
	t.Helper()
	q,
		err := config.Parse("q.yaml",
		[]byte(
			strings.ReplaceAll("version: 1\nkey: {file: DIR/k}\nsource: {csv: {path: DIR/in.csv, "+more+
				"}}\nsink: {csv: {path: DIR/out.csv}}\ncolumns: {wage: {role: sensitive}}\nmasks: [{noise: {columns: [wage], sd: 1}}]\n", "DIR", dir)), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return q.Source.Config
}

// A profile covers the numeric columns of a source, or the columns listed in the configuration.
// Identifiers are omitted, and the profile named in the configuration is not read.
func TestProfiles(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("id,wage,region,kind\n1,2.5,4,x\n2,3.5,5,y\n3,6,6,z\n")
	names := func(p *config.Pipeline, listed bool) string {
		t.Helper()
		make := func() (names []string, err error) {
			if !listed {
				profile, err := ProfileSource(t.Context(), p.Source.Config, nil, new(Progress))
				if err != nil {
					return nil, err
				}
				for _, c := range profile.Columns {
					names = append(names, fmt.Sprint(c.Name, " ", c.N, " ", float64(c.Mean), " ", c.Unit))
				}
				return names, nil
			}
			profile, err := ProfilePipeline(t.Context(), p, new(Progress))
			if err != nil {
				return nil, err
			}
			for _, c := range profile.Columns {
				names = append(names, fmt.Sprint(c.Name, " ", c.N, " ", float64(c.Mean), " ", c.Unit))
			}
			return names, nil
		}
		all, err := make()
		if err != nil {
			return err.Error()
		}
		return strings.Join(all, "; ")
	}
	p := parsed(t, dir, strings.Replace(columns, "role: sensitive", "role: sensitive, unit: EUR", 1)+
		"masks: [{noise: {columns: [wage], sd: 1}}]\nprofile: DIR/gone.profile\n")
	if got, want := names(p, false), "id 3 2 ; wage 3 4 ; region 3 5 "; got != want {
		t.Errorf("profile of the source: %s, want %s", got, want)
	}
	if got, want := names(p, true), "wage 3 4 EUR; region 3 5 "; got != want {
		t.Errorf("profile of the configuration's columns: %s, want %s", got, want)
	}
	if p.Profile == "" {
		t.Error("ProfilePipeline changed the profile in the configuration")
	}
	var progress Progress
	if _, err := ProfileSource(t.Context(), p.Source.Config, nil, &progress); err != nil ||
		progress.Phase() != "profile" || progress.Records() != 3 {
		t.Errorf("error %v; the progress is %d records of the phase %q, want 3 of \"profile\"", err, progress.Records(),
			progress.Phase())
	}
	write("id,wage,region,kind\na,b,c,d\n")
	var data *DataError
	if _, err := ProfileSource(t.Context(), p.Source.Config, nil, new(Progress)); !errors.As(err, &data) ||
		!strings.Contains(err.Error(), "no numeric column") {
		t.Errorf("no numeric column: error %v, want a DataError", err)
	}
	if err := os.Remove(filepath.Join(dir, "in.csv")); err != nil {
		t.Fatal(err)
	}
	if got := names(p, true); !strings.HasPrefix(got, "source: ") {
		t.Errorf("missing source: error %s", got)
	}
}

// A mask goes by more than a value of its own if it reads other columns or has a condition, be it on that value.
func TestMasksThatGoByMore(t *testing.T) {
	for masks, want := range map[string]bool{
		"noise: {columns: [wage], sd: 3}":                                                         false,
		`noise: {columns: [wage], sd: 3, where: "wage > 5"}`:                                      true,
		`bias: {columns: [wage], phi: 0.1, where: "kind = a"}`:                                    true,
		"microaggregate: {columns: [wage], k: 3, by: [region]}":                                   true,
		"microaggregate: {columns: [wage], k: 3}":                                                 false,
		"noise: {columns: [wage], sd: 3}}, {suppress: {keys: [region], k: 3}":                     false,
		`noise: {columns: [wage], sd: 3}}, {round: {columns: [wage], base: 2, where: "kind = a"}`: true,
	} {
		p := parsed(t, t.TempDir(), columns+"masks: [{"+masks+"}]\n")
		if got := elsewhere(p.Masks, "wage"); got != want || elsewhere(p.Masks, "nobody") {
			t.Errorf("%s: %v, want %v", masks, got, want)
		}
	}
}
