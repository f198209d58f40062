package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
)

// spelledPerson is a record of the test: job is nil where it is missing in the source.
type spelledPerson struct {
	ID     int64   `parquet:"id"`
	Region string  `parquet:"region,dict"`
	Job    *string `parquet:"job,optional,dict"`
	Income float64 `parquet:"inc"`
}

const hiddenJob = "Canaryjob"

// spelledPersons returns records of which two have a job that nobody else has, and each sixth none.
func spelledPersons() []spelledPerson {
	r := rand.New(rand.NewPCG(5, 5))
	rows := make([]spelledPerson, 1500)
	for i := range rows {
		rows[i] = spelledPerson{ID: int64(i), Region: string(rune('A' + r.IntN(3))), Income: float64(r.IntN(40000))}
		if i%6 != 0 {
			job := fmt.Sprint("job", r.IntN(3))
			rows[i].Job = &job
		}
	}
	for i := range 2 {
		job := fmt.Sprint(hiddenJob, i)
		rows[7+500*i].Job = &job
	}
	return rows
}

// spelled writes the records; missing gives the i-th text for a missing job in texts.
func spelled(t *testing.T, path, job, missing string) {
	t.Helper()
	var b bytes.Buffer
	switch rows := spelledPersons(); filepath.Ext(path) {
	case ".csv":
		fmt.Fprintln(&b, "id,region,job,inc")
		for _, p := range rows {
			value := missing
			if p.Job != nil {
				value = fmt.Sprintf(job, *p.Job)
			}
			fmt.Fprintf(&b, "%d,%s,%s,%.0f\n", p.ID, p.Region, value, p.Income)
		}
	case ".jsonl":
		for _, p := range rows {
			value := missing
			if p.Job != nil {
				value = fmt.Sprintf(job, *p.Job)
			}
			fmt.Fprintf(&b, `{"id": %d, "region": %q%s, "inc": %.0f}`+"\n", p.ID, p.Region, value, p.Income)
		}
	case ".parquet":
		w := parquet.NewGenericWriter[spelledPerson](&b)
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	case ".arrow":
		writeArrow(t, &b, rows)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeArrow writes a file in which the bytes under nulls are not empty, as Arrow allows.
func writeArrow(t *testing.T, out *bytes.Buffer, rows []spelledPerson) {
	t.Helper()
	schema := arrow.NewSchema(
		[]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "region", Type: arrow.BinaryTypes.String},
			{Name: "job", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "inc", Type: arrow.PrimitiveTypes.Float64}},
		nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	valid := make([]byte, (len(rows)+7)/8)
	nulls := 0
	for i, p := range rows {
		b.Field(0).(*array.Int64Builder).Append(p.ID)
		b.Field(1).(*array.StringBuilder).Append(p.Region)
		b.Field(3).(*array.Float64Builder).Append(p.Income)
		if p.Job == nil {
			b.Field(2).(*array.StringBuilder).Append("rest")
			nulls++
		} else {
			b.Field(2).(*array.StringBuilder).Append(*p.Job)
			valid[i/8] |= 1 << (i % 8)
		}
	}
	rec := b.NewRecordBatch()
	d := rec.Column(2).Data()
	job := array.MakeFromData(
		array.NewData(d.DataType(), d.Len(), []*memory.Buffer{memory.NewBufferBytes(valid), d.Buffers()[1], d.Buffers()[2]},
			nil, nulls, 0))
	w, err := ipc.NewFileWriter(out, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{rec.Column(0), rec.Column(1), job, rec.Column(3)},
		int64(len(rows)))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// combinations counts the records of each combination of region and job as they are spelled, with
// readers of others: a cell of text is its bytes, and a missing member differs from a null.
func combinations(t *testing.T, path string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	switch filepath.Ext(path) {
	case ".csv":
		head, rest, _ := strings.Cut(string(data), "\n")
		names := strings.Split(head, ",")
		for line := range strings.Lines(rest) {
			f := strings.Split(strings.TrimRight(line, "\r\n"), ",")
			count[f[slices.Index(names, "region")]+"|"+f[slices.Index(names, "job")]]++
		}
	case ".jsonl":
		for line := range strings.Lines(string(data)) {
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &members); err != nil {
				t.Fatal(err)
			}
			names := ""
			for d := json.NewDecoder(strings.NewReader(line)); ; { // the order of the members
				token, err := d.Token()
				if err != nil {
					break
				}
				if s, ok := token.(string); ok && members[s] != nil {
					names += s + ","
				}
			}
			count[names+string(members["region"])+"|"+string(members["job"])]++
		}
	case ".parquet":
		type kept struct {
			Region *string `parquet:"region,optional"`
			Job    *string `parquet:"job,optional"`
		}
		rows, err := parquet.Read[kept](bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		text := func(s *string) string {
			if s == nil {
				return "\x00"
			}
			return *s
		}
		for _, r := range rows {
			count[text(r.Region)+"|"+text(r.Job)]++
		}
	case ".arrow":
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.NumRecords() {
			rec, err := r.RecordBatch(i)
			if err != nil {
				t.Fatal(err)
			}
			for row := range int(rec.NumRows()) {
				key := ""
				for _, name := range []string{"region", "job"} {
					a := rec.Column(rec.Schema().FieldIndices(name)[0]).(*array.String)
					at := a.ValueOffsets()
					key += fmt.Sprintf("%v %q|", a.IsNull(row), a.ValueBytes()[at[row]-at[0]:at[row+1]-at[0]])
				}
				count[key]++
			}
		}
	}
	return count
}

// A missing value of the source and a value that a mask has set missing are the same bytes, in each
// format: otherwise those who read the release know whose values were rare.
func TestMissingValuesLeaveAlike(t *testing.T) {
	const k = 3
	for name, c := range map[string]struct {
		in, options  string
		job, missing string // how CSV and JSON Lines spell a job, and a missing one
		out          []string
	}{
		"na": {in: "in.csv", options: `, na: ["-9"]`, job: "%s", missing: "-9",
			out: []string{"csv", "jsonl", "parquet", "arrow"}},
		"nulls":       {in: "in.csv", options: `, nulls: [".", "-9"]`, job: "%s", missing: "-9", out: []string{"csv"}},
		"empty":       {in: "in.csv", job: `"%s"`, missing: ``, out: []string{"csv", "jsonl"}},
		"absent":      {in: "in.jsonl", job: `, "job": "%s"`, missing: "", out: []string{"csv", "jsonl"}},
		"null":        {in: "in.jsonl", job: `, "job": "%s"`, missing: `, "job": null`, out: []string{"jsonl"}},
		"parquet":     {in: "in.parquet", out: []string{"parquet", "csv"}},
		"under nulls": {in: "in.arrow", out: []string{"arrow", "parquet", "jsonl"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, format := range c.out {
				dir := t.TempDir()
				spelled(t, filepath.Join(dir, c.in), c.job, c.missing)
				key := base64.StdEncoding.EncodeToString([]byte("a fixed key of 32 bytes for tests"[:32]))
				sink := ""
				if format == "parquet" || format == "arrow" {
					sink = ", compression: none"
				}
				text := fmt.Sprintf(`version: 1
name: missing
key: {file: k}
identity: [id]
source: {%s: {path: %s%s}}
columns:
  id: {role: identifier}
  region: {role: key}
  job: {role: key}
  inc: {role: sensitive}
masks:
  - suppress: {keys: [region, job], k: %d}
  - noise: {columns: [inc], sd: 1000}
assess: {replicates: 5, intruder: {categorical: [region, job]}}
sink: {%s: {path: out.%s%s}}
gate: {rules: [{min_k: %d}]}
`, filepath.Ext(c.in)[1:], c.in, c.options, k, format, format, sink, k)
				for file, data := range map[string]string{"k": key, "p.yaml": text} {
					if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				printed, err := program(t, dir, "run", "p.yaml").CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, printed)
				}
				path := filepath.Join(dir, "out."+format)
				for combination, n := range combinations(t, path) {
					if n < k {
						t.Errorf("%s: %d records with %q", format, n, combination)
					}
				}
				raw, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(raw, []byte(hiddenJob)) {
					t.Errorf("%s: a job that was set missing is in the file", format)
				}
			}
		})
	}
}
