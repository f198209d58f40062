package foreign

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Contents are those of a count by hand, with empty cells in both kinds of columns and a column of too many texts.
func TestContentsByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var text strings.Builder
	text.WriteString("region,wage,name\n")
	counts, missing, sum, n := map[string]int64{}, int64(0), 0.0, int64(0)
	const records = mostCategories + 2000
	for i := range records {
		region := []string{"north", "south", "", "east"}[rng.IntN(4)]
		if counts[region]++; region == "" {
			missing++
		}
		wage := ""
		if rng.IntN(5) > 0 {
			x := float64(rng.IntN(10_000)) / 4
			wage, sum, n = fmt.Sprint(x), sum+x, n+1
		}
		fmt.Fprintf(&text, "%s,%s,n%d\n", region, wage, i)
	}
	delete(counts, "")
	path := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ContentsOf(t.Context(), &csv.SourceConfig{Path: path}, nil, &pipeline.Progress{})
	if err != nil {
		t.Fatal(err)
	}
	region, wage, name := got.Columns[0], got.Columns[1], got.Columns[2]
	if got.Records != records || region.Missing != missing || !maps.Equal(region.Categories, counts) ||
		region.Numbers != nil {
		t.Errorf("%d records, region %+v, want %v and %d missing", got.Records, region, counts, missing)
	}
	if wage.Numbers == nil || wage.Categories != nil || wage.Missing != records-n || wage.Numbers.N != n ||
		!(math.Abs(wage.Numbers.Mean-sum/float64(n)) < 1e-9) {
		t.Errorf("wage %+v, want %d values with mean %v", wage, n, sum/float64(n))
	}
	if name.Categories != nil || name.Missing != 0 {
		t.Errorf("%d names counted", len(name.Categories))
	}
	declared := map[string]*microdata.Missing{"region": {Codes: []string{"east"}}}
	if got, err = ContentsOf(t.Context(), &csv.SourceConfig{Path: path}, declared, &pipeline.Progress{}); err != nil {
		t.Fatal(err)
	}
	east := counts["east"]
	delete(counts, "east")
	if region := got.Columns[0]; region.Missing != missing+east || !maps.Equal(region.Categories, counts) {
		t.Errorf("with a declared code: %+v, want %v and %d missing", region, counts, missing+east)
	}
}
