package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A pass accepts records of its current partition from the next offset up to the end. Records of
// other partitions and markers only advance its position.
func TestRecordsThatAreTaken(t *testing.T) {
	t.Parallel()
	marker := kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Control: true})
	for _, c := range []struct {
		what  string
		m     kgo.Record
		next  int64
		taken bool
	}{
		{"the next one", kgo.Record{Topic: "in", Partition: 1, Offset: 5}, 6, true},
		{"one after a gap", kgo.Record{Topic: "in", Partition: 1, Offset: 8}, 9, true},
		{"the last one", kgo.Record{Topic: "in", Partition: 1, Offset: 9}, 10, true},
		{"one beyond the end", kgo.Record{Topic: "in", Partition: 1, Offset: 10}, 11, false},
		{"a marker", kgo.Record{Topic: "in", Partition: 1, Offset: 7, Attrs: marker}, 8, false},
		{"one that was taken before", kgo.Record{Topic: "in", Partition: 1, Offset: 4}, 5, false},
		{"one of another partition", kgo.Record{Topic: "in", Partition: 0, Offset: 7}, 5, false},
		{"one of another topic", kgo.Record{Topic: "too", Partition: 1, Offset: 7}, 5, false},
		{"one of another topic and partition", kgo.Record{Topic: "too", Offset: 7}, 5, false},
	} {
		r := &reader{next: 5}
		r.accept(&span{in1, 2, 10}, &c.m)
		if r.next != c.next || len(r.pending) == 1 != c.taken || c.taken && r.pending[0] != &c.m {
			t.Errorf("%s: next is %d, taken %v; want %d, %v", c.what, r.next, len(r.pending) == 1, c.next, c.taken)
		}
	}
}

// An error that ends a pass is explained in words, wherever it stands among temporary errors. The
// temporary errors are logged, except the timeout of a poll.
func TestErrorsOfAPoll(t *testing.T) {
	t.Parallel()
	within := func(err error) error { return fmt.Errorf("within: %w", err) }
	passing := within(kerr.NotLeaderForPartition)
	for _, c := range []struct {
		errs []error
		want error // nil: the pass continues
		log  int   // number of lines
	}{
		{nil, nil, 0},
		{[]error{within(context.DeadlineExceeded), context.DeadlineExceeded, within(context.Canceled), context.Canceled}, nil,
			0},
		{[]error{passing, context.Canceled, passing}, nil, 2},
		{[]error{passing, within(kerr.TopicAuthorizationFailed)}, kerr.TopicAuthorizationFailed, 1},
		{[]error{context.DeadlineExceeded, within(kgo.ErrClientClosed)}, kgo.ErrClientClosed, 0},
		{[]error{kerr.OffsetOutOfRange, passing}, kerr.OffsetOutOfRange, 0},
	} {
		var errs []kgo.FetchError
		for _, err := range c.errs {
			errs = append(errs, kgo.FetchError{Topic: "in", Err: err})
		}
		var log bytes.Buffer
		err := unreadable(zerolog.New(&log), "reading in", errs)
		if !errors.Is(err, c.want) || err != nil && (c.want == nil || !strings.HasPrefix(err.Error(), "reading in: ")) {
			t.Errorf("%v: %v, want %v", c.errs, err, c.want)
		}
		const line = `{"level":"warn","error":"within: NOT_LEADER_FOR_PARTITION: This server is not the leader for that topic-partition.","message":"reading in is interrupted; it is tried again"}` + "\n"
		if log.String() != strings.Repeat(line, c.log) {
			t.Errorf("%v: logged is\n%s", c.errs, &log)
		}
	}
}

// A block ends at 4096 records or at 1 MiB, whichever comes first, and at the end of a partition. A
// block with an exact number of records ignores the size in bytes.
func TestBlocksOfASource(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "many"), kfake.SeedTopics(1, "long"))
	cl := newClient(t, c)
	fill(t, cl, "many", 0, 0, 4096+500)
	fill(t, cl, "many", 1, 0, 3)
	var long []*kgo.Record
	for range 13 {
		// 256 KiB each
		long = append(long,
			&kgo.Record{Topic: "long", Value: []byte(`{"wage":1,"region":"` + strings.Repeat("x", 1<<18-22) + `"}`)})
	}
	if err := cl.ProduceSync(t.Context(), long...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		topic string
		cut   connectors.Cut
		want  []int
	}{
		{"many", connectors.Cut{}, []int{4096, 500, 3}},
		{"many", connectors.Cut{Records: 4500}, []int{4500, 96, 3}},
		{"long", connectors.Cut{}, []int{4, 4, 4, 1}},
		{"long", connectors.Cut{Records: 3}, []int{3, 3, 3, 3, 1}},
		{"long", connectors.Cut{Records: 7}, []int{4, 4, 4, 1}},
		{"long", connectors.Cut{Records: 7, Exact: true}, []int{7, 6}},
	} {
		if _, sizes := readAll(t, open(t, sourceOf(c, test.topic)), test.cut); !slices.Equal(sizes, test.want) {
			t.Errorf("%s, %+v: blocks of %v, want %v", test.topic, test.cut, sizes, test.want)
		}
	}
}

// Reading from a closed pass is an error, and a pass that has reached its end stays there.
func TestPassIsOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	fill(t, newClient(t, c), "in", 0, 0, 3)
	s := open(t, sourceOf(c, "in"))
	for _, whole := range []bool{false, true} {
		r, err := s.Read(limited(t), layoutOf(s.Schema()), connectors.Cut{})
		if err != nil {
			t.Fatal(err)
		}
		if whole {
			for err == nil {
				_, err = r.Next(limited(t))
			}
			if err != io.EOF {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		want := kgo.ErrClientClosed
		if whole {
			want = io.EOF
		}
		if raw, err := r.Next(limited(t)); raw != nil || !errors.Is(err, want) {
			t.Errorf("read to its end %v: %v, %v", whole, raw, err)
		}
	}
}

// recordingDecoder is a reader of a format that records whether a decoder was asked to carry columns.
type recordingDecoder struct {
	message.Reader
	carry []bool
}

func (a *recordingDecoder) Decoder(layout *microdata.Layout, carry bool) (message.Decoder, error) {
	a.carry = append(a.carry, carry)
	return a.Reader.Decoder(layout, carry)
}

// Columns are carried if at least one is released without decoding, or if the sink takes messages
// unchanged. Otherwise the decoder does not carry them, which saves time.
func TestColumnsAreCarriedWhereNeeded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	s := open(t, sourceOf(c, "in"))
	decoder := &recordingDecoder{Reader: s.reader}
	s.reader = decoder
	for i, change := range []func(*microdata.Layout){
		func(*microdata.Layout) {},
		func(l *microdata.Layout) { l.Release[0].Column = -1 },
		func(l *microdata.Layout) { l.Release[1].Column = -1 },
		func(l *microdata.Layout) { l.Release = nil },
		func(l *microdata.Layout) { s.carried.Store(true) },
	} {
		layout := layoutOf(s.Schema())
		change(layout)
		r, err := s.Read(limited(t), layout, connectors.Cut{})
		if err != nil {
			t.Fatal(i, err)
		}
		r.Close()
	}
	if want := []bool{false, true, true, false, true}; !slices.Equal(decoder.carry, want) {
		t.Errorf("carried %v, want %v", decoder.carry, want)
	}
}

// The client of a pass reads committed records, keeps markers, reports gaps and fetches batches as
// large as a stream does. The client of a look has the same settings.
func TestSettingsOfAPass(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in"))
	s := open(t, sourceOf(c, "in"))
	r, err := s.Read(limited(t), layoutOf(s.Schema()), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, want := range []struct{ option, value any }{
		{kgo.FetchIsolationLevel, int8(1)}, {kgo.KeepControlRecords, true}, {kgo.FetchMaxPartitionBytes, int32(4 << 20)},
		{kgo.FetchMaxWait, 250 * time.Millisecond},
		{kgo.ConsumeResetOffset, kgo.NoResetOffset()}, {kgo.ClientID, "sdlfilter"}, {kgo.RequestRetries, int64(1<<31 - 1)},
		{kgo.DisableClientMetrics, true},
	} {
		if got := r.(*reader).client.OptValue(want.option); fmt.Sprint(got) != fmt.Sprint(want.value) {
			t.Errorf("%v, want %v", got, want.value)
		}
	}
	for number, want := range map[int]string{streamNumber("in", 1): "in/1", streamNumber("in", 7): "partition 7",
		streamNumber("x", 65535): "partition 65535", 0: "partition 0"} {
		if got := s.streamName(number); got != want {
			t.Errorf("%d is called %s, want %s", number, got, want)
		}
	}
}
