package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

const (
	before = `{"type":"record","name":"Person","fields":[{"name":"id","type":"int"},{"name":"wage","type":"int"},{"name":"name","type":"string"}]}`
	now    = `{"type":"record","name":"Person","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"},{"name":"wage","type":"double"},{"name":"region","type":["null","string"],"default":null}]}`
)

// A topic of Avro messages that were written with two schemas is released as Avro, as JSON, and from
// JSON as Avro again.
func TestStreamOfAvro(t *testing.T) {
	cluster,
		err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "in", "out", "text", "back", "bad", "bad2", "bad3"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	address := cluster.ListenAddrs()[0]
	r := registrytest.New(t)
	older, latest := r.Register(t, "in-value", registry.Avro, before), r.Register(t, "in-value", registry.Avro, now)
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	const n = 500
	var records []*kgo.Record
	for i := range n {
		record := map[string]any{"id": int64(i), "name": fmt.Sprintf("CANARY %d", i), "wage": 100.5 + float64(i),
			"region": "r"}
		id, text := latest, now
		if i%2 == 0 {
			id, text = older, before
			record["id"], record["wage"] = int32(i), int32(100+i)
		}
		value, err := avro.MustParse(text).AppendEncode(registry.AppendHeader(nil, id), record)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, &kgo.Record{Topic: "in", Value: value})
	}
	records = append(records, &kgo.Record{Topic: "in", Value: []byte("CANARY, no Avro")})
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("YSBmaXhlZCBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRlc3Q="), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(from, sourceFormat, to, sinkFormat, bad, name string) {
		t.Helper()
		text := fmt.Sprintf(`version: 1
name: stand-%[4]s
key: {file: %[2]s}
source: {kafka: {brokers: ["%[1]s"], topics: [%[3]s], group: g-%[4]s, until: latest, format: {%[5]s: {}}, registry: {url: "%[7]s"}}}
columns:
  id: {role: other}
  wage: {role: sensitive, decimals: 2}
  region: {role: other}%[9]s
masks:
  - noise: {columns: [wage], sd: 50}
sink: {kafka: {brokers: ["%[1]s"], topic: %[4]s, commit: {interval: 200ms}, format: {%[6]s: {}}}}
quarantine: {kafka: {topic: %[8]s}}
assess: {replicates: 20, targets: [max]}
`, address, key, from, to, sourceFormat, sinkFormat, r.URL, bad, name)
		p, err := config.Parse("stand.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		result, err := Pipeline(ctx, p, pipeline.Options{Version: "test", Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Report.Records; got.Released != n {
			t.Errorf("%s to %s: %+v", from, to, got)
		}
	}
	const withheld = "\n  name: {role: identifier}"
	run("in", "avro", "out", "avro", "bad", withheld)
	run("in", "avro", "text", "json", "bad2", withheld)
	run("text", "json", "back", "avro", "bad3", "")

	consumer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics("out", "back", "text", "bad", "bad2"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	client := r.Client(t)
	wages := map[string]map[int64]float64{"out": {}, "back": {}}
	for seen := 0; seen < 3*n+2; {
		fetches := consumer.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d messages: %v", seen, err)
		}
		for _, m := range fetches.Records() {
			seen++
			if bytes.Contains(m.Value, []byte("CANARY")) {
				t.Fatalf("%s: what is withheld was released", m.Topic)
			}
			of := wages[m.Topic]
			if of == nil {
				continue
			}
			id, rest, _ := registry.Header(m.Value)
			s, err := client.ByID(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			var person map[string]any
			if left, err := avro.MustParse(s.Text).Decode(rest, &person); err != nil || len(left) > 0 {
				t.Fatalf("%s: %v, %d bytes left, schema %s", m.Topic, err, len(left), s.Text)
			}
			wage, ok := person["wage"].(float64)
			if !ok {
				t.Fatalf("%s: wage is %T, schema %s", m.Topic, person["wage"], s.Text)
			}
			number, err := numberOf(person["id"])
			if err != nil {
				t.Fatalf("%s: %v, schema %s", m.Topic, err, s.Text)
			}
			of[number] = wage
		}
	}
	for topic, of := range wages {
		if len(of) != n {
			t.Errorf("%s: %d persons, want %d", topic, len(of), n)
		}
	}
}

func numberOf(v any) (n int64, err error) {
	_, err = fmt.Sscan(fmt.Sprint(v), &n)
	return n, err
}
