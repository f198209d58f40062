package kafkatest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
)

// settle sets settings of a topic.
func (s *site) settle(t *testing.T, topic string, settings ...string) {
	t.Helper()
	var to []kadm.AlterConfig
	for i := 0; i+1 < len(settings); i += 2 {
		to = append(to, kadm.AlterConfig{Name: settings[i], Value: &settings[i+1]})
	}
	answers, err := s.admin.AlterTopicConfigs(t.Context(), to, topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Err != nil {
			t.Fatalf("settings of %s: %v, %s", a.Name, a.Err, a.ErrMessage)
		}
	}
}

// testRefused: records that the sink's topic does not take, for their size or their timestamp, as the topic's
// settings have changed since the stream began. The broker refuses whole batches; each such record goes to
// quarantine with its place, and all others are released once, in their order, with the values of a run that
// knew the limits before.
func testRefused(t *testing.T, s *site) {
	const taken, early, huge, hour = "4000000", "message.timestamp.after.max.ms", "9223372036854775807", "3600000"
	c := newTrial(t, s, 31, few)
	s.settle(t, c.in, "max.message.bytes", taken, early, huge)
	c.poisoned, c.stamped = map[string][]byte{}, map[string]time.Time{}
	g := rand.New(rand.NewPCG(31, 0))
	next := make([]int64, partitions)
	reasons := map[string]string{}
	for i := range c.n {
		home := c.records.Home(i)
		r := c.records.At(home, next[home])
		next[home]++
		text := string(r.AppendJSON(nil))
		switch {
		case i < c.n/3:
			continue
		case i%1000 == 7, i == c.n-1:
			noise := make([]byte, 1_500_000) // that no compression makes smaller than a batch of the default
			for k := range noise {
				noise[k] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[g.IntN(64)]
			}
			c.poisoned[r.ID] = []byte(strings.Replace(text, `"region":"`, `"region":"`+string(noise), 1))
			reasons[r.ID] = "larger"
		case i%1000 == 500, i%1000 == 501:
			c.poisoned[r.ID] = []byte(text)
			c.stamped[r.ID] = time.Now().Add(1000 * time.Hour)
			reasons[r.ID] = "timestamp"
		}
	}
	quarantine := c.in + "-quarantine"
	p := pipeline{group: c.in, out: c.in + "-out", also: fmt.Sprintf("quarantine: {kafka: {topic: %s}}\n", quarantine)}
	s.topic(t, p.out, partitions, "max.message.bytes", taken, early, huge)
	s.topic(t, quarantine, 1)
	config := c.write(t, p)
	f := c.feed(t, 0, c.n/3, 0)
	filter := c.run(t, config)
	c.moves(t, p.group, nil, time.Minute, filter)
	s.settle(t, p.out, "max.message.bytes", "1048588", early, hour)
	f.finish(t)
	c.await(t, p.group, 2*time.Minute, filter)
	drain(t, filter)

	if log, err := os.ReadFile(filter.Log); err != nil ||
		!strings.Contains(string(log), "the sink's topic refuses records") {
		t.Errorf("the log does not say that the broker has refused anything (%v)", err)
	}

	found := map[string]bool{}
	for _, r := range c.readRecords(t, quarantine) {
		var e struct {
			Topic     string
			Partition int32
			Offset    int64
			Reason    string
		}
		if err := json.Unmarshal(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		id := survey.ID(e.Partition, e.Offset)
		if e.Topic != c.in || reasons[id] == "" || !strings.Contains(e.Reason, reasons[id]) || found[id] ||
			len(r.Value) > 500 {
			t.Errorf("quarantine: %.300s", r.Value)
		}
		found[id] = true
	}
	if len(found) != len(c.poisoned) {
		t.Errorf("%d records are in quarantine, want %d", len(found), len(c.poisoned))
	}
	if got := c.totals(t, p.group, config).Records["quarantined"]; got != int64(len(c.poisoned)) {
		t.Errorf("the assessment counts %d records in quarantine, want %d", got, len(c.poisoned))
	}
	p.also = fmt.Sprintf("quarantine: {kafka: {topic: %s-2}}\n", quarantine)
	s.topic(t, quarantine+"-2", 1)
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}
