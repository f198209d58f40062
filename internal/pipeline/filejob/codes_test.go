package filejob

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// The mean of codes is meaningless and is not in the public report; the mean of a quantity is.
func TestNoMeanOfCodesInPublic(t *testing.T) {
	for _, c := range []struct {
		name, masks, extra string
		years, code        bool
	}{
		{name: "whole numbers without a unit", code: true},
		{name: "a unit", years: true},
		{name: "listed as categories", years: true, extra: "assess: {intruder: {categorical: [age]}}\n", code: true},
		{name: "masked", masks: "\n  - noise: {columns: [age], sd: 2}\n"},
	} {
		dir := t.TempDir()
		writeCSV(t, filepath.Join(dir, "in.csv"), people(200))
		file := filepath.Join(dir, "report.json")
		if c.masks == "" {
			c.masks = "\n  - noise: {columns: [income], sd: 2}\n"
		}
		p := parse(t, dir,
			setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}", masks: c.masks,
				extra: c.extra + "report: {json: " + file + "}\n"})
		if c.years {
			p.Columns.Named("age").Unit = "years"
		}
		if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, err := os.ReadFile(config.PublicPath(file))
		if err != nil {
			t.Fatal(err)
		}
		var public struct {
			Columns map[string]struct {
				Released struct{ Mean, SD any }
			}
		}
		if err := json.Unmarshal(text, &public); err != nil {
			t.Fatal(err)
		}
		for name, column := range public.Columns {
			_, mean := column.Released.Mean.(float64)
			_, sd := column.Released.SD.(float64)
			if code := name == "age" && c.code; mean == code || sd == code {
				t.Errorf("%s: %s has the mean %v and the SD %v (want none of a column of codes)", c.name, name,
					column.Released.Mean, column.Released.SD)
			}
		}
		if _, is := public.Columns["age"]; !is {
			t.Errorf("%s: age is missing in the public report: %s", c.name, text)
		}
	}
}
