package kafkatest

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
)

// poisons make a record unmaskable, each in its own way.
var poisons = []func(survey.Record) string{
	func(r survey.Record) string { return `{"id":"` + r.ID + `","name":"` + r.Name + `","wage":` },
	func(r survey.Record) string { return withWage(r, `"much, says `+r.ID+`"`) },
	func(r survey.Record) string { return withWage(r, `7e999`) },
	func(r survey.Record) string { return withWage(r, `1,"wage":2`) },
	func(r survey.Record) string { return withWage(r, `{"per":{"week":1}}`) },
	func(r survey.Record) string {
		return strings.Replace(string(r.AppendJSON(nil)), `"region":"`, "\"region\":\"\xff", 1)
	},
	func(r survey.Record) string { return `[` + string(r.AppendJSON(nil)) + `]` },
	func(r survey.Record) string { return `` },
	func(r survey.Record) string { return string(r.AppendJSON(nil)) + `}` },
}

// withWage writes a record with some JSON as its wage.
func withWage(r survey.Record, wage string) string {
	return wages.ReplaceAllString(string(r.AppendJSON(nil)), `"wage":`+wage+`,`)
}

var wages = regexp.MustCompile(`"wage":[0-9.]+,`)

// testPoisoned: batch k has a poisoned record at position k. Each goes to quarantine with its place
// and without its values; everything else is released.
func testPoisoned(t *testing.T, s *site) {
	// The number of batches equals the number of records in a batch.
	size := int64(math.Sqrt(float64(records)))
	c := newTrial(t, s, 7, size*size)
	c.batch = int(size)
	c.poisoned = map[string][]byte{}
	next := make([]int64, partitions)
	for i := range c.n {
		home := c.records.Home(i)
		if batch := i / size; i%size == batch {
			r := c.records.At(home, next[home])
			c.poisoned[r.ID] = []byte(poisons[int(batch)%len(poisons)](r))
		}
		next[home]++
	}
	quarantine := c.in + "-quarantine"
	p := pipeline{group: c.in, out: c.in + "-out", also: fmt.Sprintf("quarantine: {kafka: {topic: %s}}\n", quarantine)}
	s.topic(t, p.out, partitions)
	s.topic(t, quarantine, 1)
	config := c.write(t, p)
	c.feedAll(t, 0, c.n)
	filter := c.run(t, config)
	c.await(t, p.group, time.Minute, filter)
	drain(t, filter)

	entries := map[string]string{}
	for _, r := range c.readRecords(t, quarantine) {
		var e struct {
			Topic     string `json:"topic"`
			Partition int32  `json:"partition"`
			Offset    int64  `json:"offset"`
			Reason    string `json:"reason"`
		}
		if err := json.Unmarshal(r.Value, &e); err != nil {
			t.Fatalf("quarantine: %v in %s", err, r.Value)
		}
		id := survey.ID(e.Partition, e.Offset)
		if _, again := entries[id]; again {
			t.Errorf("%s is in quarantine twice", id)
		}
		if e.Topic != c.in || e.Reason == "" {
			t.Errorf("quarantine: %s has the topic %q and the reason %q", id, e.Topic, e.Reason)
		}
		// Neither the record nor a part of it: its id and its name contain its place, which the
		// entry writes in another form.
		text := string(r.Value) + string(r.Key)
		in := c.records.At(e.Partition, e.Offset)
		if strings.Contains(text, id) || strings.Contains(text, "Respondent") || strings.Contains(text, fmt.Sprint(in.Wage)) {
			t.Errorf("quarantine: a value of %s is in its entry: %s", id, r.Value)
		}
		entries[id] = e.Reason
	}
	for id := range c.poisoned {
		if _, there := entries[id]; !there {
			t.Errorf("%s is poisoned and not in quarantine: %q", id, c.poisoned[id])
		}
	}
	for id, reason := range entries {
		if _, bad := c.poisoned[id]; !bad {
			t.Errorf("%s is in quarantine (%s) and was not poisoned", id, reason)
		}
	}
	kept := c.totals(t, p.group, config)
	if got, want := kept.Records["quarantined"], int64(len(c.poisoned)); got != want {
		t.Errorf("the assessment counts %d records in quarantine, want %d", got, want)
	}
	if got, want := *kept.Columns["wage"]["original"].N, c.n-int64(len(c.poisoned)); got != want {
		t.Errorf("the assessment rests on %d wages, want %d", got, want)
	}
	p.also = fmt.Sprintf("quarantine: {kafka: {topic: %s-2}}\n", quarantine)
	s.topic(t, quarantine+"-2", 1)
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}
