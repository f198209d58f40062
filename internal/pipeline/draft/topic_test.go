package draft

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	twmb "github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/message/avro"
	"github.com/sdlfilter/sdlfilter/internal/message/json"
	"github.com/sdlfilter/sdlfilter/internal/message/protobuf"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
)

// topicOf fills a topic of two partitions with messages.
func topicOf(t *testing.T, messages ...string) *kafka.SourceConfig {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "survey"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i, m := range messages {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "survey", Partition: int32(i % 2), Value: []byte(m)}).
			FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c := &kafka.SourceConfig{Topics: []string{"survey"}, Start: "earliest", Until: "latest"}
	c.Brokers = cluster.ListenAddrs()
	c.Format.JSON = new(json.Config)
	return c
}

// The draft for a topic is a valid configuration with its members as columns and none of its
// values.
func TestTopicBecomesAConfiguration(t *testing.T) {
	var messages []string
	for i := range 300 {
		messages = append(messages,
			fmt.Sprintf(
				`{"person_id":"SECRETID%d","wage":%d.25,"note":null,"home":{"region":"SECRET%d","rooms":%d},"by_name":{"SECRETNAME%d":1},"mixed":%s,"tags":["SECRET"]}`,
				i, 1000+i, i%4, i%7, i, []string{"1", `"SECRET"`}[i%2]))
	}
	messages = append(messages, "no JSON", `[1]`, `{"SECRETMEMBER":1}`)
	d, err := OfTopic(context.Background(), topicOf(t, messages...))
	if err != nil {
		t.Fatal(err)
	}
	text := d.Write()
	p, err := config.Parse("survey.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := strings.Join(p.Columns.Names(), " "); got !=
		"person_id wage note home.region home.rooms by_name mixed tags" {
		t.Errorf("the columns are %s\n%s", got, text)
	}
	if !strings.Contains(text, "have one of 1 further members") {
		t.Errorf("the members that are left out are not mentioned in\n%s", text)
	}
	if strings.Contains(text, "SECRET") {
		t.Errorf("the configuration contains a value:\n%s", text)
	}
	if wage := p.Columns.Named("wage"); wage.Decimals == nil || *wage.Decimals != 2 {
		t.Errorf("the decimals of wage are not declared, as a stream needs, in\n%s", text)
	}
	if !p.Streaming() || !strings.Contains(text, "topic: survey-masked") {
		t.Errorf("the configuration is not a stream to survey-masked:\n%s", text)
	}
	// With a mask in place of the comment it is a pipeline.
	masked := strings.Replace(text, "# masks:\n", "masks:\n  - noise: {columns: [wage], sd: 5}\n", 1)
	if _, err := config.Parse("survey.yaml",
		[]byte(strings.Replace(masked, "decimals: 2, unmasked: true", "decimals: 2", 1)),
		config.Options{Environ: func() []string { return nil }}); err != nil {
		t.Errorf("%v\n%s", err, masked)
	}
}

func TestTopicsThatSayNothing(t *testing.T) {
	for want, messages := range map[string][]string{
		"the topic holds no message to look at":               nil,
		"no message that was looked at is a JSON object; say": {"SECRET", "[1]", "3"},
	} {
		_, err := OfTopic(context.Background(), topicOf(t, messages...))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("want the error %s, got %v", want, err)
		}
	}
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprintf(`{"SECRET%d":1}`, i))
	}
	if _, err := OfTopic(context.Background(), topicOf(t, many...)); err == nil ||
		strings.Contains(err.Error(), "SECRET") {
		t.Errorf("with data as names of members, the error is %v", err)
	}
	c := topicOf(t)
	c.Topics = []string{"nowhere"}
	ctx := kafka.WithPatience(context.Background(), 5*time.Second)
	if _, err := OfTopic(ctx, c); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("missing topic: error %v", err)
	}
}

// Messages with a schema have the columns of the registry's schema.
func TestTopicsWithASchema(t *testing.T) {
	const avroSchema = `{"type":"record","name":"Person","fields":[{"name":"person_id","type":"string"},{"name":"wage","type":"double"},{"name":"sex","type":"int"}]}`
	const protoSchema = "syntax = \"proto3\";\nmessage Person { string person_id = 1; double wage = 2; int32 sex = 3; }\n"
	registered := registrytest.New(t)
	for name, c := range map[string]struct {
		kind    string
		schema  string
		message func(id uint32, i int) []byte
		format  func(*kafka.SourceConfig)
	}{
		"avro": {registry.Avro, avroSchema, func(id uint32, i int) []byte {
			value,
				err := twmb.MustParse(avroSchema).AppendEncode(registry.AppendHeader(nil, id),
				map[string]any{"person_id": fmt.Sprintf("SECRET%d", i), "wage": float64(i) + 0.5, "sex": int32(i % 2)})
			if err != nil {
				t.Fatal(err)
			}
			return value
		}, func(c *kafka.SourceConfig) { c.Format = kafka.Format{Avro: new(avro.Config)} }},
		"protobuf": {registry.Protobuf, protoSchema, func(id uint32, i int) []byte {
			m := append(registry.AppendHeader(nil, id), 0) // the first message type
			m = protowire.AppendString(protowire.AppendTag(m, 1, protowire.BytesType), fmt.Sprintf("SECRET%d", i))
			m = protowire.AppendFixed64(protowire.AppendTag(m, 2, protowire.Fixed64Type), math.Float64bits(float64(i)+0.5))
			return protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), uint64(i%2))
		}, func(c *kafka.SourceConfig) { c.Format = kafka.Format{Protobuf: new(protobuf.Config)} }},
	} {
		id := registered.Register(t, "survey-value", c.kind, c.schema)
		var messages []string
		for i := range 100 {
			messages = append(messages, string(c.message(id, i)))
		}
		source := topicOf(t, messages...)
		c.format(source)
		source.Registry = &registry.Config{URL: registered.URL, Patience: connectors.Duration(5 * time.Second)}
		d, err := OfTopic(context.Background(), source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := d.Write()
		p, err := config.Parse("survey.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		if got := strings.Join(p.Columns.Names(), " "); got != "person_id wage sex" || strings.Contains(text, "SECRET") ||
			!strings.Contains(text, "format: {"+name+": {}}, registry:") || !strings.Contains(text, "all 100 records") {
			t.Errorf("%s: columns %s\n%s", name, got, text)
		}
	}
}
