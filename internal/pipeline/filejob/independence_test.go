package filejob

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// person is a record of the test data: a respondent, a sensitive number, keys.
type person struct {
	ID     string  `parquet:"id"`
	Income float64 `parquet:"income"`
	Debt   *int64  `parquet:"debt,optional"`
	Age    int32   `parquet:"age"`
	Region string  `parquet:"region,dict"`
}

func people(n int) []person {
	rng := rand.New(rand.NewPCG(11, 12))
	rows := make([]person, n)
	for i := range rows {
		rows[i] = person{
			ID: fmt.Sprintf("R%05d", i), Income: float64(rng.IntN(9_000_000)) / 100,
			Age: int32(18 + rng.IntN(60)), Region: []string{"north", "south", "east", "west"}[rng.IntN(4)],
		}
		if rng.IntN(10) > 0 {
			debt := int64(rng.IntN(50_000)) - 1000
			rows[i].Debt = &debt
		}
	}
	return rows
}

func writeParquet(t testing.TB, path string, rows []person, rowGroup int) {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[person](&out, parquet.MaxRowsPerRowGroup(int64(rowGroup)))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, path, out.Bytes())
}

func writeCSV(t *testing.T, path string, rows []person) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("id,income,debt,age,region\n")
	for _, r := range rows {
		debt := ""
		if r.Debt != nil {
			debt = fmt.Sprint(*r.Debt)
		}
		fmt.Fprintf(&out, "%s,%v,%s,%d,%s\n", r.ID, r.Income, debt, r.Age, r.Region)
	}
	write(t, path, out.Bytes())
}

func writeJSONL(t *testing.T, path string, rows []person) {
	t.Helper()
	var out bytes.Buffer
	for _, r := range rows {
		debt := "null"
		if r.Debt != nil {
			debt = fmt.Sprint(*r.Debt)
		}
		fmt.Fprintf(&out, `{"id":%q,"income":%v,"debt":%s,"age":%d,"region":%q}`+"\n", r.ID, r.Income, debt, r.Age, r.Region)
	}
	write(t, path, out.Bytes())
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// setup is a configuration to run.
type setup struct {
	source, sink, identity, masks, extra string
}

const noiseMasks = `
  - bias: {columns: [income], phi: 0.02}
  - noise: {columns: [income, debt], sd: 300, distribution: laplace}
  - truncate: {columns: [income], lower: 0}
`

const swapMasks = `
  - swap: {keys: [age], attribute: region, columns: [income, debt], rate: 0.7, policy: random}
  - noise: {columns: [income], sd: 10%}
`

func parse(t *testing.T, dir string, s setup) *config.Pipeline {
	t.Helper()
	keyPath := filepath.Join(dir, "k")
	write(t, keyPath, []byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))))
	text := fmt.Sprintf(`version: 1
name: test
key: {file: %s}
%s
source: {%s}
sink: {%s}
columns:
  id: {role: identifier}
  income: {role: sensitive, unmasked: true}
  debt: {role: sensitive, unmasked: true}
  age: {role: key}
  region: {role: key}
masks:%s
%s
`, keyPath, s.identity, s.source, s.sink, s.masks, s.extra)
	p, err := config.Parse("test.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// released runs a configuration and returns the rows of the release as text.
func released(t *testing.T, dir string, s setup) []string {
	t.Helper()
	p := parse(t, dir, s)
	if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	return rowsOf(t, p.Sink.Config.Paths()[0])
}

// rowsOf reads a file or folder in any format: its rows as text, with the columns ordered by name.
func rowsOf(t *testing.T, path string) []string {
	t.Helper()
	source := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		source = path // in these tests a folder is named after its format
	}
	c, err := formats.SourceOf(source)
	if err != nil {
		t.Fatal(err)
	}
	src, err := c.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	layout := &microdata.Layout{Schema: src.Schema()}
	names := src.Schema().Names()
	sort.Strings(names)
	for _, name := range names {
		i := src.Schema().Index(name)
		as := microdata.Array
		if src.Schema().Fields[i].Numeric() {
			as = microdata.Numbers
		}
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: as})
	}
	reader, err := src.Read(context.Background(), layout, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var rows []string
	block := new(microdata.Block)
	for {
		raw, err := reader.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Decode(block); err != nil {
			t.Fatal(err)
		}
		for i := range block.N {
			var row strings.Builder
			for j, w := range layout.Read {
				c := &block.Columns[j]
				switch {
				case w.As == microdata.Array:
					fmt.Fprintf(&row, "%s=%s ", names[j], c.Array.ValueStr(i))
				case c.Original.Valid.Has(i):
					fmt.Fprintf(&row, "%s=%v ", names[j], c.Original.Values[i])
				default:
					fmt.Fprintf(&row, "%s=null ", names[j])
				}
			}
			rows = append(rows, row.String())
		}
	}
}

func sameRows(t *testing.T, name string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: row %d is\n%s, want\n%s", name, i, got[i], want[i])
			return
		}
	}
}

// TestResultIndependentOfFormat releases the same records from every source format into every sink
// format.
func TestResultIndependentOfFormat(t *testing.T) {
	racetest.Further(t)
	dir := t.TempDir()
	rows := people(3000)
	writeParquet(t, filepath.Join(dir, "in.parquet"), rows, 1000)
	writeCSV(t, filepath.Join(dir, "in.csv"), rows)
	writeJSONL(t, filepath.Join(dir, "in.jsonl"), rows)
	// The program makes the Arrow file: a release without masks.
	for _, format := range []string{"arrow"} {
		p := parse(t, dir, setup{
			source: fmt.Sprintf("parquet: {path: %s/in.parquet}", dir),
			sink:   fmt.Sprintf("%s: {path: %s/in.%s}", format, dir, format),
			masks:  " []",
		})
		p.Columns.Named("id").Role = microdata.Other
		if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, masks := range []string{noiseMasks, swapMasks} {
		for _, identity := range []string{"", "identity: [id]"} {
			if testing.Short() && (masks == noiseMasks) == (identity != "") {
				continue
			}
			var want []string
			formats := []string{"parquet", "csv", "jsonl", "arrow"}
			for i, from := range formats {
				for k, to := range formats {
					if testing.Short() && k != i && k != (i+1)%len(formats) {
						continue // into the format itself and into the next one
					}
					got := released(t, dir, setup{
						source:   fmt.Sprintf("%s: {path: %s/in.%s}", from, dir, from),
						sink:     fmt.Sprintf("%s: {path: %s/out.%s}", to, dir, to),
						identity: identity, masks: masks, extra: "assess: {replicates: 0}\nwindow: {records: 500}",
					})
					if want == nil {
						want = got
					}
					sameRows(t, from+" to "+to, got, want)
				}
			}
		}
	}
}

// TestResultIndependentOfLayout releases the same records with different numbers of workers,
// different row groups, and divided into several files.
func TestResultIndependentOfLayout(t *testing.T) {
	dir := t.TempDir()
	n, cut := 20_000, 12_345
	if testing.Short() {
		n, cut = 9_000, 5_345
	}
	rows, whole := people(n), fmt.Sprintf("groups%d.parquet", n)
	run := func(path, identity, masks string) []string {
		out := "out.parquet"
		if info, err := os.Stat(filepath.Join(dir, path)); err == nil && info.IsDir() {
			out = "folder-out.parquet"
		}
		return released(t, dir, setup{
			source: fmt.Sprintf("parquet: {path: %s/%s}", dir, path), sink: fmt.Sprintf("parquet: {path: %s/%s}", dir, out),
			identity: identity, masks: masks, extra: "assess: {replicates: 0}\nwindow: {records: 1024}",
		})
	}
	for _, size := range []int{n, 7_001, 999} {
		writeParquet(t, filepath.Join(dir, fmt.Sprintf("groups%d.parquet", size)), rows, size)
	}
	for i, part := range [][]person{rows[:5], rows[5:cut], rows[cut:]} {
		writeParquet(t, filepath.Join(dir, "parts.parquet", fmt.Sprintf("p%d.parquet", i)), part, 3000)
	}
	for _, masks := range []string{noiseMasks, swapMasks} {
		want := run(whole, "", masks)
		for _, size := range []int{7_001, 999} {
			sameRows(t, fmt.Sprintf("row groups of %d", size), run(fmt.Sprintf("groups%d.parquet", size), "", masks), want)
		}
		before := runtime.GOMAXPROCS(1)
		sameRows(t, "one worker", run(whole, "", masks), want)
		runtime.GOMAXPROCS(5)
		sameRows(t, "five workers", run("groups999.parquet", "", masks), want)
		runtime.GOMAXPROCS(before)
	}
	want := run(whole, "identity: [id]", noiseMasks)
	sameRows(t, "split into files", run("parts.parquet", "identity: [id]", noiseMasks), want)
	if slices.Equal(want, run(whole, "", noiseMasks)) {
		t.Error("the release is the same with and without the identity column")
	}
}
