package filter_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/filter"
)

// A date that is declared as a code for a missing value is none to masks that compute with days: it is released as null
// or as it is, and is no value of what is measured.
func TestDatesThatAreCodes(t *testing.T) {
	const code = arrow.Date32(-25567) // 1900-01-01
	born := arrow.NewSchema([]arrow.Field{{Name: "born", Type: arrow.FixedWidthTypes.Date32, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, born)
	defer b.Release()
	for i := range 100 {
		day := arrow.Date32(7000 + i)
		if i%10 == 0 {
			day = code
		}
		b.Field(0).(*array.Date32Builder).Append(day)
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	for _, as := range []string{"null", "keep"} {
		dir, _ := configured(t, "[]", "{}")
		p,
			err := config.ParseEmbedded("p.yaml",
			[]byte("version: 1\nkey: {file: "+dir+"/k}\ncolumns: {born: {role: sensitive, missing: {codes: ['1900-01-01'], as: "+
				as+"}}}\n"+
				"masks: [{noise: {columns: [born], sd: 30}}]\nassess: {replicates: 4, targets: [max]}\n"), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := filter.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Batch(rec)
		if err != nil {
			t.Fatal(err)
		}
		got := out.Column(0).(*array.Date32)
		for i := range 100 {
			want := i%10 == 0
			if as == "null" && got.IsNull(i) != want || as == "keep" && (got.Value(i) == code) != want {
				t.Errorf("as %s: record %d is released as %s", as, i, got.ValueStr(i))
			}
		}
		out.Release()
		rep, err := f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if c := rep.Columns[0]; c.Original.N != 90 || c.Original.Min < 7000 {
			t.Errorf("as %s: measured %d values from %v on, want 90 from 7001 on", as, c.Original.N, c.Original.Min)
		}
	}
}
