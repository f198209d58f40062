package csv

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// For every choice of released and masked columns: the released fields are separated by delimiters,
// and each record keeps its own line end.
func TestEveryChoiceOfColumns(t *testing.T) {
	records := [][]string{
		{"1", "2.5", "north", "-3.25", `"a,b"`}, {"22", "0", "", "1", strings.Repeat("long ", 12)},
		{"3", "-7", `"x""y"`, "12345678.5", ""}, {"4", "0.25", "z", "99999999", "e"},
	}
	ends := []string{"\n", "\r\n", "\n", ""}
	in := "a,b,c,d,e\n"
	for i, r := range records {
		in += strings.Join(r, ",") + ends[i]
	}
	ends[3] = "\n"
	path := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for released := 1; released < 32; released++ {
		for _, masked := range []int{0, 2, 8, 10} { // b and d
			src, err := (&SourceConfig{Path: path}).Open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			l := &microdata.Layout{Schema: src.Schema()}
			want := ""
			for i, f := range l.Schema.Fields {
				if released>>i&1 == 0 {
					continue
				}
				o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: 2}
				if masked>>i&1 == 1 {
					o.Masked, o.Column = true, len(l.Read)
					l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Numbers})
				}
				l.Release = append(l.Release, o)
			}
			for k, r := range records {
				var fields []string
				for _, o := range l.Release {
					text := r[o.Source]
					if o.Masked {
						x, _ := strconv.ParseFloat(text, 64)
						text = strconv.FormatFloat(x+1, 'f', -1, 64)
					}
					fields = append(fields, text)
				}
				want += strings.Join(fields, ",") + ends[k]
			}
			if got := releasedOf(t, src, l); got != want {
				t.Errorf("columns %05b, masked %05b: %q, want %q", released, masked, got, want)
			}
			src.Close()
		}
	}
}

// releasedOf returns the text of all blocks, with 1 added to masked columns.
func releasedOf(t *testing.T, src connectors.Source, l *microdata.Layout) string {
	t.Helper()
	snk,
		err := (&SinkConfig{Path: filepath.Join(t.TempDir(), "out.csv")}).Create(t.Context(),
		connectors.Plan{Source: src, Layout: l})
	if err != nil {
		t.Fatal(err)
	}
	defer snk.Abort()
	r, err := src.Read(t.Context(), l, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	raw, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b microdata.Block
	if err := raw.Decode(&b); err != nil {
		t.Fatal(err)
	}
	for i := range b.Columns {
		for k := range b.Columns[i].Mutable().Values {
			b.Columns[i].Released.Values[k]++
		}
	}
	e, err := snk.Encode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.(*encoded).Buf)
}
