package kafka

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// choosy is a broker that refuses batches with certain messages, and batches that are too long, and a client
// that makes batches of at most `batch` messages.
type choosy struct {
	bad         map[int64]bool
	batch, most int
	open        int // batches that are sent after one was refused
}

// try sends the messages 0 … n-1 of a partition, in blocks of 70, and reports whether all were taken.
func (c choosy) try(f *refusals, n int) bool {
	r, messages := &raw{scope: "in"}, []*kgo.Record(nil)
	for i := range n {
		messages, r.offsets = append(messages, &kgo.Record{Topic: "out", Partition: 3, Context: &origin{raw: r}}),
			append(r.offsets, int64(i))
	}
	r.messages = messages
	taken, left := true, c.open
	var batch []int
	send := func() {
		refused := len(batch) > c.most || slices.ContainsFunc(batch, func(i int) bool { return c.bad[int64(i)] })
		if refused && left >= 0 {
			for _, i := range batch {
				f.hear(messages[i], kerr.InvalidTimestamp)
			}
			taken, left = false, left-1
		}
		batch = batch[:0]
	}
	p := Partition{Topic: "in", Number: 3}
	for i := range n {
		if i%70 == 0 && f.ends(p) {
			send()
		}
		if f.leftOut(p, int64(i)) != "" {
			continue
		}
		if f.cuts(p, int64(i)) || len(batch) == c.batch {
			send()
		}
		batch = append(batch, i)
	}
	send()
	return taken
}

// Brokers refuse batches. The messages that are the cause are found in a few tries, whichever they are, and
// no other is left out.
func TestRefusedMessagesAreFound(t *testing.T) {
	const n = 1000
	for name, c := range map[string]choosy{
		"none":                       {nil, 300, n, 0},
		"the first":                  {map[int64]bool{0: true}, 300, n, 0},
		"the last":                   {map[int64]bool{n - 1: true}, 300, n, 5},
		"two beside each other":      {map[int64]bool{511: true, 512: true}, n, n, 0},
		"first and last of a block":  {map[int64]bool{70: true, 139: true}, n, n, 2},
		"at the ends of a batch":     {map[int64]bool{299: true, 300: true}, 300, n, 5},
		"of a batch of one":          {map[int64]bool{4: true}, 1, n, 5},
		"long batches are too large": {map[int64]bool{500: true}, 300, 20, 0},
	} {
		f, tries := new(refusals).anew(), 0
		for ; !c.try(f, n); tries++ {
			if _, err := f.learn(); err != nil {
				t.Fatalf("%s: after %d tries: %v", name, tries, err)
			}
			f = f.anew() // what is known outlives the client
		}
		p := Partition{Topic: "in", Number: 3}
		if got := f.out[p]; !maps.EqualFunc(got, c.bad, func(reason string, _ bool) bool { return reason == badTime }) {
			t.Errorf("%s: %v are left out, want %v", name, got, c.bad)
		}
		// A batch of 300 is found by groups of 18 and of 1.
		if most := 4*len(c.bad) + n/c.most*4; c.most == n && tries > most || tries > 60 {
			t.Errorf("%s: %d tries", name, tries)
		}
		f.committed(map[Partition]int64{p: n})
		if len(f.out)+len(f.narrow)+len(f.last)+f.tries != 0 {
			t.Errorf("%s: after the commit it is still known", name)
		}
	}
}

// What is left out of a transaction that was not reached by a commit is still known after it.
func TestRefusedMessagesBehindACommit(t *testing.T) {
	f, p := new(refusals).anew(), Partition{Topic: "in"}
	f.out[p] = map[int64]string{4: "r", 5: "r"}
	if f.committed(map[Partition]int64{p: 5}); f.leftOut(p, 4) != "" || f.leftOut(p, 5) != "r" {
		t.Errorf("%v", f.out)
	}
}

// A range has both its ends, and of two ranges that an offset is in, the one with the smaller groups counts.
func TestRangesOfRefusedMessages(t *testing.T) {
	f, p := new(refusals).anew(), Partition{Topic: "in"}
	f.narrow[p] = []*narrowing{{from: 10, to: 19, group: 8}, {from: 12, to: 13, group: 2}, {from: 11, to: 14, group: 4}}
	for offset, want := range map[int64]int{9: 0, 10: 8, 11: 4, 12: 2, 13: 2, 14: 4, 15: 8, 19: 8, 20: 0} {
		if n := f.rangeOf(p, offset); (n != nil) != (want > 0) || n != nil && n.group != want {
			t.Errorf("offset %d is in %+v, want groups of %d", offset, n, want)
		}
	}
}

// Two topics of the source may go to one topic: messages of both that were refused together are neither alone.
// Other errors, and messages that are not of the release, are not heard.
func TestRefusedTogether(t *testing.T) {
	f := new(refusals).anew()
	of := func(topic string, offset int64, tombstone bool) *kgo.Record {
		r := &raw{scope: topic}
		m := &kgo.Record{Topic: "out", Context: &origin{raw: r}}
		if tombstone {
			r.tombstones, r.buried = []*kgo.Record{m}, []int64{offset}
		} else {
			r.messages, r.offsets = []*kgo.Record{m}, []int64{offset}
		}
		return m
	}
	if f.hear(of("a", 1, false), kerr.TopicAuthorizationFailed) ||
		f.hear(&kgo.Record{Topic: "out"}, kerr.InvalidTimestamp) {
		t.Error("heard what is not refused")
	}
	if !f.hear(of("a", 7, false), kerr.RecordListTooLarge) ||
		!f.hear(of("b", 9, false), fmt.Errorf("%w (bytes)", kerr.MessageTooLarge)) {
		t.Error("not heard")
	}
	topics, err := f.learn()
	if err != nil || !slices.Equal(topics, []string{"out"}) || len(f.out) > 0 || len(f.narrow) != 2 {
		t.Errorf("%v %v: left out %v, narrow %v", topics, err, f.out, f.narrow)
	}
	if f.hear(of("b", 9, false), kerr.MessageTooLarge); f.out[Partition{Topic: "b"}] != nil {
		t.Error("left out before the transaction has ended")
	}
	if _, err = f.learn(); err != nil || f.leftOut(Partition{Topic: "b"}, 9) != tooLarge {
		t.Errorf("%v: left out %v", err, f.out)
	}
	// A message without a value is no record and has no place in quarantine.
	f.hear(of("a", 11, true), kerr.InvalidTimestamp)
	if _, err := f.learn(); !Final(err) || !strings.Contains(err.Error(), "offset 11 of a/0") {
		t.Errorf("a tombstone: %v", err)
	}
}

// Refused reports errRefused, however it is wrapped, and such an error is not final.
func TestRefusedIsNotFinal(t *testing.T) {
	err := fmt.Errorf("sink: %w", errors.Join(errRefused))
	if !Refused(err) || Final(err) || Refused(kerr.InvalidTimestamp) || Refused(nil) {
		t.Error("not recognised")
	}
}

// What a topic takes follows from its settings: the size of a batch, and timestamps if they are those of the
// messages. Of two limits of timestamps the nearer one counts; the largest number means that there is none.
func TestLimitsOfTopics(t *testing.T) {
	t.Parallel()
	const none = "9223372036854775807"
	for name, c := range map[string]struct {
		settings [][2]string
		want     topicLimits
	}{
		"size": {[][2]string{{"max.message.bytes", "2000"}}, topicLimits{bytes: 2000}},
		"as by default": {
			[][2]string{{"message.timestamp.type", "CreateTime"}, {"message.timestamp.before.max.ms", none},
				{"message.timestamp.after.max.ms", "3600000"}},
			topicLimits{new: time.Hour}},
		"old brokers": {
			[][2]string{{"message.timestamp.difference.max.ms", "5000"}, {"message.timestamp.type", "CreateTime"}},
			topicLimits{old: 5 * time.Second, new: 5 * time.Second}},
		"the nearer": {
			[][2]string{{"message.timestamp.type", "CreateTime"}, {"message.timestamp.before.max.ms", "1000"},
				{"message.timestamp.difference.max.ms", "5000"}},
			topicLimits{old: time.Second, new: 5 * time.Second}},
		"the broker's clock": {
			[][2]string{{"message.timestamp.type", "LogAppendTime"}, {"message.timestamp.after.max.ms", "1"}}, topicLimits{}},
	} {
		c2 := newCluster(t, kfake.SeedTopics(1, "out"))
		configured(c2, func(string) ([][2]string, error) { return c.settings, nil })
		if got, err := askLimits(limited(t), newClient(t, c2), "out"); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	now := time.UnixMilli(1e12)
	l := topicLimits{bytes: 200, old: time.Minute, new: time.Hour}
	for at, want := range map[time.Time]string{
		now: "", now.Add(-time.Minute): "", now.Add(-time.Minute - 1): badTime, now.Add(time.Hour): "",
		now.Add(time.Hour + 1): badTime,
		time.UnixMilli(-1):     "", {}: "", time.UnixMilli(0): badTime,
	} {
		if got := l.refuses(&kgo.Record{Timestamp: at}, nil, now); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
	m := &kgo.Record{Key: make([]byte, 32)}
	for n, want := range map[int]string{200 - batchOverhead - 32: "", 201 - batchOverhead - 32: tooLarge} {
		if got := l.refuses(m, make([]byte, n), now); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
	if got := (topicLimits{}).refuses(&kgo.Record{Timestamp: time.UnixMilli(0)}, make([]byte, 1<<20), now); got != "" {
		t.Errorf("limits that are not known: %q", got)
	}
}

// All records of a message are rejected, and only they.
func TestAllRecordsOfAMessageAreRejected(t *testing.T) {
	b := new(microdata.Block)
	b.Reset(0, 5, 4, 0)
	b.Places = []int64{5 << message.RowBits, 6 << message.RowBits, 6<<message.RowBits | 1, 7 << message.RowBits}
	reject(b, 6, true, "r")
	if len(b.Rejects) != 2 || !b.Rejected(1) || !b.Rejected(2) {
		t.Errorf("rejected %v", b.Rejects)
	}
	b.Reset(0, 5, 4, 0)
	reject(b, 8, false, "r")
	reject(b, 9, false, "r")
	if len(b.Rejects) != 1 || !b.Rejected(3) {
		t.Errorf("rejected %v", b.Rejects)
	}
}

// A release of files into a topic leaves records that are too large to the quarantine, unless on_refused is
// stop; and its batches are as small as the topic needs them.
func TestReleaseOfFilesLeavesOutWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		c := newCluster(t, kfake.SeedTopics(1, "in", "out"))
		cl := newClient(t, c)
		fill(t, cl, "in", 0, 0, 100)
		big := &kgo.Record{Topic: "in", Value: []byte(`{"wage":1,"region":"` + strings.Repeat("x", 900) + `"}`)}
		if err := cl.ProduceSync(t.Context(), big).FirstErr(); err != nil {
			t.Fatal(err)
		}
		fill(t, cl, "in", 0, 100, 1)
		configured(c, func(string) ([][2]string, error) {
			return [][2]string{{"max.message.bytes", strconv.Itoa(900)}}, nil
		})
		src := open(t, sourceOf(c, "in"))
		config, layout := sinkOf(c, "out"), layoutOf(src.Schema())
		if stop {
			config.OnRefused = Stop
		}
		made, err := config.Create(limited(t), connectors.Plan{Source: src, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = made.Abort() })
		if got := made.(*sink).client.OptValue(kgo.ProducerBatchMaxBytes); fmt.Sprint(got) != "900" {
			t.Errorf("batches of %v bytes", got)
		}
		r, err := src.Read(limited(t), layout, connectors.Cut{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		raw, err := r.Next(limited(t))
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		e, err := made.Encode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(made.Write(limited(t), e), made.Finish(limited(t))); (err != nil) != stop || stop &&
			!strings.Contains(err.Error(), "larger than the topic takes") {
			t.Errorf("stop %v: %v", stop, err)
		}
		if !stop &&
			(len(b.Rejects) != 1 || b.Place(b.Rejects[0].Row) != 100 || b.Rejects[0].Reason != tooLarge || b.Kept() != 101) {
			t.Errorf("rejected %v", b.Rejects)
		}
		if stop && len(b.Rejects) > 0 {
			t.Errorf("stop: rejected %v", b.Rejects)
		}
	}
}

// set returns a moment at which the clock was set forward by d since it was read before: by the monotonic clock it is
// the same.
func set(at time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&at)) += uint64(d/time.Second) << 30 // the seconds of the calendar (see the type)
	return at
}

// The machine's clock is believed once brokers have refused enough messages alone and taken none that it would refuse,
// until it is set or has to prove itself anew.
func TestOwnClock(t *testing.T) {
	now := time.Now()
	if jumped := set(now, time.Hour); jumped.Sub(now) != 0 || jumped.Round(0).Sub(now.Round(0)) != time.Hour ||
		set(now, -time.Hour).Round(0).Sub(now.Round(0)) != -time.Hour {
		t.Fatal("the test does not set the clock")
	}
	proven := func() *ownClock {
		c := &ownClock{}
		for i := range enoughAlone {
			if c.tells(now) {
				t.Errorf("it is believed after %d messages", i)
			}
			c.refused(now)
		}
		return c
	}
	for by, want := range map[time.Duration]bool{0: true, time.Minute: true, -time.Minute: true,
		time.Minute + time.Second: false, -time.Minute - time.Second: false, 72 * time.Hour: false, -5 * time.Hour: false} {
		c := proven()
		later := set(now.Add(10*time.Hour), by)
		for range 2 {
			if c.tells(later) != want {
				t.Errorf("set by %v: it is believed: %v", by, !want)
			}
		}
		if want {
			continue
		}
		for range enoughAlone - 1 {
			c.refused(now)
		}
		if c.tells(now) {
			t.Errorf("set by %v: it needs no new proof", by)
		}
	}
	c := proven()
	for _, most := range []int{enoughAlone, 2 * enoughAlone, 4 * enoughAlone} {
		for i := range most {
			if !c.tells(now) {
				t.Fatalf("it is doubted after %d of %d", i, most)
			}
		}
		for range 2 {
			if c.tells(now) {
				t.Errorf("after %d it needs no new proof", most)
			}
		}
		c.refused(now)
	}
	c = &ownClock{}
	c.taken.Store(true)
	for range 3 * enoughAlone {
		c.refused(now)
	}
	if c.tells(now) {
		t.Error("it is believed although the brokers have taken what it would refuse")
	}
}
