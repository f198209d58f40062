package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// batches returns inputs of several kinds: short, long, compressible and incompressible.
func batches() [][]byte {
	r := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	var records strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&records, `{"id":"r-%08d","wage":%.2f,"region":"region-%d"}`, i, r.Float64()*3000, r.IntN(9))
	}
	return [][]byte{{}, {1}, []byte("twelve bytes"), noise, make([]byte, 1_000_012), []byte(records.String())}
}

// For every codec, the client's own decompressor reads what this package compresses, and the
// reverse.
func TestBatchesAreThoseOfTheClient(t *testing.T) {
	own, theirs := newDecompressor(), kgo.DefaultDecompressor()
	for i, batch := range batches() {
		var buf bytes.Buffer
		for range 2 { // the client reuses its buffers
			buf.Reset()
			frame, codec := compressor{}.Compress(&buf, batch)
			for name, d := range map[string]kgo.Decompressor{"own": own, "the client's": theirs} {
				if got, err := d.Decompress(frame, codec); err != nil || !bytes.Equal(got, batch) {
					t.Errorf("batch %d, %s: %d bytes of %d, %v", i, name, len(got), len(batch), err)
				}
			}
		}
		for _, word := range compressions {
			c, err := kgo.DefaultCompressor(codecOf(word))
			if err != nil {
				t.Fatal(err)
			}
			frame, codec := batch, kgo.CodecNone
			if c != nil {
				frame, codec = c.Compress(new(bytes.Buffer), batch)
			}
			if len(frame) == 0 && codec == kgo.CodecLz4 {
				continue // the client makes no frame of empty input, and never sends one
			}
			if got, err := own.Decompress(frame, codec); err != nil || !bytes.Equal(got, batch) {
				t.Errorf("batch %d, %s: %d bytes of %d, %v", i, word, len(got), len(batch), err)
			}
		}
	}
}

// A damaged batch is an error. Data decompressed earlier keeps its content when memory is reused.
func TestDecompressedBatchesAreKept(t *testing.T) {
	d, all := newDecompressor(), batches()
	var frames, kept [][]byte
	for _, batch := range all {
		frame, _ := compressor{}.Compress(new(bytes.Buffer), batch)
		frames = append(frames, frame)
	}
	for _, frame := range frames {
		got, err := d.Decompress(frame, kgo.CodecLz4)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, got)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for k := range 40 {
				frame := frames[k%len(frames)]
				if _, err := d.Decompress(frame, kgo.CodecLz4); err != nil {
					t.Error(err)
				}
				if _, err := d.Decompress(frame[:len(frame)-3], kgo.CodecLz4); err == nil {
					t.Error("a frame that is cut short is no error")
				}
			}
		})
	}
	wait.Wait()
	for i, batch := range all {
		if !bytes.Equal(kept[i], batch) {
			t.Errorf("batch %d has changed", i)
		}
	}
	d.most = 1 << 20
	long, _ := compressor{}.Compress(new(bytes.Buffer), make([]byte, d.most+1))
	if _, err := d.Decompress(long, kgo.CodecLz4); !errors.Is(err, kgo.ErrMaxDecompress) {
		t.Errorf("a batch beyond the limit: %v", err)
	}
}

// A released message contains nothing of the original message except what the policy copies,
// whatever fields a message has.
func TestPolicyLeavesNothingOfAMessage(t *testing.T) {
	p, err := newPolicy(&SinkConfig{Key: drop, Headers: drop, Timestamp: drop}, &microdata.Layout{}, nil, keystream.Key{})
	if err != nil {
		t.Fatal(err)
	}
	m := kgo.Record{
		Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h"}}, Timestamp: time.Unix(1, 2), Topic: "t",
		Partition:     3,
		ProducerEpoch: 4, ProducerID: 5, LeaderEpoch: 6, Offset: 7, Context: t.Context(),
	}
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Attrs" {
			t.Errorf("%s is a field that this test does not know", name)
		}
	}
	p.apply(&m, &m, &microdata.Block{}, 0)
	if want := (kgo.Record{Value: []byte("v"), Topic: "t", Partition: 3}); !reflect.DeepEqual(m, want) {
		t.Errorf("%+v stays", m)
	}
}
