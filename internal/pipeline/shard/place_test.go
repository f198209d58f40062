package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// placedPerson is a person with a place in the whole data set.
type placedPerson struct {
	person
	Part int64 `parquet:"part" json:"part"`
	Row  int64 `parquet:"row" json:"row"`
}

// preparePlaced is prepare for records in an order other than that of their places, which columns
// contain. twin is a record that gets the place of the first one.
func preparePlaced(t *testing.T, format string, n, twin int) {
	t.Helper()
	prepare(t, format, n, "place: {stream: part, record: row}\n")
	rows := make([]placedPerson, n)
	for i, p := range people(n) {
		rows[i] = placedPerson{p, int64(i % 3), int64(i / 3 * 5)}
	}
	if twin > 0 {
		rows[twin].Part, rows[twin].Row = rows[0].Part, rows[0].Row
	} else {
		rand.New(rand.NewPCG(3, 4)).Shuffle(n, func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	}
	var out bytes.Buffer
	switch format {
	case "parquet":
		w := parquet.NewGenericWriter[placedPerson](&out, parquet.MaxRowsPerRowGroup(int64(n/70+1)))
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	default:
		for _, r := range rows {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
	}
	write(t, "in."+format, out.Bytes())
}

func sortedLines(text string) []string {
	all := strings.Split(text, "\n")
	slices.Sort(all)
	return all
}

// TestShardsOfPlaces: shards of a source with columns of places equal one run of it.
func TestShardsOfPlaces(t *testing.T) {
	racetest.Further(t)
	for _, format := range []string{"parquet", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			preparePlaced(t, format, 20_000, 0)
			want := single(t, format)
			m, _, err := sharded(t, 5)
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Shards) < 2 {
				t.Errorf("the plan has %d shards, want at least 2", len(m.Shards))
			}
			// Unordered records of a block are written in the order of their places, and shards
			// have other blocks.
			if !slices.Equal(sortedLines(records(t, format, "released")), sortedLines(records(t, format, "whole."+format))) {
				t.Error("the released records differ from those of one run")
			}
			for _, d := range differences(want, read(t, "report.json"), "") {
				t.Error(d)
			}
		})
	}
}

// TestPlaceOfTwoShards: if records of two shards, or of two parts of one, have the same place, that
// is detected and nothing is published.
func TestPlaceOfTwoShards(t *testing.T) {
	for twin, where := range map[int]string{8999: "commit", 3: "shard", 2900: "shard"} {
		t.Run(fmt.Sprint(twin), func(t *testing.T) {
			preparePlaced(t, "parquet", 9000, twin)
			_, err := Plan(context.Background(), load(t), "pipeline.yaml", nil, 3, options)
			if err == nil || !strings.Contains(err.Error(), "two records have the same place") {
				t.Errorf("Plan, which reads the data, returns %v", err)
			}
			config, _ := os.ReadFile("pipeline.yaml") // without a pass for the standard deviation
			write(t, "pipeline.yaml",
				bytes.Replace(bytes.Replace(config, []byte("sd: 20%"), []byte("sd: 90"), 1), []byte("{role: sensitive}"),
					[]byte("{role: sensitive, decimals: 2}"), 1))
			m := planned(t, 3)
			err = nil
			for i := range m.Shards {
				var s *State
				if s, err = Run(context.Background(), load(t), m, i, nil, options); err != nil {
					break
				}
				if err := s.Write(fmt.Sprintf("states/%d.state", i)); err != nil {
					t.Fatal(err)
				}
			}
			if (err != nil) != (where == "shard") {
				t.Fatalf("running the shards returns %v", err)
			}
			if err == nil {
				_, err = Commit(context.Background(), load(t), m, "states", options)
			}
			if err == nil || !strings.Contains(err.Error(), "two records have the same place") ||
				!strings.Contains(err.Error(), "columns part and row") {
				t.Errorf("Commit returns %v", err)
			}
			if _, err := os.Stat("released"); err == nil {
				t.Error("the commit left a release in spite of the error")
			}
		})
	}
}

// TestPlacesOfAFolder: the files of a folder are shards that keep their names in the quarantine.
func TestPlacesOfAFolder(t *testing.T) {
	racetest.Further(t)
	preparePlaced(t, "jsonl", 3000, 0)
	text, _ := os.ReadFile("in.jsonl")
	var files [3]bytes.Buffer
	n := 0
	for line := range bytes.Lines(text) {
		if n == 2999 {
			line = []byte("{\"id\": \"canary\"\n")
		}
		files[n*3/3000].Write(line)
		n++
	}
	for i := range files {
		write(t, fmt.Sprintf("in/%d.jsonl", i), files[i].Bytes())
	}
	config, _ := os.ReadFile("pipeline.yaml")
	write(t, "pipeline.yaml", bytes.Replace(config, []byte("path: in.jsonl"), []byte("path: in"), 1))
	want := single(t, "jsonl")
	m, result, err := sharded(t, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Shards) != 3 || result.Quarantined() != 1 {
		t.Errorf("%d shards and %d records in quarantine, want 3 and 1", len(m.Shards), result.Quarantined())
	}
	for _, d := range differences(want, read(t, "report.json"), "") {
		t.Error(d)
	}
	one, _ := os.ReadFile("whole-quarantine.jsonl")
	other, _ := os.ReadFile("quarantine.jsonl")
	if !bytes.Equal(one, other) || !bytes.Contains(other, []byte(`"stream":"in/2.jsonl","record":1000`)) {
		t.Errorf("the quarantine is %s; of one run %s", other, one)
	}
}

// TestTypesTravel: only the plan examines all values for the types of columns. A shard reads only a
// part and uses the manifest, even if its part suggests other types.
func TestTypesTravel(t *testing.T) {
	for _, format := range []string{"csv", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			prepare(t, format, 2000, "")
			first := people(1500) // only integers, and a region without quotes
			for i := range first {
				v := float64(100 + i)
				first[i].Wage, first[i].Region = &v, "n"
			}
			os.Mkdir("in", 0o777)
			formats[format](t, "in/0."+format, first)
			formats[format](t, "in/1."+format, people(1500))
			config, _ := os.ReadFile("pipeline.yaml")
			write(t, "pipeline.yaml", bytes.Replace(config, []byte("path: in."+format), []byte("path: in"), 1))
			want := single(t, format)
			m, _, err := sharded(t, 2)
			if err != nil {
				t.Fatal(err)
			}
			if records(t, format, "released") != records(t, format, "whole."+format) {
				t.Error("the released records differ from those of one run")
			}
			for _, d := range differences(want, read(t, "report.json"), "") {
				t.Error(d)
			}
			if len(m.Survey) == 0 {
				t.Fatal("the manifest has no survey of types")
			}
			// If the values were examined again, this change would have no effect.
			m.Survey = json.RawMessage(bytes.Replace(m.Survey, []byte(`"wage"`), []byte(`"wages"`), 1))
			if _, err := Run(context.Background(), load(t), m, 0, nil, options); err == nil ||
				!strings.Contains(err.Error(), "column") {
				t.Errorf("a survey with other names: Run returns %v", err)
			}
			m.Survey = json.RawMessage(`{"names": 3}`)
			if _, err := Run(context.Background(), load(t), m, 0, nil, options); err == nil {
				t.Error("Run accepts a damaged survey")
			}
		})
	}
}
