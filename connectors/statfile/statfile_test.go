package statfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// made are files that pyreadstat has written: 40 records with the columns id, sex, income, region and weight. "canary"
// is in everything that must not leave when id does not: file label, note, table name, labels of codes that nobody has.
func made(name string) *SourceConfig {
	program := map[string]string{".sav": spss, ".zsav": spss, ".dta": stata, ".xpt": sas}[filepath.Ext(name)]
	return &SourceConfig{Path: filepath.Join("testdata", name), program: program}
}

// release releases all columns but id, without the records that drop selects, and without a mask.
func release(t *testing.T, from connectors.SourceConfig, to connectors.SinkConfig, drop func(i int) bool,
	change func(*microdata.Layout)) {
	t.Helper()
	ctx := t.Context()
	src, err := from.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	layout := &microdata.Layout{Schema: src.Schema()}
	for i, f := range src.Schema().Fields {
		if strings.EqualFold(f.Name, "id") {
			continue
		}
		o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: -1}
		if !to.Carries(src) {
			o.Column = len(layout.Read)
			layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		}
		layout.Release = append(layout.Release, o)
	}
	if change != nil {
		change(layout)
	}
	sink, err := to.Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	if err := pass(ctx, src, layout, sink, drop); err != nil {
		t.Fatal(errors.Join(err, sink.Abort()))
	}
	if err := errors.Join(sink.Finish(ctx), sink.Commit()); err != nil {
		t.Fatal(err)
	}
}

func pass(ctx context.Context, src connectors.Source, layout *microdata.Layout, sink connectors.Sink,
	drop func(i int) bool) error {
	r, err := src.Read(ctx, layout, connectors.Cut{Records: 7})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		raw, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			return err
		}
		for i := range b.N {
			if drop != nil && drop(int(b.First)+i) {
				b.Reject(i, "", "dropped")
			}
		}
		if sink == nil {
			continue
		}
		e, err := sink.Encode(&b)
		if err != nil {
			return err
		}
		if err := sink.Write(ctx, e); err != nil {
			return err
		}
	}
}

// describedAs returns what a file says of its columns.
func describedAs(t *testing.T, c *SourceConfig) map[string]*microdata.Description {
	t.Helper()
	src, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all := map[string]*microdata.Description{}
	for _, f := range src.Schema().Fields {
		all[f.Name] = f.Described
	}
	return all
}

func TestWhatFilesSayOfTheirColumns(t *testing.T) {
	for _, name := range []string{"made.sav", "made.zsav"} {
		d := describedAs(t, made(name))["sex"]
		if d.Label != "Sex of the respondent" || d.Measure != "nominal" || len(d.Values) != 4 ||
			d.LabelOf(microdata.Code{Number: 9}) != "no answer" {
			t.Errorf("%s: %+v", name, d)
		}
		want := []microdata.MissingCodes{{From: 9, To: 9}, {From: -5, To: -1}}
		slices.SortFunc(d.Missing, func(a, b microdata.MissingCodes) int { return int(b.From - a.From) })
		if !slices.Equal(d.Missing, want) {
			t.Errorf("%s: missing %v", name, d.Missing)
		}
		if d := describedAs(t, made(name))["region"]; d.LabelOf(microdata.Code{Text: "N", IsText: true}) != "north" {
			t.Errorf("%s: region %+v", name, d)
		}
	}
	if d := describedAs(t, made("made.dta"))["sex"]; d.LabelOf(microdata.Code{Tag: 'a'}) != "refused" ||
		d.LabelOf(microdata.Code{Number: 2}) != "male" {
		t.Errorf("%+v", d)
	}
}

// Nothing leaves that is not released: no label of a code that no released record has, no label of a variable that is
// not asked for, no file label, note or table name; and what is released leaves with its labels.
func TestOnlyWhatIsReleasedLeaves(t *testing.T) {
	noTwo := func(i int) bool { return i%5 == 1 } // the records with code 2, male
	for _, name := range []string{"made.sav", "made.zsav", "made.dta", "made5.xpt", "made8.xpt"} {
		for _, c := range []struct {
			program, ext string
			sink         func(path string, labels []string) connectors.SinkConfig
		}{
			{spss, ".sav", func(path string, labels []string) connectors.SinkConfig {
				return &SPSSSink{Path: path, Labels: labels, Compression: "none"}
			}},
			{stata, ".dta", func(path string, labels []string) connectors.SinkConfig {
				return &StataSink{Path: path, Labels: labels}
			}},
		} {
			for _, labels := range [][]string{nil, {}, {"values", "variables"}} {
				for _, drop := range []func(int) bool{nil, noTwo} {
					to := filepath.Join(t.TempDir(), "out"+c.ext)
					release(t, made(name), c.sink(to, labels), drop, nil)
					out, err := os.ReadFile(to)
					if err != nil {
						t.Fatal(err)
					}
					if len(labels) > 0 {
						out = bytes.ReplaceAll(out, []byte("canary label of a variable"), nil)
					}
					if i := bytes.Index(bytes.ToLower(out), []byte("canary")); i >= 0 {
						t.Errorf("%s to %s, labels %v: %q leaves", name, c.ext, labels, out[i:min(i+30, len(out))])
					}
					sex := describedAs(t, &SourceConfig{Path: to, program: c.program})
					key := "sex"
					if sex[key] == nil {
						key = "SEX"
					}
					d := sex[key]
					if (d.Label != "") != (len(labels) > 0 && !strings.HasSuffix(name, ".xpt")) {
						t.Errorf("%s to %s, labels %v: the variable's label is %q", name, c.ext, labels, d.Label)
					}
					labelled := (labels == nil || len(labels) > 0) && !strings.HasSuffix(name, ".xpt")
					if got := d.LabelOf(microdata.Code{Number: 1}); (got == "female") != labelled {
						t.Errorf("%s to %s, labels %v: code 1 is %q", name, c.ext, labels, got)
					}
					if got := d.LabelOf(microdata.Code{Number: 2}); (got == "male") != (labelled && drop == nil) {
						t.Errorf("%s to %s, labels %v, dropped %v: code 2 is %q", name, c.ext, labels, drop != nil, got)
					}
				}
			}
		}
	}
}

// A value that is released unchanged is that of the source to its last bit, its missing values have the letters that
// they had, and dates are the same days, also in the other program's file.
func TestValuesStay(t *testing.T) {
	for _, name := range []string{"made.sav", "made.dta"} {
		ext := filepath.Ext(name)
		to := filepath.Join(t.TempDir(), "out"+ext)
		var sink connectors.SinkConfig = &SPSSSink{Path: to}
		if ext == ".dta" {
			sink = &StataSink{Path: to, Version: 117}
		}
		release(t, made(name), sink, nil, nil)
		want, got := stored(t, made(name)), stored(t, &SourceConfig{Path: to, program: made(name).program})
		tags := 0
		for column := range got {
			a, b := want[column], got[column]
			if len(b.Numbers) != len(a.Numbers) || !slices.Equal(a.States, b.States) || !bytes.Equal(a.Bytes, b.Bytes) {
				t.Errorf("%s, column %s: %v %q, want %v %q", name, column, b.States, b.Bytes, a.States, a.Bytes)
				continue
			}
			for i := range a.Numbers {
				if math.Float64bits(a.Numbers[i]) != math.Float64bits(b.Numbers[i]) {
					t.Errorf("%s, column %s, record %d: another number", name, column, i)
				}
				if b.States[i] > 1 {
					tags++
				}
			}
		}
		if want := map[string]int{".sav": 0, ".dta": 16}[ext]; tags != want || len(got) != 4 {
			t.Errorf("%s: %d tags in %d columns, want %d", name, tags, len(got), want)
		}
	}
}

// stored returns the columns of a file as they are stored.
func stored(t *testing.T, c *SourceConfig) map[string]readstat.Column {
	t.Helper()
	in, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	input := readstat.Input{Kind: c.kind(c.Path), From: bytes.NewReader(in), Size: int64(len(in))}
	f, err := input.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var texts []bool
	for _, v := range f.Variables {
		texts = append(texts, v.Type.Text())
	}
	all := map[string]readstat.Column{}
	err = input.Values(t.Context(), func(int) bool { return true }, 1000, func(chunk []byte, _ int) error {
		columns, _, err := readstat.ReadChunk(chunk, texts)
		for i, v := range f.Variables {
			all[v.Name] = columns[i]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A masked column keeps no letter of a missing value: it would stay with the record while the values move.
func TestMaskedColumnsKeepNoTags(t *testing.T) {
	to := filepath.Join(t.TempDir(), "out.dta")
	release(t, made("made.dta"), &StataSink{Path: to}, nil, func(l *microdata.Layout) {
		for i := range l.Release {
			if o := &l.Release[i]; o.Field.Name == "sex" {
				o.Masked, o.Column = true, len(l.Read)
				l.Read = append(l.Read, microdata.Want{Field: o.Source, As: microdata.Numbers})
			}
		}
	})
	for _, s := range stored(t, &SourceConfig{Path: to, program: stata})["sex"].States {
		if s > 1 {
			t.Fatalf("a masked column has the tag %q", s)
		}
	}
}

// Dates by the programs' own calendars.
func TestClocks(t *testing.T) {
	for _, c := range []struct {
		program, format string
		stored          float64
		day             int32 // since 1970
	}{
		{spss, "DATE11", 12219379200, 0}, {spss, "EDATE10", 12219379200 + 86400*365, 365}, {spss, "ADATE10", 0, -141428},
		{stata, "%td", 3653, 0}, {stata, "%tdD_m_Y", 0, -3653}, {stata, "%d", 3654, 1}, {sas, "DATE9", 3653, 0},
		{sas, "YYMMDD10.", 3652, -1},
	} {
		k := clockOf(c.program, c.format)
		if got, ok := k.days(c.stored); !ok || got != c.day || !k.date || k.ofDays(got) != c.stored {
			t.Errorf("%s %s: %v is day %d, %v", c.program, c.format, c.stored, got, k)
		}
		if _, ok := k.days(c.stored + .5); ok {
			t.Errorf("%s %s: half a unit is a day", c.program, c.format)
		}
	}
	for _, c := range []struct {
		program, format string
		stored          float64
		parts           float64
		tick            int64
	}{
		{spss, "DATETIME23.2", 12219379200.5, 1e6, 500000}, {stata, "%tc", 3653*86400e3 + 1, 1e3, 1},
		{sas, "DATETIME20.", 3653 * 86400, 1e6, 0},
	} {
		k := clockOf(c.program, c.format)
		if got, ok := k.ticks(c.stored, c.parts); !ok || got != c.tick || k.date || k.ofTicks(got, c.parts) != c.stored {
			t.Errorf("%s %s: %v is %d, back %v", c.program, c.format, c.stored, got, k.ofTicks(got, c.parts))
		}
	}
	for _, c := range [][2]string{{spss, "F8.2"}, {spss, "TIME8"}, {spss, "DTIME10"}, {spss, "DOLLAR8"}, {stata, "%9.0g"},
		{stata, "%tC"}, {stata, "%tm"}, {sas, "BEST12."}, {sas, "TIME8."}, {sas, "DOLLAR8."}} {
		if k := clockOf(c[0], c[1]); k.unit != 0 {
			t.Errorf("%s %s is taken for a time", c[0], c[1])
		}
	}
}

// What a file cannot hold is an error that says where, and shows no value.
func TestRefused(t *testing.T) {
	src, err := made("made.sav").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for name, want := range map[string]string{"1st": "1st", "a b": "a b", strings.Repeat("n", 70): "nnn"} {
		field := src.Schema().Fields[2]
		field.Name = name
		layout := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 2}},
			Release: []microdata.Output{{Field: field, Source: 2}}}
		for _, sink := range []connectors.SinkConfig{&SPSSSink{Path: filepath.Join(t.TempDir(), "o.sav")},
			&StataSink{Path: filepath.Join(t.TempDir(), "o.dta")}} {
			if _, err := sink.Create(t.Context(), connectors.Plan{Source: src, Layout: layout}); err == nil ||
				!strings.Contains(err.Error(), "column "+want) {
				t.Errorf("a column of the name %q: %v", name, err)
			}
		}
	}
	for _, text := range []string{"canary\x00canary", strings.Repeat("canary", 6000)} {
		to := filepath.Join(t.TempDir(), "o.sav")
		layout := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 3, As: microdata.Array}},
			Release: []microdata.Output{{Field: src.Schema().Fields[3], Source: 3, Masked: true}}}
		sink, err := (&SPSSSink{Path: to}).Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		b.Reset(0, 0, 1, 1)
		build := array.NewStringBuilder(memory.DefaultAllocator)
		build.Append(text)
		b.Columns[0].Array = build.NewArray()
		e, err := sink.Encode(&b)
		if err == nil {
			err = errors.Join(sink.Write(t.Context(), e), sink.Finish(t.Context()))
		}
		if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "region") {
			t.Errorf("a text that SPSS cannot hold: %v", err)
		}
		if err := sink.Abort(); err != nil {
			t.Error(err)
		}
	}
}
