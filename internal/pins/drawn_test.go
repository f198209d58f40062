package pins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/config"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
)

// person is a record.
type person struct {
	ID string   `parquet:"id" json:"id"`
	X  *float64 `parquet:"x,optional" json:"x"`
	V  float64  `parquet:"v" json:"v"`
	W  int64    `parquet:"w" json:"w"`
	K  string   `parquet:"k" json:"k"`
	S  string   `parquet:"s" json:"s"`
}

// draw makes the records of configuration i: x is skewed, missing at times, and correlated with v.
func draw(i int) []person {
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	people := make([]person, records)
	for j := range people {
		z := rng.NormFloat64()
		x := math.Round(1000*math.Exp(4+0.6*z)) / 1000
		people[j] = person{
			ID: fmt.Sprintf("p%04d", j), X: &x, V: math.Round(100*(50+8*(0.7*z+0.7*rng.NormFloat64()))) / 100,
			W: 16 + rng.Int64N(60),
			K: strconv.Itoa(int(5 * rng.Float64() * rng.Float64())), S: []string{"n", "s, \"q\"", "ö"}[rng.IntN(3)],
		}
		if rng.IntN(12) == 0 {
			people[j].X = nil
		}
	}
	return people
}

// masks that are drawn from; x is masked by each first one.
var masks = []string{
	"{noise: {columns: [x], sd: 8}}", "{noise: {columns: [x], sd: 12, distribution: laplace}}",
	"{noise: {columns: [x], sd: 5, distribution: uniform}}",
	"{noise: {columns: [x], sd: 8, tiers: [{above: 50, variance_factor: 4}]}}",
	"{noise: {columns: [x, v], sd: 60%, correlated: true}}",
	`{noise: {columns: [x], sd: 10, where: "w > 30"}}`, "{bias: {columns: [x], phi: 0.15}}",
	"{bias: {columns: [x], range: 0.5}}",
	"{round: {columns: [x], base: 5}}", "{truncate: {columns: [x], lower: 25, upper: 120}}",
	"{topcode: {columns: [x], upper: 90}}",
	"{topcode: {columns: [x], upper_percentile: 90, replace: mean}}", "{microaggregate: {columns: [x], k: 5, share: 1}}",
	"{microaggregate: {columns: [x, v], k: 4, share: 1}}", "{rankswap: {columns: [x], p: 0.1}}",
	"{shuffle: {columns: [x], on: [w]}}", "{synthesise: {columns: [x], on: [w]}}",
	"{synthesise: {columns: [x], on: [v], method: normal}}", "{synthesise: {columns: [x], on: [w, v], method: cart}}",
	"{swap: {keys: [k], attribute: v, columns: [x], rate: 0.6, policy: random, scope: dataset}}",
	"{swap: {keys: [s], attribute: w, columns: [x], rate: 0.4, policy: random, scope: window}}",
}

// beside are masks of other columns.
var beside = []string{
	`{pram: {columns: [k], categories: ["0", "1", "2", "3", "4"], keep: 0.8}}`, "{suppress: {keys: [k, s], k: 3}}",
	"{recode: {columns: [s], map: {n: a, \"s, \\\"q\\\"\": a}, other: b}}",
	"{round: {columns: [w], base: 5}}", "{noise: {columns: [v], sd: 4}}", "{sample: {rate: 0.7}}",
	"{topcode: {columns: [w], upper: 65}}",
}

// valid returns configuration i, without source and sink: the first try of it that is one.
func valid(i int) string {
	for try := uint64(0); ; try++ {
		body := configure(i, rand.New(rand.NewPCG(try, uint64(i))))
		if _, err := config.ParseEmbedded("pipeline.yaml", []byte(body), config.Options{}); err == nil {
			return body
		} else if try > 100 {
			panic(err)
		}
	}
}

func configure(i int, rng *rand.Rand) string {
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	chain := []string{masks[i%len(masks)]} // each mask at least twice
	if rng.IntN(2) == 0 {
		chain = append(chain, one(masks[:11]...))
	}
	if rng.IntN(2) == 0 {
		chain = append(chain, one(beside...))
	}
	if rng.IntN(4) == 0 {
		chain = slices.Insert(chain, 0, one(beside[3:]...))
	}
	text := "version: 1\nname: pinned\nkey: {file: test.key}\n" + one("", "identity: [id]\n") +
		"columns: {id: {role: identifier}, x: {role: sensitive, decimals: 2}, v: {role: other, decimals: 2}, w: {decimals: 0, role: " + one("key", "other") + "}, k: {role: key}, s: {role: key}}\n" +
		"window: {records: 40}\nmasks: [" + strings.Join(chain, ", ") + "]\n" +
		fmt.Sprintf("assess: {keys: [%s], sample: %s, replicates: 20, targets: [p25, max], intruder: {inversion: %s}}\n",
			one("k, s", "k, s, w"), one("100", "1000", "all"), one("true", "false"))
	return text + "gate: {rules: [{column: x, " + one("min_efficiency: 0.3", "min_efficiency: 0.999",
		"min_rmse: 2, target: max", "min_rmse: 0.1, target: p25") + "}]}\n"
}

// formats encode the records.
var formats = map[string]func(*testing.T, []person) []byte{
	"parquet": func(t *testing.T, people []person) []byte {
		var out bytes.Buffer
		w := parquet.NewGenericWriter[person](&out, parquet.MaxRowsPerRowGroup(50))
		if _, err := w.Write(people); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	},
	"csv": func(_ *testing.T, people []person) []byte {
		var out bytes.Buffer
		out.WriteString("id,x,v,w,k,s\n")
		for _, p := range people {
			x := ""
			if p.X != nil {
				x = strconv.FormatFloat(*p.X, 'f', 3, 64)
			}
			fmt.Fprintf(&out, "%s,%s,%.2f,%d,%s,\"%s\"\n", p.ID, x, p.V, p.W, p.K, strings.ReplaceAll(p.S, `"`, `""`))
		}
		return out.Bytes()
	},
	"jsonl": func(_ *testing.T, people []person) []byte {
		var out bytes.Buffer
		for _, p := range people {
			line, _ := json.Marshal(p)
			out.Write(append(line, '\n'))
		}
		return out.Bytes()
	},
	"arrow": func(t *testing.T, people []person) []byte {
		var out bytes.Buffer
		w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
		if err != nil {
			t.Fatal(err)
		}
		for from := 0; from < len(people); from += 50 {
			b := batch(people[from:min(from+50, len(people))])
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	},
}

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "v", Type: arrow.PrimitiveTypes.Float64},
	{Name: "w", Type: arrow.PrimitiveTypes.Int64}, {Name: "k", Type: arrow.BinaryTypes.String},
	{Name: "s", Type: arrow.BinaryTypes.String},
}, nil)

func batch(people []person) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, p := range people {
		b.Field(0).(*array.StringBuilder).Append(p.ID)
		if x := b.Field(1).(*array.Float64Builder); p.X == nil {
			x.AppendNull()
		} else {
			x.Append(*p.X)
		}
		b.Field(2).(*array.Float64Builder).Append(p.V)
		b.Field(3).(*array.Int64Builder).Append(p.W)
		b.Field(4).(*array.StringBuilder).Append(p.K)
		b.Field(5).(*array.StringBuilder).Append(p.S)
	}
	return b.NewRecordBatch()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
