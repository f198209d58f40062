package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// Observer receives the events of a stream. Its methods are called from several
// goroutines.
type Observer interface {
	Broker(err error) // nil: a broker has answered
	Assigned(partitions map[string][]int32)
	Rebalance()
	Lag(topic string, partition int32, records int64)
}

// StreamConfig is what a stream needs to know of the run.
type StreamConfig struct {
	Name   string // of the pipeline
	Source *SourceConfig
	Sink   *SinkConfig // nil: what is released goes elsewhere, and the transactions hold the rest
	Look   bool        // nothing is made: the stream is only looked at, and not joined
	Commit Commit
	Window int           // records of a window for swapping; 0: blocks are cut as is fastest
	Linger time.Duration // how long an incomplete window waits
	Due    func() bool   // ends the open transaction early where it returns true; nil: never
	// Enter is called for a partition that has been assigned, before any of its records are
	// returned. It gets what is known of the partition and the entries of its state (PutState), which
	// the last owner left. With a *Restart it demands another offset than the group's.
	Enter func(p Partition, a Arrival, kept map[string][]byte) error
	Watch Observer
	Log   zerolog.Logger
}

// Stream is a member of a consumer group that reads topics and releases what
// becomes of them in transactions: Begin, Next until io.EOF, Release and Produce
// meanwhile, End. One goroutine drives it; Produce alone may be called by
// another one at the same time.
type Stream struct {
	config          StreamConfig
	topics          []topic             // of the source, as they were when the stream was opened
	statePartitions int32               // of the state topic
	notePartitions  map[string]int32    // partitions of the topics that Note writes to
	began           map[Partition]int64 // where a bounded stream begins

	transactional string // the transactional id; "": not joined yet

	registry *registry.Client // of the source; nil where none is configured
	released *registry.Client // of the sink, where that is another one

	member atomic.Pointer[kgo.Client] // the same as client, for what the client calls before it is returned
	limits sync.Map                   // what a topic of the sink takes, by its name: topicLimits
	sinks  sync.Map                   // topics that what is released goes to

	client         *kgo.Client
	outbox         *outbox                   // of the client
	abandon        context.CancelFunc        // ends what the client does, at once
	session        *kgo.GroupTransactSession // nil with at_least_once
	cleared        bool                      // since it joined: what one of the same name has left open is ended
	decoder        message.Decoder
	keepTombstones bool // tombstones pass

	mu       sync.Mutex
	owned    map[Partition]int // how often the partition has been assigned
	assigned int               // counter behind owned
	// when it was last told of partitions, or of none; zero: not yet, or it was thrown out since
	assignedAt time.Time
	entered    map[Partition]int // what owned was when the partition was last entered
	reported   map[Partition]int // what the observer was last told of
	blocked    atomic.Bool       // a rebalance waits for the open transaction

	pending     map[Partition][]*kgo.Record // polled and not yet handed out, where windows are cut
	queue       []connectors.Raw
	polled      int       // records of the open transaction
	lastContact time.Time // when records last came, or brokers last answered, where there is a patience
	touched     bool      // the open transaction has read something, markers included
	deadline    time.Time // of the open transaction; zero before its first record
	// of the client's messages; what one that was left still says of its own goes unheard
	failed  *atomic.Pointer[error]
	promise func(*kgo.Record, error) // of the client's messages: see onWritten
	refused *refusals                // of the client's messages
	begunAt atomic.Int64             // when the open transaction began, by elapsed
	late    atomic.Bool              // a transaction of this membership has taken longer than its timeout
	// how often the timeout has been doubled, as transactions took longer
	doubled atomic.Int32
	// when another process of the same instance has ended a transaction, the last few; under mu
	rivalries []time.Time
	draining  context.Context     // ends with Drain
	drain     context.CancelFunc  // of draining
	drainedAt atomic.Int64        // when Drain was first called, by elapsed; 0: not yet
	ends      map[Partition]int64 // where a bounded stream ends; nil: it does not
	at        map[Partition]int64 // the next offset of each partition that has been polled
	committed map[Partition]int64 // the same as of the last commit
	lastLook  map[Partition]int64 // what at was when the rest of a bounded stream was last looked at

	ids  map[string]string   // of the topics, when their partitions were entered
	gone map[Partition]int64 // the records before this offset were removed, and some of them not read
	// offsets that reading has passed over since the partition was entered, as they were removed
	lost       map[Partition]int64
	lostBefore map[Partition]int64 // the same as of the last commit
	epochs     map[Partition]int32 // leader epoch of the last record of each partition that has been polled
	lookedAt   time.Time
}

const (
	runRecords  = 4096        // of a block, where windows are not cut
	idleWait    = time.Second // a poll without records returns, so that the caller can look after the rest
	endPatience = time.Second // ending a transaction lets partitions go after that

	settlePatience = 5 * time.Second  // the time that a stream that shall end waits for its assignment
	rivals         = 5                // transactions that are ended by a process of the same instance …
	rivalry        = time.Minute      // … in so short a time are too many
	leavePatience  = 5 * time.Second  // leaving the group does without the group's answer after that
	abortPatience  = 10 * time.Second // what has failed is given up with its client after that
)

// Join becomes a member of the group. Records come with Next, after Begin.
func (s *Stream) Join(decoder message.Decoder, keepTombstones bool) error {
	options, err := s.membership()
	if err != nil {
		return err
	}
	c := s.config.Source
	ctx, abandon := context.WithCancel(context.Background())
	s.abandon = abandon
	options = append(options, kgo.WithContext(ctx))
	s.decoder, s.keepTombstones = decoder, keepTombstones
	s.entered, s.owned, s.assignedAt = map[Partition]int{}, map[Partition]int{}, time.Time{}
	s.at, s.committed, s.lastLook = maps.Clone(s.began), maps.Clone(s.began), map[Partition]int64{}
	s.arriving()
	s.pending = map[Partition][]*kgo.Record{}
	s.failed = new(atomic.Pointer[error])
	s.refused = s.refused.anew()
	s.promise = s.onWritten(s.failed)
	s.reset()
	if s.config.Sink != nil && s.config.Sink.Delivery == atLeastOnce {
		if s.client, err = kgo.NewClient(append(options, c.tuning...)...); err != nil {
			return err
		}
		s.outbox = newOutbox(s.client)
		return nil
	}
	if s.transactional == "" {
		// All memberships use the same id, so that joining again ends the transaction that the last
		// membership left open, without a wait for its timeout.
		s.transactional = c.transactionalID(s.config.Name)
	}
	s.lengthen()
	options = append(options,
		kgo.TransactionalID(s.transactional),
		kgo.TransactionTimeout(s.transactionTimeout()),
	)
	options = append(options, c.tuning...) // again, as the last word
	if s.session, err = kgo.NewGroupTransactSession(options...); err != nil {
		return err
	}
	s.cleared = false
	s.client = s.session.Client()
	s.outbox = newOutbox(s.client)
	return nil
}

// written are the topics that the stream writes to, as far as they are known before it starts.
func (s *Stream) written() []string {
	var topics []string
	s.sinks.Range(func(topic, _ any) bool { topics = append(topics, topic.(string)); return true })
	return append(slices.AppendSeq(topics, maps.Keys(s.notePartitions)), s.config.Source.StateTopic(s.config.Name))
}

// Decode sets the decoder for what is polled from now on.
func (s *Stream) Decode(d message.Decoder, keepTombstones bool) {
	s.decoder, s.keepTombstones = d, keepTombstones
}

func (s *Stream) compression() string {
	if s.config.Sink != nil {
		return s.config.Sink.Compression
	}
	return ""
}

// sessionTimeout is how long a member that has died keeps its partitions.
const sessionTimeout = 15 * time.Second

// interval is how long a transaction stays open.
func (s *Stream) interval() time.Duration {
	return max(time.Duration(s.config.Commit.Interval), s.config.Linger)
}

// Drain makes Next end the open transaction and none begin after it.
func (s *Stream) Drain() {
	s.drainedAt.CompareAndSwap(0, elapsed())
	s.drain()
}

// Drained reports whether a stream without an open transaction may end: it has been told to,
// and the group has told it its partitions, or it has waited long enough for that.
func (s *Stream) Drained() bool {
	return s.Draining() && (s.Settled() || elapsed()-s.drainedAt.Load() > int64(settlePatience))
}

// Begin opens a transaction. It ends the transaction that an earlier process of the same id
// left open, after a crash.
func (s *Stream) Begin(ctx context.Context) error {
	s.reset()
	if s.session == nil {
		return nil
	}
	// The session asks for the producer's id itself, but does not let go when ctx
	// ends.
	wait := await
	if !s.cleared && patienceOf(ctx) > 0 {
		wait = func(ctx context.Context, what string, f func(context.Context) error) error {
			return persist(ctx, s.config.Log, what, f) // who joins anew has patience anew
		}
	}
	err := wait(ctx, "beginning a transaction", func(ctx context.Context) error {
		_, _, err := s.client.ProducerID(ctx)
		return err
	})
	err = s.shorten(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errImpatient), errors.Is(err, errShort):
		return err
	case err != nil && !s.cleared:
		// The session would begin all the same and ask again with its first message. Until then the
		// last membership's transaction would stay open, and the stream would wait for its end: it
		// reads the state topic up to the first open transaction.
		return explain(err, "beginning a transaction", subject{transactional: s.transactional})
	}
	s.cleared = true
	err = await(ctx, "beginning a transaction", s.beginSession)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return explain(err, "beginning a transaction", subject{transactional: s.transactional})
}

// beginSession is session.Begin with a time limit: if the producer has received no id, the session
// asks once more and waits for the answer without limit. When ctx ends, the client is abandoned.
func (s *Stream) beginSession(ctx context.Context) error {
	begun := make(chan error)
	go func() {
		defer bug.Guard()
		begun <- s.session.Begin()
	}()
	select {
	case err := <-begun:
		return err
	case <-ctx.Done():
		s.abandon()
		<-begun
		return ctx.Err()
	}
}

func (s *Stream) reset() {
	s.polled, s.deadline, s.touched = 0, time.Time{}, false
	s.queue = s.queue[:0]
	clear(s.pending)
	s.failed.Store(nil)
	s.begunAt.Store(elapsed())
	s.blocked.Store(false)
}

// Polled returns how many records the open transaction has read.
func (s *Stream) Polled() int { return s.polled }

// Draining reports whether Drain was called.
func (s *Stream) Draining() bool { return s.drainedAt.Load() != 0 }

// Bounded reports whether the stream has an end.
func (s *Stream) Bounded() bool { return s.ends != nil }

// Partitions returns how many partitions the source has, those of other members included.
func (s *Stream) Partitions() (n int) {
	for _, t := range s.topics {
		n += int(t.partitions)
	}
	return n
}

// Touched reports whether the open transaction has offsets to commit: those of
// records, or of markers alone.
func (s *Stream) Touched() bool { return s.touched }

// Next returns the next run of records of the open transaction, io.EOF when it
// is to be ended: its time is up, it has enough records, nothing has come for a
// while, or the stream is draining.
func (s *Stream) Next(ctx context.Context) (connectors.Raw, error) {
	for {
		if len(s.queue) > 0 {
			raw := s.queue[0]
			s.queue = s.queue[1:]
			return raw, nil
		}
		if err := s.failure(); err != nil {
			return nil, err
		}
		if s.over() {
			if s.flush() {
				continue
			}
			return nil, io.EOF
		}
		if err := s.poll(ctx); err != nil {
			return nil, err
		}
		if !s.touched {
			s.client.AllowRebalance()
			if err := s.lookAhead(ctx); err != nil {
				return nil, err
			}
			return nil, io.EOF // nothing has come
		}
	}
}

// over reports whether the open transaction takes no further records.
func (s *Stream) over() bool {
	return s.Drained() || s.touched && s.Draining() || s.touched && s.blocked.Load() || s.config.Due() ||
		s.polled >= s.config.Commit.Records ||
		!s.deadline.IsZero() && !time.Now().Before(s.deadline) || s.Finished()
}

// flush returns the records that wait for their window to fill: a window never spans a commit.
func (s *Stream) flush() bool {
	for _, p := range slices.SortedFunc(maps.Keys(s.pending), comparePartitions) {
		if records := s.pending[p]; len(records) > 0 {
			s.queue = append(s.queue, newRaw(records, s.decoder, s.keepTombstones))
		}
		delete(s.pending, p)
	}
	return len(s.queue) > 0
}

// pollWait is how long a poll waits for records: no longer than the open transaction lasts.
func (s *Stream) pollWait() time.Duration {
	switch {
	case !s.deadline.IsZero():
		return max(time.Until(s.deadline), time.Millisecond)
	case s.ends != nil:
		return tick // it may be at its end
	}
	return idleWait
}

// pollSize is how many records a poll brings at most: no more than the open transaction still
// takes, and at least one.
func (s *Stream) pollSize() int {
	return max(1, min(pollRecords, s.config.Commit.Records-s.polled))
}

// poll waits for records, no longer than the open transaction lasts.
func (s *Stream) poll(ctx context.Context) error {
	pollCtx, cancel := context.WithTimeout(ctx, s.pollWait())
	fetches := s.client.PollRecords(pollCtx, s.pollSize())
	cancel()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	for _, e := range fetches.Errors() {
		if err := s.interrupted(e); err != nil {
			return err
		}
	}
	if err := s.hear(ctx, !fetches.Empty()); err != nil {
		return err
	}
	if err := s.EnterAssigned(ctx); err != nil {
		return err
	}
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		if len(f.Records) == 0 {
			return
		}
		s.passOver(Partition{Topic: f.Topic, Number: f.Partition}, f.Records[0].Offset, f.LogStartOffset)
		s.take(Partition{Topic: f.Topic, Number: f.Partition}, f.Records)
		s.config.Watch.Lag(f.Topic, f.Partition,
			max(0, f.LastStableOffset-s.at[Partition{Topic: f.Topic, Number: f.Partition}]))
	})
	if s.touched && s.deadline.IsZero() {
		s.deadline = time.Now().Add(s.interval())
	}
	return s.look(ctx)
}

// interrupted returns an error of reading that does not pass by itself.
func (s *Stream) interrupted(e kgo.FetchError) error {
	p := Partition{Topic: e.Topic, Number: e.Partition}
	switch {
	case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
	case errors.Is(e.Err, kgo.ErrClientClosed):
		return e.Err
	case e.Topic != "" && anew(e.Err):
		s.config.Log.Warn().Err(e.Err).Str("topic", e.Topic).Msg("the source is not what it was")
		return errAnew
	case Final(e.Err):
		return s.explainRead(e)
	case s.unread(p):
		// The client has given the partition up for as long as it is a member.
		return fmt.Errorf("asking where to begin in %s: %w", p, e.Err)
	default:
		s.config.Watch.Broker(e.Err)
		s.config.Log.Warn().Err(e.Err).Str("topic", e.Topic).Msg("reading is interrupted; it is tried again")
	}
	return nil
}

// take queues the records of a partition, without the markers that end
// transactions.
func (s *Stream) take(p Partition, records []*kgo.Record) {
	s.touched = true
	s.at[p] = records[len(records)-1].Offset + 1
	s.epochs[p] = records[len(records)-1].LeaderEpoch
	records = slices.DeleteFunc(records, func(r *kgo.Record) bool { return r.Attrs.IsControl() })
	s.polled += len(records)
	size := runRecords
	if s.config.Window > 0 {
		size = s.config.Window
		records = append(s.pending[p], records...)
		delete(s.pending, p)
	}
	for len(records) > 0 {
		n := min(size, len(records))
		if s.config.Window > 0 && n < size {
			s.pending[p] = records
			return
		}
		s.queue = append(s.queue, newRaw(records[:n:n], s.decoder, s.keepTombstones))
		records = records[n:]
	}
}

// Produce adds a message to the open transaction. If no broker takes it the transaction fails:
// End and Next return the error.
func (s *Stream) Produce(ctx context.Context, r *kgo.Record) {
	if s.ready(ctx, r.Topic) {
		s.send(ctx, r)
	}
}

// ready has the client learn a topic before anything is written to it, and reports whether
// something may be: not where something has failed before the topic was known, as all is then
// aborted together and need not be waited for.
func (s *Stream) ready(ctx context.Context, topic string) bool {
	failed := s.failed
	if s.outbox.hasLearnt(topic) {
		return true
	}
	if failed.Load() != nil {
		return false
	}
	err := await(ctx, "writing to "+topic, func(ctx context.Context) error {
		return s.outbox.introduce(ctx, topic, s.written()...)
	})
	if err != nil {
		s.noteLost(topic, err, failed)
	}
	return err == nil
}

// send is Produce for a topic that is ready. What the client is to say of the record is said
// by the same function for all of a membership: one for each record would be garbage, of
// which a stream makes millions a second.
func (s *Stream) send(ctx context.Context, r *kgo.Record) { s.outbox.produce(ctx, r, s.promise) }

// onWritten notes the outcome of a client's records: a lost one fails the open transaction. It
// has the client's own failed and refused, so that late errors of an earlier client fail no later
// transaction.
func (s *Stream) onWritten(failed *atomic.Pointer[error]) func(*kgo.Record, error) {
	refused := s.refused
	stops := s.config.Sink == nil || s.config.Sink.OnRefused == Stop
	return func(r *kgo.Record, err error) {
		switch {
		case err == nil:
			refused.took(r)
		case !stops && refused.hear(r, err):
			failed.CompareAndSwap(nil, &errRefused)
		default:
			s.noteLost(r.Topic, err, failed)
		}
	}
}

// noteLost notes the first record that was lost, in words. An error about a rival is always noted.
func (s *Stream) noteLost(topic string, err error, failed *atomic.Pointer[error]) {
	if strings.Contains(err.Error(), noPartition) {
		err = &FinalError{
			Text: fmt.Sprintf(
				"writing to %s: the topic has fewer partitions than the source has now, and a record keeps its partition", topic),
			Err: err}
	}
	err = explainError(err, "writing to "+topic)
	if failed.CompareAndSwap(nil, &err) {
		if err := s.rival(err); err != nil {
			failed.Store(&err)
		}
	}
}

func (s *Stream) failure() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Leave leaves the group. Uncommitted records are read again by the next owner of the
// partitions.
func (s *Stream) Leave() {
	if s.client == nil {
		return
	}
	defer s.show(map[Partition]int{})
	// A client that leaves waits for a join that is under way, and so for the slowest
	// member of the group.
	defer s.abandon()
	defer time.AfterFunc(leavePatience, s.abandon).Stop()
	if s.session != nil {
		s.session.CloseAllowingRebalance()
	} else {
		s.client.CloseAllowingRebalance()
	}
	s.client, s.session = nil, nil
}
