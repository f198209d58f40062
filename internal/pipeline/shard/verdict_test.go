package shard

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// TestMixedVerdicts: if one shard alone would be refused and another would pass, the verdict is
// that of one run of all records, in both directions.
func TestMixedVerdicts(t *testing.T) {
	racetest.Further(t)
	for name, c := range map[string]struct {
		// on the efficiency, which is var/(var+100²): with 29² for the first half, 1155² for the second, 817² for all
		limit   string
		refused bool
	}{"passed though the first alone is refused": {"0.8", false},
		"refused though the last alone passes": {"0.989", true}} {
		t.Run(name, func(t *testing.T) {
			prepare(t, "parquet", 100, "")
			rows := people(8000)
			for i := range rows { // similar wages in the first half, so that the noise is large relative to their spread
				wage := 2950 + float64(i%100)
				if i >= len(rows)/2 {
					wage = 1000 + float64(i%4000)
				}
				rows[i].Wage = &wage
			}
			formats["parquet"](t, "in.parquet", rows)
			text, _ := os.ReadFile("pipeline.yaml")
			text = bytes.Replace(text, []byte("sd: 20%, tiers: [{above: 1000, variance_factor: 4}]"), []byte("sd: 100"), 1)
			text = bytes.Replace(text, []byte("min_efficiency: 0.5"), []byte("min_efficiency: "+c.limit), 1)
			write(t, "pipeline.yaml", text)
			alone := func(part []person) bool {
				formats["parquet"](t, "half.parquet", part)
				p := load(t, "source.parquet.path=half.parquet", "sink.parquet.path=half-released.parquet", "report.json=half.json",
					"quarantine.jsonl=half.jsonl")
				result, err := filejob.Run(context.Background(), p, options)
				if err != nil {
					t.Fatal(err)
				}
				return result.Refused()
			}
			first, second := alone(rows[:4000]), alone(rows[4000:])
			if !first || second {
				t.Fatalf("the halves alone are refused: %v and %v, want true and false: the test checks nothing", first, second)
			}
			_, result, err := sharded(t, 2)
			if err != nil {
				t.Fatal(err)
			}
			if result.Refused() != c.refused {
				t.Errorf("refused %v, want %v", result.Refused(), c.refused)
			}
			if _, err := os.Stat("released"); (err == nil) == c.refused {
				t.Errorf("the release exists or is missing, against the verdict (os.Stat returns %v)", err)
			}
		})
	}
}
