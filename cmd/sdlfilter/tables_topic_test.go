package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Tables of the records in a topic so far equal those of a file of the same records. A topic
// without an end has no tables.
func TestTablesOfATopic(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	lines := "id,name,wage,region\n"
	var records []*kgo.Record
	for i := range 60 {
		region := fmt.Sprint("r", i*i%7)
		lines += fmt.Sprintf("%d,Name %d,%.2f,%s\n", i, i, personWage(i), region)
		value := fmt.Sprintf(`{"id":%d,"name":"Name %d","wage":%.2f,"region":%q}`, i, i, personWage(i), region)
		records = append(records, &kgo.Record{Topic: "in", Partition: int32(i % 2), Value: []byte(value)})
	}
	s.produce(records...)
	s.file("in.csv", lines)
	const tables = `version: 1
name: wages
pipeline: %s.yaml
tables:
  - {name: persons, rows: [region], unsafe: [{threshold: 10}], protect: {suppress: {}}}
sink: {csv: {path: %s.csv}}
report: {json: %s.json}
`
	published := map[string]string{}
	for name, lines := range map[string][]string{
		"file":   {"source: {csv: {path: in.csv}}", "sink: {csv: {path: released.csv}}"},
		"topic":  {bounded, "sink: {csv: {path: released.csv}}"},
		"json":   {bounded, "sink: {jsonl: {path: released.jsonl}}"}, // with quoted texts
		"stream": {bounded},
		"live":   {endless},
	} {
		s.file(name+".yaml", s.text(lines...))
		s.file(name+"-tables.yaml", fmt.Sprintf(tables, name, name, name))
		if name == "stream" || name == "live" {
			_, stderr := s.run(exitUsage, "tables", name+"-tables.yaml")
			mustContain(t, stderr, "the tables of a topic need windows")
			continue
		}
		s.run(0, "tables", name+"-tables.yaml")
		published[name] = s.read(name + ".csv")
	}
	if published["topic"] != published["file"] || published["json"] != published["file"] ||
		strings.Count(published["file"], "suppressed") != 2 {
		t.Errorf("of the topic:\n%s\nreleased as JSON:\n%s\nof the file:\n%s", published["topic"], published["json"],
			published["file"])
	}
}

// A topic grows, so a second release of its tables is linked with the first: it is refused and the
// first one stays, unless all tables are protected by cell keys.
func TestTablesOfAGrowingTopic(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	grow := func(from, to int) {
		var records []*kgo.Record
		for i := from; i < to; i++ {
			value := fmt.Sprintf(`{"id":%d,"name":"Name %d","wage":%.2f,"region":"r%d"}`, i, i, personWage(i), i%3)
			records = append(records, &kgo.Record{Topic: "in", Partition: int32(i % 2), Value: []byte(value)})
		}
		s.produce(records...)
	}
	s.file("p.yaml",
		s.text(bounded, "identity: [id]",
			"columns: {id: {role: identifier}, name: {role: identifier}, wage: {role: sensitive, decimals: 2}, region: {role: other}}",
			"sink: {csv: {path: released.csv}}"))
	s.file("file.yaml", s.text("source: {csv: {path: in.csv}}", "sink: {csv: {path: released.csv}}"))
	s.file("in.csv", "id,name,wage,region\n"+strings.Repeat("1,Name 1,700.00,r1\n", 20))
	tables := func(name, pipeline, protect, sink string) string {
		s.file(name, fmt.Sprintf("version: 1\npipeline: %s\ntables: [%s]\nsink: %s\n", pipeline, protect, sink))
		return name
	}
	const (
		suppressed = "{name: persons, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}"
		keyed      = "{name: keyed, rows: [region], unsafe: [{threshold: 3}], protect: {cell_key: {max: 3, variance: 1.5}}}"
	)
	grow(0, 60)
	held := tables("held.yaml", "p.yaml", suppressed, "{csv: {path: held.csv}}")
	changed := tables("keyed.yaml", "p.yaml", keyed, "{csv: {path: keyed.csv}}")
	s.run(exitDone, "tables", held)
	s.run(exitDone, "tables", changed)
	first := map[string]string{"held": s.read("held.csv"), "keyed": s.read("keyed.csv")}
	grow(60, 121)
	_, stderr := s.run(exitUsage, "tables", held)
	mustContain(t, stderr, "held.csv: is there already, and tables[0] is not of counts that are protected by cell_key")
	if s.read("held.csv") != first["held"] {
		t.Error("the refused tables took the place of the first release")
	}
	s.run(exitDone, "tables", changed)
	if s.read("keyed.csv") == first["keyed"] {
		t.Error("the second release by cell keys does not know of 61 more records")
	}
	for name, path := range map[string]string{"stdout.yaml": "-", "object.yaml": "s3://bucket/t.csv"} {
		_, stderr = s.run(exitUsage, "tables", tables(name, "p.yaml", suppressed, "{csv: {path: '"+path+"'}}"))
		mustContain(t, stderr, "sink.csv: must be a local file for the tables of a topic")
	}
	raced := tables("raced.yaml", "p.yaml", suppressed, "{csv: {path: raced.csv}}")
	s.cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.file("raced.csv", "of another run")
		return nil, nil, false
	})
	_, stderr = s.run(exitUsage, "tables", raced)
	mustContain(t, stderr, "raced.csv: is there already, and tables[0] is not of counts that are protected by cell_key")
	if s.read("raced.csv") != "of another run" {
		t.Error("tables replaced those of another run")
	}
	file := tables("of-file.yaml", "file.yaml", suppressed, "{csv: {path: file.csv}}")
	s.run(exitDone, "tables", file)
	s.run(exitDone, "tables", file) // not a topic: existing tables are replaced
}
