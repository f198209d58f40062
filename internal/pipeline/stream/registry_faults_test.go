package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// coded is a topic of messages with schemas: their values in order, and which of them cannot be masked.
type coded struct {
	*stand
	registry *registrytest.Registry
	format   string
	values   [][]byte
	bad      map[int]string // why, by index
}

// damages are the messages that cannot be masked, made of a whole one: head is the length of what comes before the
// record.
var damages = []struct {
	what string
	of   func(whole []byte, head int) []byte
}{
	{"cut off", func(w []byte, _ int) []byte { return w[:len(w)-2] }},
	{"its head alone", func(w []byte, head int) []byte { return w[:head] }},
	{"its magic byte alone", func(w []byte, _ int) []byte { return w[:1] }},
	{"empty", func([]byte, int) []byte { return []byte{} }},
	{"another magic byte", func(w []byte, _ int) []byte { return append([]byte{1}, w[1:]...) }},
	{"an unknown schema", func(w []byte, _ int) []byte { return append([]byte{0, 0, 0, 39, 8}, w[5:]...) }},
	{"a schema number of more than 31 bits", func(w []byte, _ int) []byte {
		return append([]byte{0, 0xff, 0xff, 0xff, 0xfe}, w[5:]...)
	}},
	{"JSON", func([]byte, int) []byte { return []byte(`{"name":"Canary","wage":73184000.25}`) }},
	{"bits that are set after its head", func(w []byte, head int) []byte {
		return append(bytes.Clone(w[:head]), bytes.Repeat([]byte{0xff}, len(w)-head)...)
	}},
}

// codedPersons has n persons, of whom the later ones are written with a schema that has one more field, and then with
// one in which the wage is a text, beside those that cannot be masked.
func newCoded(t *testing.T, format string, n int) *coded {
	c := &coded{stand: newStand(t), registry: registrytest.New(t), format: format, bad: map[int]string{}}
	encode := c.avro(t)
	if format == "protobuf" {
		encode = c.protobuf(t)
	}
	for i := range n {
		form := i * 3 / n // before, with one more field, and either of this and one of which the wage is a text
		if form == 2 && i%5 > 0 {
			form = 1
		}
		value, head := encode(i, form)
		if form == 2 {
			c.bad[len(c.values)] = "the wage is a text"
		}
		c.values = append(c.values, value)
		if d := i / 7; i%7 == 3 {
			// in Protobuf the record of defaults
			if what := damages[d%len(damages)].what; format == "avro" || form == 2 || what != "its head alone" {
				c.bad[len(c.values)] = what
			}
			c.values = append(c.values, damages[d%len(damages)].of(bytes.Clone(value), head))
		}
	}
	var records []*kgo.Record
	for i, v := range c.values {
		records = append(records, &kgo.Record{Topic: "in", Partition: int32(i % partitions), Value: v})
	}
	c.produce(records...)
	return c
}

func (c *coded) avro(t *testing.T) func(i, form int) ([]byte, int) {
	texts := []string{
		`{"type":"record","name":"Person","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"},{"name":"wage","type":"double"},{"name":"region","type":"string"}]}`}
	texts = append(texts,
		strings.NewReplacer(`{"name":"wage"`, `{"name":"more","type":"int"},{"name":"wage"`, `"region","type":"string"`,
			`"region","type":["null","string"]`).Replace(texts[0]))
	texts = append(texts, strings.Replace(texts[0], `"wage","type":"double"`, `"wage","type":"string"`, 1))
	var schemas []*avro.Schema
	var ids []uint32
	for i, text := range texts {
		schemas = append(schemas, avro.MustParse(text))
		ids = append(ids, c.registry.Register(t, []string{"in-value", "later-value", "other-value"}[i], registry.Avro, text))
	}
	return func(i, form int) ([]byte, int) {
		head := registry.AppendHeader(nil, ids[form])
		record := map[string]any{"id": int64(i), "name": "Canary", "wage": wage(i), "region": "r", "more": int32(7)}
		if form == 2 {
			record["wage"] = "73184000.25"
		}
		value, err := schemas[form].AppendEncode(bytes.Clone(head), record)
		if err != nil {
			t.Fatal(err)
		}
		return value, len(head)
	}
}

func (c *coded) protobuf(t *testing.T) func(i, form int) ([]byte, int) {
	text := "syntax = \"proto3\";\nmessage Person { int64 id = 1; string name = 2; double wage = 3; string region = 4; }\n"
	var ids []uint32
	for i, text := range []string{text, strings.Replace(text, "}", "int32 more = 5; }", 1),
		strings.Replace(text, "double wage", "string wage", 1)} {
		ids = append(ids,
			c.registry.Register(t, []string{"in-value", "later-value", "other-value"}[i], registry.Protobuf, text))
	}
	return func(i, form int) ([]byte, int) {
		head := registry.AppendIndexes(registry.AppendHeader(nil, ids[form]), []int{0})
		b := protowire.AppendVarint(protowire.AppendTag(bytes.Clone(head), 1, protowire.VarintType), uint64(i+1))
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "Canary")
		if form == 2 {
			b = protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), "73184000.25")
		} else {
			b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), math.Float64bits(wage(i)))
		}
		if form == 1 {
			b = protowire.AppendVarint(protowire.AppendTag(b, 5, protowire.VarintType), 7)
		}
		return protowire.AppendString(protowire.AppendTag(b, 4, protowire.BytesType), "r"), len(head)
	}
}

// of is one run of a group into a topic; said is what it has logged.
func (c *coded) of(group, to, quarantine string) (result *account.Result, said string, err error) {
	var log streamLog
	text := strings.NewReplacer("group: g,", `group: `+group+`, format: {`+c.format+`: {}}, registry: {url: "`+
		c.registry.URL+`", patience: 1s},`, "topic: out", "topic: "+to, "topic: bad", "topic: "+quarantine,
		"interval: 200ms", "interval: 100ms, records: 20", "masks:", "unlisted: drop\nmasks:").Replace(
		fmt.Sprintf(standConfig, c.address, c.key))
	p := c.parse(text)
	ctx, cancel := context.WithTimeout(context.Background(), 3*eventually.Patience)
	defer cancel()
	result, err = stream.Run(ctx, p, pipeline.Options{Version: "test", Log: zerolog.New(&log)})
	if ctx.Err() != nil {
		c.t.Fatalf("the stream does not end: %s", log.all())
	}
	return result, log.all(), err
}

// clean fails if a text holds a value of a record.
func (c *coded) clean(what, text string) {
	c.t.Helper()
	for _, value := range []string{"Canary", "73184000", "Q2FuYXJ5"} {
		if strings.Contains(text, value) {
			c.t.Errorf("%s holds a value: %s", what, text)
		}
	}
}

// holds checks that a topic has each good message once, in order, and the quarantine each of the others, and
// returns the payloads by partition.
func (c *coded) holds(to, quarantine string) (payloads [partitions][]string) {
	c.t.Helper()
	for _, r := range c.stand.values(to, len(c.values)-len(c.bad)) {
		c.clean("a released message", string(r.Value))
		payloads[r.Partition] = append(payloads[r.Partition], string(r.Value[5:]))
	}
	want, entries := map[string]bool{}, map[string]int{}
	for i := range c.bad {
		want[fmt.Sprintf("%d/%d", i%partitions, i/partitions)] = true
	}
	for _, r := range c.stand.values(quarantine, len(c.bad)) {
		c.clean("the quarantine", string(r.Value))
		var e struct {
			Partition int32
			Offset    int64
		}
		if err := json.Unmarshal(r.Value, &e); err != nil {
			c.t.Fatal(err)
		}
		place := fmt.Sprintf("%d/%d", e.Partition, e.Offset)
		if entries[place]++; !want[place] || entries[place] > 1 {
			c.t.Errorf("%s: %d entries for %s, which should have one: %v", quarantine, entries[place], place, want[place])
		}
	}
	if n := len(payloads[0]) + len(payloads[1]); n != len(c.values)-len(c.bad) || len(entries) != len(c.bad) {
		c.t.Errorf("%s: %d messages are released and %d in quarantine, want %d and %d", to, n, len(entries),
			len(c.values)-len(c.bad), len(c.bad))
	}
	return payloads
}

// A registry that is slow, fails, is cut off, answers what is not its answer, or refuses the released schema, while
// schemas change and messages are damaged: each whole message is released once, with the value of a run without faults,
// and each other one is in quarantine once; nothing that is said holds a value, and runs that end before have an error
// that names the registry.
func TestRegistryFaults(t *testing.T) {
	for _, format := range []string{"avro", "protobuf"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			n := 400
			if testing.Short() {
				n = 120
			}
			c := newCoded(t, format, n)
			result, said, err := c.of("calm", "again", "held")
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			c.clean("the log", said)
			if r := result.Report.Records; int(r.Read) != len(c.values) || int(r.Quarantined) != len(c.bad) {
				t.Errorf("of %d and %d messages: %+v", len(c.values), len(c.bad), r)
			}
			want := c.holds("again", "held")
			var mu sync.Mutex
			draw, disturbed := rand.New(rand.NewPCG(39, 2)), map[string]int{}
			faults := []struct {
				name string
				of   registrytest.Fault
			}{
				{
					"500",
					registrytest.Fault{Status: http.StatusInternalServerError, Body: `{"error_code":50001,"message":"Canary"}`}},
				{"503", registrytest.Fault{Status: http.StatusServiceUnavailable, Body: "<html>Canary</html>"}},
				{"429", registrytest.Fault{Status: http.StatusTooManyRequests}},
				{"cut", registrytest.Fault{Cut: -1}},
				{"cut in the answer", registrytest.Fault{Cut: 20}},
				{"slow", registrytest.Fault{Delay: 400 * time.Millisecond}},
				{"slow, then 500", registrytest.Fault{Delay: 1200 * time.Millisecond, Status: http.StatusInternalServerError}},
				{"a page with status 200", registrytest.Fault{Status: http.StatusOK, Body: "<html>Canary</html>"}},
				{"other JSON with status 200", registrytest.Fault{Status: http.StatusOK, Body: `{"name":"Canary"}`}},
			}
			c.registry.Disturb(func(*http.Request) *registrytest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if draw.IntN(10) < 3 {
					return nil
				}
				f := faults[draw.IntN(len(faults))]
				disturbed[f.name]++
				return &f.of
			})
			runs, failed := 0, map[string]int{}
			for err = errors.New("not yet"); err != nil; {
				if runs++; runs > 60 {
					t.Fatalf("the stream does not reach its end: %v", err)
				}
				_, said, err = c.of("disturbed", "out", "bad")
				c.clean("the log", said)
				if err != nil {
					c.clean("the error", err.Error())
					var e *registry.Error
					if !errors.As(err, &e) || e.Kind != registry.Unreadable && e.Kind != registry.Unavailable {
						t.Errorf("run %d: %v", runs, err)
						continue
					}
					failed[fmt.Sprint(e.Kind)]++
				}
			}
			c.registry.Disturb(nil)
			if got := c.holds("out", "bad"); !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
				t.Error("other values are released than without faults")
			}
			t.Logf("%d runs, of which failed %v; %d messages, %d of them damaged; disturbed were %v", runs, failed,
				len(c.values), len(c.bad), disturbed)
			if len(disturbed) < 3 {
				t.Errorf("only %v was tried", disturbed)
			}
		})
	}
}

// If the registry refuses the released schema of records in the middle of a stream, the stream ends and says why; what
// was committed stays, and once the registry takes the schema, a further run releases the rest.
func TestReleasedSchemaIsRefused(t *testing.T) {
	for _, format := range []string{"avro", "protobuf"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			c := newCoded(t, format, 200)
			if _, said, err := c.of("calm", "again", "held"); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			want := c.holds("again", "held")
			c.registry.Disturb(func(r *http.Request) *registrytest.Fault {
				if _, first := c.registry.Text("out-value", 1); first && r.Method == http.MethodPost {
					return &registrytest.Fault{Status: http.StatusConflict, Body: `{"error_code":409,"message":"not compatible"}`}
				}
				return nil
			})
			_, said, err := c.of("refused", "out", "bad")
			c.clean("the log", said)
			var e *registry.Error
			if !errors.As(err, &e) || e.Kind != registry.Incompatible || !strings.Contains(err.Error(), "out-value") {
				t.Errorf("a schema that is refused: %v", err)
			}
			c.registry.Disturb(nil)
			if _, said, err := c.of("refused", "out", "bad"); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			if got := c.holds("out", "bad"); !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
				t.Error("other values are released than without faults")
			}
		})
	}
}

// If the registry is made anew while a stream reads, and a number means another schema, in which the columns have
// changed places, then nothing of that transaction is released or held back, and the stream ends and says why.
func TestRegistryThatIsMadeAnew(t *testing.T) {
	for _, format := range []string{"avro", "protobuf"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			c := newCoded(t, format, 40)
			var mu sync.Mutex
			seen := map[string]bool{}
			c.registry.Disturb(func(r *http.Request) *registrytest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if again := seen[r.URL.Path]; strings.HasPrefix(r.URL.Path, "/schemas/ids/") && again {
					c.registry.Remake()
					for i := range 8 {
						c.registry.Register(t, fmt.Sprint("another-", i), registry.Avro,
							fmt.Sprintf(
								`{"type":"record","name":"R%d","fields":[{"name":"name","type":"string"},{"name":"wage","type":"double"}]}`, i))
					}
				}
				seen[r.URL.Path] = true
				return nil
			})
			_, said, err := c.of("anew", "out", "bad")
			var e *registry.Error
			if !errors.As(err, &e) || e.Kind != registry.Remade ||
				!strings.HasPrefix(err.Error(), "source: schema registry: read schema ") {
				t.Fatalf("the stream ends with %v", err)
			}
			c.clean("the log", said)
			if got := c.stand.values("out", 0); len(got) > 0 {
				t.Errorf("%d messages are released", len(got))
			}
		})
	}
}
