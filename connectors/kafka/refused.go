package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Reasons in quarantine of a record that could be masked, but that the topic of the sink does not
// take.
const (
	tooLarge = "what is released of it is larger, before compression, than a batch of the sink's topic may be (max.message.bytes; 1000012 if the right DescribeConfigs on the topic is missing)"
	badTime  = "the sink's topic refuses its timestamp (message.timestamp.before.max.ms, …after.max.ms); timestamp: drop gives it the time of the release"
)

// refusalOf is why the brokers refuse the content of a batch; "" for all other errors. A broker says it of
// a whole batch, of which one record may be the cause.
func refusalOf(err error) string {
	switch {
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return tooLarge
	case errors.Is(err, kerr.InvalidTimestamp):
		return badTime
	}
	return ""
}

// errRefused is the error of a transaction in which the sink's topic has refused records.
var errRefused = errors.New("the sink's topic refuses records, of which those are being found that are the cause")

// Refused reports whether an error says that the sink's topic refuses records. The transaction is to be
// aborted and read again: then those that are the cause are found and left out.
func Refused(err error) bool { return errors.Is(err, errRefused) }

// origin is the context of the released messages of a block: it knows where they came from. The client
// returns it with each message that is refused.
type origin struct {
	context.Context
	raw   *raw
	early bool // its timestamp is one that the topic would refuse by the clock of this machine
}

// fromPlace is where a released message came from.
type fromPlace struct {
	Partition
	offset    int64
	tombstone bool
}

// placeOf returns the place in the source of a message that is released.
func (o *origin) placeOf(m *kgo.Record) fromPlace {
	at := fromPlace{Partition: Partition{Topic: o.raw.scope, Number: m.Partition}}
	if i := slices.Index(o.raw.messages, m); i >= 0 {
		at.offset = o.raw.offsets[i]
		return at
	}
	at.offset, at.tombstone = o.raw.buried[slices.Index(o.raw.tombstones, m)], true
	return at
}

// refusals are what the client of a membership has been told of records that brokers refuse.
type refusals struct {
	mu     sync.Mutex
	heard  map[Partition]map[fromPlace]string // what was refused in the open transaction and why, by partition of the sink
	topics map[string]bool                    // of the sink, that refused something for its size

	// The following is used by one goroutine at a time: that which writes, and between two transactions
	// that which ends them.
	out    map[Partition]map[int64]string // what is left out, by offset
	narrow map[Partition][]*narrowing
	last   map[Partition]*narrowing // that of the message that was sent last
	tries  int                      // aborted transactions since the last commit
	clock  ownClock
}

// ownClock is whether this machine's clock tells what the brokers refuse by theirs. At first it does not: with a clock
// that is some hours slow all records would be left out. It is believed when the brokers have refused enough messages,
// each alone in its batch, and taken none that it would refuse; as long as nobody sets it; and from time to time it
// must prove itself anew, more and more seldom.
type ownClock struct {
	believed time.Time   // since; zero: it is not
	alone    int         // messages that were refused alone for their timestamps
	told     int         // messages that were left out by it since it was believed
	proof    int         // as many prove it until it must do so anew
	taken    atomic.Bool // the brokers have taken a message that it would refuse
}

const (
	// jump is by how much a clock may be set anew without a doubt.
	jump = time.Minute
	// enoughAlone is how many messages that are refused alone prove a clock.
	enoughAlone = 20
)

// tells reports whether a message that is to be refused by the clock is left out.
func (c *ownClock) tells(now time.Time) bool {
	if c.believed.IsZero() {
		return false
	}
	// by the monotonic clock, and by that of the calendar
	passed, shown := now.Sub(c.believed), now.Round(0).Sub(c.believed.Round(0))
	if drift := shown - passed; drift > jump || drift < -jump {
		c.believed, c.alone, c.proof = time.Time{}, 0, 0
		return false
	}
	if c.told++; c.told > c.proof {
		c.believed, c.alone = time.Time{}, enoughAlone-1
		return false
	}
	return true
}

// refused notes a message that was refused alone.
func (c *ownClock) refused(now time.Time) {
	if c.alone++; c.alone >= enoughAlone && c.believed.IsZero() && !c.taken.Load() {
		c.believed, c.told, c.proof = now, 0, max(2*c.proof, enoughAlone)
	}
}

// narrowing is a range of offsets in which a record is refused. Its messages are sent in groups, each of
// which is a batch of its own, so that fewer and fewer messages share the batch of that record.
type narrowing struct {
	from, to int64 // first and last offset
	group    int   // messages of a batch
	sent     int   // messages since another range
}

const (
	// narrowBy is by how much groups shrink from one try to the next.
	narrowBy = 16
	// maxRefusedTries is how often a transaction is tried anew as records are refused.
	maxRefusedTries = 200
)

// anew returns what is known of refused records to a new client, which has heard nothing yet.
func (f *refusals) anew() *refusals {
	g := &refusals{heard: map[Partition]map[fromPlace]string{}, topics: map[string]bool{},
		out: map[Partition]map[int64]string{}, narrow: map[Partition][]*narrowing{}, last: map[Partition]*narrowing{}}
	if f.out != nil {
		g.out, g.narrow, g.tries = f.out, f.narrow, f.tries
		g.clock.believed, g.clock.alone, g.clock.told, g.clock.proof = f.clock.believed, f.clock.alone, f.clock.told,
			f.clock.proof
		g.clock.taken.Store(f.clock.taken.Load())
	}
	return g
}

// hear notes a refused message, and reports whether it was one.
func (f *refusals) hear(m *kgo.Record, err error) bool {
	reason := refusalOf(err)
	from, ok := m.Context.(*origin)
	if reason == "" || !ok {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	to := Partition{Topic: m.Topic, Number: m.Partition}
	if f.heard[to] == nil {
		f.heard[to] = map[fromPlace]string{}
	}
	f.heard[to][from.placeOf(m)] = reason
	if reason == tooLarge {
		f.topics[m.Topic] = true
	}
	return true
}

// took notes a message that the brokers have taken.
func (f *refusals) took(m *kgo.Record) {
	if from, ok := m.Context.(*origin); ok && from.early {
		f.clock.taken.Store(true)
	}
}

// leftOut returns why a record is left out; "": it is not.
func (f *refusals) leftOut(p Partition, offset int64) string { return f.out[p][offset] }

// rangeOf returns the narrowest range that an offset is in; nil if it is in none.
func (f *refusals) rangeOf(p Partition, offset int64) (in *narrowing) {
	for _, n := range f.narrow[p] {
		if n.from <= offset && offset <= n.to && (in == nil || n.group < in.group) {
			in = n
		}
	}
	return in
}

// cuts reports whether what was sent must have been taken before the message at an offset is sent, so
// that both do not share a batch.
func (f *refusals) cuts(p Partition, offset int64) bool {
	if len(f.narrow) == 0 {
		return false
	}
	n := f.rangeOf(p, offset)
	if n != f.last[p] {
		f.last[p] = n
		if n != nil {
			n.sent = 1
		}
		return true
	}
	if n == nil {
		return false
	}
	n.sent++
	return (n.sent-1)%n.group == 0
}

// ends reports whether a block of a partition ends within a range. Other blocks are apart from it.
func (f *refusals) ends(p Partition) bool {
	within := f.last[p] != nil
	delete(f.last, p)
	return within
}

// committed forgets what concerned the transaction that was committed.
func (f *refusals) committed(at map[Partition]int64) {
	for p, offsets := range f.out {
		maps.DeleteFunc(offsets, func(offset int64, _ string) bool { return offset < at[p] })
		if len(offsets) == 0 {
			delete(f.out, p)
		}
	}
	clear(f.narrow)
	clear(f.last)
	f.tries = 0
}

// learn draws the conclusions of an aborted transaction, all of whose messages the client has given up: a
// message that was refused alone in its batch is the cause and is left out, and where several shared a
// batch, the next try has smaller batches. It returns the topics that refused something for its size.
func (f *refusals) learn() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.last)
	if len(f.heard) == 0 {
		return nil, nil
	}
	var errs []error
	for _, heard := range f.heard {
		errs = append(errs, f.learnOf(heard))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	topics := slices.Sorted(maps.Keys(f.topics))
	clear(f.heard)
	clear(f.topics)
	if f.tries++; f.tries > maxRefusedTries {
		return nil,
			&FinalError{
				Text: fmt.Sprintf(
					"the sink's topic refuses records, and %d tries have not found all of them; with the right DescribeConfigs on the topic its limits are known before: %s; %s", maxRefusedTries, tooLarge, badTime)}
	}
	return topics, nil
}

// learnOf is learn for what a partition of the sink refused.
func (f *refusals) learnOf(heard map[fromPlace]string) error {
	type part struct {
		Partition
		in *narrowing
	}
	shared := map[part][]int64{}
	for at, reason := range heard {
		p, n := at.Partition, f.rangeOf(at.Partition, at.offset)
		switch {
		case len(heard) > 1 && (n == nil || n.group > 1):
			shared[part{p, n}] = append(shared[part{p, n}], at.offset)
		case at.tombstone:
			return &FinalError{Text: fmt.Sprintf("the message without a value at offset %d of %s: %s", at.offset, p, reason)}
		default:
			if f.out[p] == nil {
				f.out[p] = map[int64]string{}
			}
			f.out[p][at.offset] = reason
			if reason == badTime {
				f.clock.refused(time.Now())
			}
		}
	}
	for of, offsets := range shared {
		group := len(offsets)
		if of.in != nil {
			group = min(group, of.in.group)
		}
		f.narrow[of.Partition] = append(f.narrow[of.Partition],
			&narrowing{from: slices.Min(offsets), to: slices.Max(offsets), group: max(1, group/narrowBy)})
	}
	return nil
}

// topicLimits are what a topic takes.
type topicLimits struct {
	bytes    int32         // of a batch; 0: not known
	old, new time.Duration // how far a timestamp may lie before and after the broker's clock; 0: not limited, or not known
}

// defaultBatch is how large a batch may be if the topic's limit is not known, in bytes: below the
// brokers' default.
const defaultBatch = 1_000_012

// askLimits asks what a topic takes.
func askLimits(ctx context.Context, client *kgo.Client, topic string) (l topicLimits, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	configs, err := kadm.NewClient(client).DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return l, err
	}
	c, err := configs.On(topic, nil)
	if err != nil {
		return l, err
	}
	if c.Err != nil {
		return l, c.Err
	}
	own := false // the timestamps are those of the messages
	for _, setting := range c.Configs {
		value := setting.MaybeValue()
		switch setting.Key {
		case "max.message.bytes":
			if n, err := strconv.ParseInt(value, 10, 32); err == nil {
				l.bytes = int32(min(max(n, 512), 64<<20)) // the range that the client accepts
			}
		case "message.timestamp.type":
			own = value == "CreateTime"
		case "message.timestamp.before.max.ms":
			l.old = nearer(l.old, value)
		case "message.timestamp.after.max.ms":
			l.new = nearer(l.new, value)
		case "message.timestamp.difference.max.ms": // of brokers before Apache Kafka 4.0
			l.old, l.new = nearer(l.old, value), nearer(l.new, value)
		}
	}
	if !own {
		l.old, l.new = 0, 0
	}
	return l, nil
}

// nearer returns the smaller of two limits; 0 is none. ms is a number of milliseconds.
func nearer(limit time.Duration, ms string) time.Duration {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || n <= 0 || n > int64(math.MaxInt64/time.Millisecond) {
		return limit
	}
	if d := time.Duration(n) * time.Millisecond; limit == 0 || d < limit {
		return d
	}
	return limit
}

// batch is how large a batch may be, in bytes.
func (l topicLimits) batch() int32 {
	if l.bytes > 0 {
		return l.bytes
	}
	return defaultBatch
}

// refuses says why a topic would refuse a message with the given value, or "".
func (l topicLimits) refuses(m *kgo.Record, value []byte, now time.Time) string {
	if reason := l.refusesSize(m, value); reason != "" {
		return reason
	}
	return l.refusesTime(m, now)
}

func (l topicLimits) refusesSize(m *kgo.Record, value []byte) string {
	if l.bytes > 0 && sizeOf(m, value) > int(l.bytes) {
		return tooLarge
	}
	return ""
}

// refusesTime is refuses for the timestamp, if the brokers' clocks show now.
func (l topicLimits) refusesTime(m *kgo.Record, now time.Time) string {
	if m.Timestamp.IsZero() || m.Timestamp.UnixMilli() == noTimestamp {
		return ""
	}
	age := now.Sub(m.Timestamp)
	if l.old > 0 && age > l.old || l.new > 0 && -age > l.new {
		return badTime
	}
	return ""
}

// noTimestamp is the timestamp of a message that has none.
const noTimestamp = -1

// reject marks the records of the message at an offset as not to be released. With rows a message holds
// several records.
func reject(b *microdata.Block, offset int64, rows bool, reason string) {
	of := func(i int) int64 {
		if rows {
			return b.Place(i) >> message.RowBits
		}
		return b.Place(i)
	}
	for i := sort.Search(b.N, func(i int) bool { return of(i) >= offset }); i < b.N && of(i) == offset; i++ {
		b.Reject(i, "", reason)
	}
}
