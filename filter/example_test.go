package filter_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/filter"
)

// A program masks its own batches, and releases them if the gate passes.
func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	key := filepath.Join(folder, "release.key") // in the form that sdlfilter keygen writes
	if err := os.WriteFile(key, []byte("MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	p, err := config.ParseEmbedded("wages.yaml", []byte(`version: 1
key: {file: `+key+`}
columns:
  name: {role: identifier}
  wage: {role: sensitive, decimals: 0}
masks:
  - noise: {columns: [wage], sd: 300}
gate:
  rules: [{column: wage, target: typical, knowledge: index, min_rmse: 200}]
`), config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := filter.Open(p)
	if err != nil {
		fmt.Println(err)
		return
	}

	schema := arrow.NewSchema(
		[]arrow.Field{{Name: "name", Type: arrow.BinaryTypes.String}, {Name: "wage", Type: arrow.PrimitiveTypes.Float64}},
		nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var masked []arrow.RecordBatch // not released before the gate has passed
	for range 2 {
		for i := range 500 {
			b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("person %d", i))
			b.Field(1).(*array.Float64Builder).Append(float64(2000 + 7*(211*i%500)))
		}
		rec := b.NewRecordBatch()
		out, err := f.Batch(rec)
		rec.Release()
		if err != nil {
			fmt.Println(err)
			return
		}
		defer out.Release()
		masked = append(masked, out)
	}

	report, err := f.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	if !report.Gate.Passed {
		fmt.Println("withheld:", report.Withheld)
		return
	}
	for _, out := range masked {
		fmt.Println(out.NumRows(), "records of", out.Schema().Field(0).Name, "leave")
	}
	// Output:
	// 500 records of wage leave
	// 500 records of wage leave
}
