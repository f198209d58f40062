package statfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A label is written as it is up to what the program holds; a longer one is an error that says where before a record is
// read, or is cut between two characters where the configuration allows it.
func TestLongLabels(t *testing.T) {
	src, err := made("made.sav").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, c := range []struct {
		ext      string
		sink     func(path string, labels []string) connectors.SinkConfig
		variable int // letters of two bytes that fit
		value    int
	}{
		{".sav", func(path string, l []string) connectors.SinkConfig { return &SPSSSink{Path: path, Labels: l} }, 128, 60},
		{".dta", func(path string, l []string) connectors.SinkConfig { return &StataSink{Path: path, Labels: l} }, 80, 16000},
		{".dta", func(path string, l []string) connectors.SinkConfig {
			return &StataSink{Path: path, Labels: l, Version: 117}
		}, 80, 16000},
	} {
		for _, more := range []int{-1, 0, 1, 40} {
			for _, variable := range []bool{true, false} {
				for _, choice := range [][]string{{"values", "variables"}, {"values", "variables", "cut"}} {
					to := filepath.Join(t.TempDir(), "o"+c.ext)
					letters := c.value
					if variable {
						letters = c.variable
					}
					label := strings.Repeat("ü", letters+more)
					layout := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 1, As: microdata.Array}}}
					field := src.Schema().Fields[1]
					d := &microdata.Description{Values: []microdata.ValueLabel{{Value: microdata.Code{Number: 1}, Label: "one"}}}
					if variable {
						d.Label = label
					} else {
						d.Values[0].Label = label
					}
					field.Described = d
					layout.Release = []microdata.Output{{Field: field, Source: 1, Masked: true, Decimals: -1}}
					config := c.sink(to, choice)
					if ps := config.Check(); len(ps) > 0 {
						t.Fatal(ps)
					}
					sink, err := config.Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
					if refused := more > 0 && len(choice) == 2; refused {
						if err == nil || !strings.Contains(err.Error(), "column "+field.Name) || !strings.Contains(err.Error(), "hold") ||
							strings.Contains(err.Error(), "ü") {
							t.Errorf("%s, variable %v, %d too many: %v", c.ext, variable, more, err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if err := pass(t.Context(), src, layout, sink, nil); err != nil {
						t.Fatal(err)
					}
					if err := sink.Finish(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := sink.Commit(); err != nil {
						t.Fatal(err)
					}
					program := map[string]string{".sav": spss, ".dta": stata}[c.ext]
					got := describedAs(t, &SourceConfig{Path: to, program: program})[field.Name]
					is := got.Label
					if !variable {
						is = got.LabelOf(microdata.Code{Number: 1})
					}
					if want := strings.Repeat("ü", min(letters+more, letters)); is != want {
						t.Errorf("%s, variable %v, %d more than fit: %d bytes, want %d", c.ext, variable, more, len(is), len(want))
					}
				}
			}
		}
	}
	for _, config := range []connectors.SinkConfig{&SPSSSink{Path: "a.sav", Labels: []string{"notes"}},
		&StataSink{Path: "a.dta", Labels: []string{"notes"}}} {
		if len(config.Check()) == 0 {
			t.Error("a kind of label that there is not is accepted")
		}
	}
}

// Names as long as a program allows are written, longer ones are an error that names the column before a record is
// read.
func TestLongNames(t *testing.T) {
	src, err := made("made.sav").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, c := range []struct {
		sink   connectors.SinkConfig
		letter string
		most   int
	}{
		{&SPSSSink{}, "a", 64}, {&SPSSSink{}, "ü", 32}, // bytes
		{&StataSink{}, "a", 32}, {&StataSink{}, "ü", 32}, {&StataSink{Version: 119}, "ü", 32}, // characters
		{&StataSink{Version: 117}, "a", 32}, {&StataSink{Version: 117}, "ü", 0},
	} {
		for _, n := range []int{c.most - 1, c.most, c.most + 1} {
			if n < 1 {
				continue
			}
			field := src.Schema().Fields[2]
			field.Name = strings.Repeat(c.letter, n)
			layout := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 2}},
				Release: []microdata.Output{{Field: field, Source: 2}}}
			path := filepath.Join(t.TempDir(), "o.x")
			switch s := c.sink.(type) {
			case *SPSSSink:
				s.Path = path
			case *StataSink:
				s.Path = path
			}
			sink, err := c.sink.Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
			if (err == nil) != (n <= c.most) || err != nil && !strings.Contains(err.Error(), "column "+field.Name) {
				t.Errorf("%T: %d times %s: %v", c.sink, n, c.letter, err)
			}
			if err == nil {
				if err := sink.Abort(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Texts of every length that Stata stores in another way, in all its formats: up to 2045 bytes within the records,
// longer ones beside them, with empty ones between.
func TestLongTextsOfStata(t *testing.T) {
	for _, version := range []int{117, 118, 119} {
		for _, longest := range []int{2044, 2045, 2046, 70000} {
			texts := []string{strings.Repeat("a", longest), "", "b", strings.Repeat("c", longest-1), "",
				strings.Repeat("a", longest)}
			path := filepath.Join(t.TempDir(), "o.dta")
			writeTexts(t, &StataSink{Path: path, Version: version}, texts)
			if file, err := os.ReadFile(path); err != nil ||
				!bytes.HasPrefix(file, fmt.Appendf(nil, "<stata_dta><header><release>%d<", version)) {
				t.Errorf("version %d: %.40q, %v", version, file, err)
			}
			got := stored(t, &SourceConfig{Path: path, program: stata})
			if len(got) != 2 {
				t.Fatalf("%d columns", len(got))
			}
			for _, name := range []string{"t", "u"} {
				c := got[name]
				var is []string
				for i := range len(c.Offsets) - 1 {
					is = append(is, string(c.Text(i)))
				}
				want := texts
				if name == "u" {
					want = slices.Repeat([]string{"u"}, len(texts))
				}
				if !slices.Equal(is, want) {
					t.Errorf("version %d, %d bytes, column %s: other texts", version, longest, name)
				}
			}
		}
	}
}

// writeTexts writes two columns of texts, t and u.
func writeTexts(t *testing.T, config connectors.SinkConfig, texts []string) {
	t.Helper()
	build := array.NewStringBuilder(memory.DefaultAllocator)
	build.AppendValues(texts, nil)
	field := func(name string) microdata.Field {
		return microdata.Field{Name: name, Type: build.Type(), Nullable: true}
	}
	schema := &microdata.Schema{Fields: []microdata.Field{field("t"), field("u")}}
	layout := &microdata.Layout{
		Schema: schema, Read: []microdata.Want{{Field: 0, As: microdata.Array}, {Field: 1, As: microdata.Array}},
		Release: []microdata.Output{{Field: schema.Fields[0], Source: 0}, {Field: schema.Fields[1], Source: 1, Column: 1}}}
	sink, err := config.Create(t.Context(), connectors.Plan{Source: connectortest.Elsewhere(), Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	var b microdata.Block
	b.Reset(0, 0, len(texts), 2)
	b.Columns[0].Array = build.NewArray()
	build.AppendValues(slices.Repeat([]string{"u"}, len(texts)), nil)
	b.Columns[1].Array = build.NewArray()
	e, err := sink.Encode(&b)
	if err == nil {
		err = sink.Write(t.Context(), e)
	}
	if err == nil {
		err = sink.Finish(t.Context())
	}
	if err == nil {
		err = sink.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A file says neither when it was made nor by whom, and the same release has the same bytes.
func TestFilesSayNothingOfTheirMaking(t *testing.T) {
	for _, c := range []struct {
		ext  string
		sink func(path string) connectors.SinkConfig
		want string
	}{
		{".sav", func(path string) connectors.SinkConfig {
			return &SPSSSink{Path: path}
		}, "01 Jan 70" + "00:00:00" + strings.Repeat(" ", 64)},
		{".zsav", func(path string) connectors.SinkConfig {
			return &SPSSSink{Path: path}
		}, "01 Jan 70" + "00:00:00" + strings.Repeat(" ", 64)},
		{".dta", func(path string) connectors.SinkConfig {
			return &StataSink{Path: path}
		}, "<label>\x00\x00</label><timestamp>\x00</timestamp>"},
	} {
		var files [][]byte
		for range 2 {
			path := filepath.Join(t.TempDir(), "o"+c.ext)
			release(t, made("made.sav"), c.sink(path), nil, nil)
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		if !bytes.Equal(files[0], files[1]) || !bytes.Contains(files[0][:min(400, len(files[0]))], []byte(c.want)) {
			t.Errorf("%s: %q", c.ext, files[0][:200])
		}
	}
}

// The width of Stata's texts is that of the longest released one: with the source's it would tell of a record that does
// not leave.
func TestWidthTellsOfNoOtherRecord(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "i.dta"), filepath.Join(t.TempDir(), "o.dta")
	writeTexts(t, &StataSink{Path: from}, []string{"short", strings.Repeat("x", 99), "longer"})
	release(t, &SourceConfig{Path: from, program: stata}, &StataSink{Path: to}, func(i int) bool { return i == 1 }, nil)
	if d := describedAs(t, &SourceConfig{Path: to, program: stata})["t"]; d.Width != 7 { // with the end of the text
		t.Errorf("%d bytes", d.Width)
	}
	if d := describedAs(t, &SourceConfig{Path: from, program: stata})["t"]; d.Width != 100 {
		t.Errorf("%d bytes in the source", d.Width)
	}
}
