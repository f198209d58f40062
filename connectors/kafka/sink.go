package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Carries implements connectors.SinkConfig: topics of the same format.
func (c *SinkConfig) Carries(src connectors.Source) bool {
	s, ok := src.(ofTopics)
	return ok && c.CarriesFrom(s.sourceConfig())
}

// ofTopics is a source whose records are messages.
type ofTopics interface{ sourceConfig() *SourceConfig }

func (s *Source) sourceConfig() *SourceConfig { return s.config }

// CarriesFrom reports whether messages of a source's topics leave with their
// untouched columns as the bytes they came in.
func (c *SinkConfig) CarriesFrom(src *SourceConfig) bool {
	return reflect.TypeOf(c.format(src)) == reflect.TypeOf(src.format())
}

// Paths implements connectors.SinkConfig.
func (c *SinkConfig) Paths() []string { return []string{"topic " + c.Topic} }

// Create implements connectors.SinkConfig, for a release that is judged as a
// whole: all of it is one transaction, which Commit commits, so that readers that
// are read_committed see nothing of what the gate refuses. Brokers bound the time
// that a transaction may take. The logger is that of ctx, if there is one.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (_ connectors.Sink, err error) {
	s := &sink{topic: c.Topic, ctx: context.WithoutCancel(ctx), log: *zerolog.Ctx(ctx)}
	request := message.WriteRequest{Layout: plan.Layout}
	var from *SourceConfig
	src, carried := plan.Source.(*Source)
	if carried {
		from, request.Reader = src.config, src.reader
		if len(src.topics) == 1 {
			s.topic = c.topicFor(src.topics[0].name)
		}
	}
	request.Topic = s.topic
	if s.client, err = c.connect(s.log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	sinks, err := describe(ctx, kadm.NewClient(s.client), s.log, []string{s.topic})
	if err != nil {
		return nil, err
	}
	s.partitions = sinks[0].partitions
	s.limits, _ = askLimits(ctx, s.client, s.topic) // who may not ask learns from the brokers' refusal
	s.rejects = c.OnRefused != Stop && !several(c.format(from))
	if r := c.registry(from); r != nil {
		if s.registry, err = registry.New(r); err != nil {
			return nil, err
		}
		request.Registry = s.registry
	}
	if s.writer, err = c.format(from).Writer(ctx, request); err != nil {
		return nil, err
	}
	texts := plan.Source.Abilities().JSONText
	// Records of files have no key, so that hash and pass leave none either.
	keyed := *c
	if !carried && (c.Key == hash || c.Key == pass) {
		keyed.Key = drop
	}
	if s.policy, err = newPolicy(&keyed, plan.Layout, texts, keystream.Key{}); err != nil {
		return nil, err
	}
	if several(c.format(from)) && c.keyColumn() != "" {
		return nil,
			&FinalError{Text: "key: a column needs a format of one record a message, and in arrow a message holds many"}
	}
	if carried && s.writer.Carries() {
		src.carried.Store(true)
	}
	s.byKey = kgo.StickyKeyPartitioner(nil).ForTopic(s.topic)
	return s, s.begin(ctx, c)
}

// releaseTimeout is the greatest time between a release's first record and its commit, in
// which all is one transaction: the most that brokers allow by default.
const releaseTimeout = 15 * time.Minute

// begin opens the transaction.
func (s *sink) begin(ctx context.Context, c *SinkConfig) error {
	// With the same id, the next run of the pipeline at once ends the transaction that a killed
	// run left open. With another one, readers of committed records would wait for the
	// transaction's timeout.
	s.id = "sdlfilter-" + s.topic + "-" + cmp.Or(c.pipeline, random())
	s.timeout = releaseTimeout
	err := s.producer(ctx, c)
	if errors.Is(err, kerr.InvalidTransactionTimeout) {
		if s.timeout, err = s.allowed(ctx, err); err != nil {
			return err
		}
		err = s.producer(ctx, c)
	}
	if err != nil {
		return err
	}
	if err := s.client.BeginTransaction(); err != nil {
		return s.explain(err, "beginning a transaction")
	}
	s.begun = true
	return nil
}

// producer makes the client one that produces in transactions.
func (s *sink) producer(ctx context.Context, c *SinkConfig) error {
	client, err := c.connect(s.log,
		kgo.TransactionalID(s.id),
		kgo.TransactionTimeout(s.timeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		compressing(c.Compression),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(200_000),
		kgo.MaxBufferedBytes(64<<20),
		kgo.ProducerBatchMaxBytes(s.limits.batch()),
	)
	if err != nil {
		return err
	}
	err = persist(ctx, s.log, "preparing a transaction", func(ctx context.Context) error {
		_, _, err := client.ProducerID(ctx)
		return s.explain(err, "preparing a transaction")
	})
	if err != nil {
		client.Close()
		return err
	}
	s.client.Close()
	s.client, s.outbox = client, newOutbox(client)
	return nil
}

// allowed asks the brokers for the longest transaction that they allow.
func (s *sink) allowed(ctx context.Context, refused error) (time.Duration, error) {
	const setting = "transaction.max.timeout.ms"
	limit := time.Duration(0)
	configs, err := kadm.NewClient(s.client).DescribeBrokerConfigs(ctx)
	if err == nil {
		// Without a number it is the cluster's default, and a broker's own comes first.
		if brokers, listErr := kadm.NewClient(s.client).ListBrokers(ctx); listErr == nil {
			if own, ownErr := kadm.NewClient(s.client).DescribeBrokerConfigs(ctx, brokers.NodeIDs()...); ownErr == nil {
				configs = own
			}
		}
	}
	for _, c := range configs {
		for _, value := range c.Configs {
			if value.Key != setting {
				continue
			}
			if n, err := strconv.ParseInt(value.MaybeValue(), 10, 32); err == nil && n > 0 {
				if d := time.Duration(n) * time.Millisecond; limit == 0 || d < limit {
					limit = d
				}
			}
		}
	}
	if limit == 0 || limit >= releaseTimeout {
		return 0,
			&FinalError{
				Text: fmt.Sprintf(
					"preparing a transaction: the brokers do not allow one of %v, and the user may not ask how long one may be (DescribeConfigs on the cluster); raise %s to %d", releaseTimeout, setting, releaseTimeout.Milliseconds()), Err: refused}
	}
	s.log.Warn().Str("limit", limit.String()).Msg(
		"the brokers allow no longer transaction; a release that takes longer fails (" + setting + ")")
	return limit, nil
}

// sink writes a release into a topic, in one transaction.
type sink struct {
	topic      string
	partitions int32
	client     *kgo.Client
	outbox     *outbox // of the client
	writer     message.Writer
	registry   *registry.Client // nil where none is configured
	policy     *policy
	byKey      kgo.TopicPartitioner
	limits     topicLimits
	rejects    bool // records that the topic does not take go to quarantine
	log        zerolog.Logger
	ctx        context.Context // of Create, without its end: Encode and Write have none of their own
	id         string
	timeout    time.Duration

	blocks int32 // written so far, modulo partitions
	failed atomic.Pointer[error]
	begun  bool
	done   bool
}

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	out, err := s.writer.Encode(s.ctx, b)
	if err != nil {
		return nil, err
	}
	records, now := make([]kgo.Record, 0, len(out.Values)), time.Now()
	for i, value := range out.Values {
		records = append(records, kgo.Record{Topic: s.topic, Value: value, Partition: unassigned})
		r := &records[len(records)-1]
		s.policy.apply(r, nil, b, int(out.Source[i]))
		if reason := s.limits.refuses(r, value, now); reason != "" && s.rejects {
			b.Reject(int(out.Source[i]), "", reason)
			records = records[:len(records)-1]
			continue
		}
		if r.Key != nil {
			// Every client of Kafka chooses the partition in this way, so that the records of a key
			// meet those of other producers.
			r.Partition = int32(s.byKey.Partition(r, int(s.partitions)))
		}
	}
	return records, nil
}

// unassigned is the partition of a record without a key until Write, which knows the place of
// the block.
const unassigned = -1

// Write implements connectors.Sink. Blocks go to the partitions in turn, so that
// the records of a partition keep their order; records with a key go to the
// partition of their key.
func (s *sink) Write(ctx context.Context, e connectors.Encoded) error {
	records := e.([]kgo.Record)
	for i := range records {
		r := &records[i]
		if r.Partition == unassigned {
			r.Partition = s.blocks
		}
		s.outbox.produce(ctx, r, s.delivered)
	}
	s.blocks = (s.blocks + 1) % s.partitions
	return s.failure()
}

func (s *sink) delivered(_ *kgo.Record, err error) {
	if err != nil {
		s.noteLost(err)
	}
}

// noteLost notes the first record that was lost, in words.
func (s *sink) noteLost(err error) {
	err = s.explain(err, "writing to "+s.topic)
	s.failed.CompareAndSwap(nil, &err)
}

func (s *sink) failure() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// explain says of a transaction that was lost why it was.
func (s *sink) explain(err error, what string) error {
	for _, lost := range []error{kerr.InvalidProducerEpoch, kerr.ProducerFenced, kerr.InvalidTxnState,
		kerr.InvalidProducerIDMapping, kerr.TransactionAbortable} {
		if errors.Is(err, lost) {
			return &FinalError{
				Text: fmt.Sprintf(
					"%s: the brokers have ended the transaction, because it took longer than %v (transaction.max.timeout.ms) or another run of this pipeline has begun; nothing is released", what, s.timeout), Err: err}
		}
	}
	return explain(err, what, subject{right: "Write to", topic: s.topic, transactional: s.id})
}

// Finish implements connectors.Sink: the brokers have everything.
func (s *sink) Finish(ctx context.Context) error {
	if err := await(ctx, "writing to "+s.topic, func(ctx context.Context) error {
		return flushed(ctx, s.client, s.failure)
	}); err != nil {
		return s.explain(err, "writing to "+s.topic)
	}
	return s.failure()
}

// Commit implements connectors.Sink. After an error of the network it is not known whether the
// transaction was committed; the error says so.
func (s *sink) Commit() error {
	if s.done {
		return nil
	}
	if err := s.failure(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
	defer cancel()
	err := s.client.EndTransaction(ctx, kgo.TryCommit)
	if err != nil {
		if err = s.explain(err, "committing the release to "+s.topic); Final(err) {
			return err
		}
		return fmt.Errorf("%w; the brokers have not said whether it is committed", err)
	}
	s.done = true
	s.close()
	return nil
}

// Abort implements connectors.Sink. If the brokers cannot be reached, they abort the
// transaction themselves after its timeout.
func (s *sink) Abort() error {
	if s.done {
		return nil
	}
	s.done = true
	defer s.close()
	if !s.begun {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, abortTimeout)
	defer cancel()
	err := s.client.AbortBufferedRecords(ctx)
	if err == nil {
		err = s.client.EndTransaction(ctx, kgo.TryAbort)
	}
	if err != nil {
		s.log.Warn().Str("error", err.Error()).Str("after", s.timeout.String()).Msg(
			"the brokers could not be told to abort the release; they do it by themselves")
	}
	return nil
}

const abortTimeout = 10 * time.Second

func (s *sink) close() {
	if s.registry != nil {
		s.registry.Close()
	}
	s.client.Close()
}
