package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Tables of the records that a topic holds so far are those of a file of the same records; a
// topic without end has no tables.
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
		"stream": {bounded},
		"live":   {endless},
	} {
		s.file(name+".yaml", s.text(lines...))
		s.file(name+"-tables.yaml", fmt.Sprintf(tables, name, name, name))
		if name == "stream" || name == "live" {
			_, stderr := s.run(exitUsage, "tables", name+"-tables.yaml")
			says(t, stderr, "the tables of a topic need windows")
			continue
		}
		s.run(0, "tables", name+"-tables.yaml")
		published[name] = s.read(name + ".csv")
	}
	if published["topic"] != published["file"] || strings.Count(published["file"], "suppressed") != 2 {
		t.Errorf("of the topic:\n%s\nof the file:\n%s", published["topic"], published["file"])
	}
}
