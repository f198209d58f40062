package report_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
)

// The short form of every example conforms to its schema, and contains the worst figure and the
// verdict of its report.
func TestBrief(t *testing.T) {
	text := must(t)(report.BriefSchema())
	golden(t, "summary.schema.json", text)
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("summary.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("summary.json")
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]string{"released": "released", "withheld": "withheld"}
	for name, make := range examples {
		r := make()
		b := r.Brief(0, nil)
		var line bytes.Buffer
		if err := b.Write(&line); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%s: more than a line", name)
		}
		v, err := validator.UnmarshalJSON(&line)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := verdicts[name]; want != "" && r.Records.Quarantined == 0 && b.Verdict != want {
			t.Errorf("%s: verdict %s", name, b.Verdict)
		}
		for _, col := range b.Columns {
			i := slices.IndexFunc(r.Columns, func(c assess.ColumnMeasures) bool { return c.Name == col.Name })
			for _, k := range r.Columns[i].Risk {
				if k.Knowledge != assess.KnowledgeMean && !r.Columns[i].TellsTarget(&k) && float64(k.RMSE) < float64(col.Value.RMSE)*0.94 {
					t.Errorf("%s: %s: %v is not the least, %s by %s is known to ± %v", name, col.Name, col.Value.RMSE, k.Target,
						k.Knowledge, k.RMSE)
				}
			}
		}
	}
}

// The worst figure is found in any order of the rows, and NaN is never the worst.
func TestBriefFindsTheLeast(t *testing.T) {
	nan := assess.Float(math.NaN())
	for _, rows := range [][]assess.Float{{3, 2, 1}, {1, 2, 3}, {2, 1, 3}, {nan, 1, 3}, {3, 1, nan}, {1, nan, 3}} {
		c := assess.ColumnMeasures{Name: "x", Masked: true, Original: assess.Moments{N: 100_000},
			Risk: []assess.Risk{{Target: "typical", Knowledge: assess.KnowledgeMean, RMSE: 0.1},
				{Target: "typical", Knowledge: assess.KnowledgeIndex, RMSE: 9},
				{Target: "max", Knowledge: assess.KnowledgePosition, RMSE: 0.5}}} // without replicates
		for _, v := range rows {
			c.Risk = append(c.Risk, assess.Risk{Target: "max", Knowledge: assess.KnowledgeIndex, RMSE: v, Replicates: 9})
		}
		r := &report.Report{}
		r.SetMeasures(&assess.Measures{Columns: []assess.ColumnMeasures{c}})
		if b := r.Brief(0, nil); b.Columns[0].Value.RMSE != 1 {
			t.Errorf("%v: the least is %v", rows, b.Columns[0].Value.RMSE)
		}
	}
}

// Figures of few values are coarser than two digits, and of fewer than ten there are none.
func TestBriefIsCoarse(t *testing.T) {
	nan := assess.Float(math.NaN())
	for _, c := range []struct {
		n    int64
		want report.BriefColumn
	}{{9, report.BriefColumn{Efficiency: nan, RMSE: nan}}, {10, report.BriefColumn{Efficiency: 1, RMSE: 100}},
		{25, report.BriefColumn{Efficiency: 1, RMSE: 100}}, {1_000_000, report.BriefColumn{Efficiency: 0.84, RMSE: 77}}} {
		r := &report.Report{}
		r.SetMeasures(&assess.Measures{Columns: []assess.ColumnMeasures{{Name: "x", Masked: true,
			Original: assess.Moments{N: c.n}, Utility: assess.Utility{Efficiency: 0.8372},
			Risk: []assess.Risk{{Target: "typical", Knowledge: assess.KnowledgeIndex, RMSE: 77.1}}}}})
		got := r.Brief(0, nil).Columns[0].Value
		same := func(a, b assess.Float) bool { return a == b || a != a && b != b }
		if !same(got.Efficiency, c.want.Efficiency) || !same(got.RMSE, c.want.RMSE) || (got.Target == "") != (c.n == 9) {
			t.Errorf("of %d values: %+v", c.n, got)
		}
	}
}
