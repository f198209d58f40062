package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// options are the client's options that follow from the connection. Errors are
// final: files that cannot be read, a password that is not there.
func (c *Connection) options(log zerolog.Logger) ([]kgo.Opt, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, &FinalError{Text: ps[0].Error(), Err: ps[0]}
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID("sdlfilter"),
		kgo.WithLogger(newLogger(log)),
		// Brokers may ask clients for metrics. They get none: what runs here is confidential.
		kgo.DisableClientMetrics(),
		kgo.RequestRetries(math.MaxInt32),
		// Topics that were just created, or partitions that have moved, should be found soon.
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.RetryTimeoutFn(retryFor),
		kgo.RetryBackoffFn(backoff),
		kgo.WithDecompressor(newDecompressor()),
	}
	if c.TLS != nil {
		config, err := c.TLS.config()
		if err != nil {
			return nil, &FinalError{Text: "tls." + err.Error(), Err: err}
		}
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	if c.SASL != nil {
		mechanism, err := c.SASL.mechanism()
		if err != nil {
			return nil, &FinalError{Text: "sasl.password: " + err.Error(), Err: err}
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	return append(opts, c.tuning...), nil
}

func (t *TLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca: %s holds no certificate in PEM", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("cert: %s with the key %s: %w", t.Cert, t.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

var mechanisms = []string{"plain", "scram-sha-256", "scram-sha-512"}

// mechanism reads the password once, to report early that it is missing, and again for every
// connection, so that it can be changed while the program runs.
func (s *SASL) mechanism() (sasl.Mechanism, error) {
	if _, err := s.Password.Read(); err != nil {
		return nil, err
	}
	user := s.Username
	if s.Mechanism == "plain" {
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			pass, err := s.Password.Read()
			return plain.Auth{User: user, Pass: pass}, err
		}), nil
	}
	auth := func(context.Context) (scram.Auth, error) {
		pass, err := s.Password.Read()
		return scram.Auth{User: user, Pass: pass}, err
	}
	if s.Mechanism == "scram-sha-256" {
		return scram.Sha256(auth), nil
	}
	return scram.Sha512(auth), nil
}

// retryFor returns how long the client itself repeats a request of a kind; 0: without end. A
// member whose heartbeats do not arrive during a session must learn that it has left the
// group. Other requests outside a transaction go back to persist, which logs each failure.
// Requests of a transaction are repeated without end: the transaction is worth the wait.
func retryFor(key int16) time.Duration {
	switch kmsg.Key(key) {
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.ConsumerGroupHeartbeat:
		return 15 * time.Second
	case kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn:
		return 0
	}
	return 10 * time.Second
}

// backoff is the time before try n, from 1: doubling from 100 ms to 10 s, give or
// take a fifth, so that many clients do not come back at once.
func backoff(n int) time.Duration {
	d := min(100*time.Millisecond<<min(max(n-1, 0), 10), 10*time.Second)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// connect makes a client. It does not wait for a broker.
func (c *Connection) connect(log zerolog.Logger, more ...kgo.Opt) (*kgo.Client, error) {
	opts, err := c.options(log)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts, more...)...)
	if err != nil {
		return nil, &FinalError{Text: "kafka client: " + err.Error(), Err: err}
	}
	return client, nil
}

// persist repeats f, with a growing pause, while its error is one that may pass (the network,
// a state of the brokers), without end or for as long as the patience of ctx (WithPatience).
// It logs each failure. The error is a final one, or that of ctx with the last failure as its
// cause.
func persist(ctx context.Context, log zerolog.Logger, what string, f func(context.Context) error) error {
	return repeat(ctx, log, what, 0, f)
}

// greet is persist for the first request of a connection. Brokers that only close the
// connection are not tried for ever: TLS or SASL is configured on one side only, or, with old
// brokers, the password is wrong.
func greet(ctx context.Context, log zerolog.Logger, what string, f func(context.Context) error) error {
	return repeat(ctx, log, what, maxRebuffs, f)
}

// maxRebuffs is how often the connection may be closed before greet gives up, about a minute.
// The client's own attempts within a request are not counted.
const maxRebuffs = 6

func repeat(ctx context.Context, log zerolog.Logger, what string, rebuffs int, f func(context.Context) error) error {
	var last error
	closed, since, patience := 0, time.Now(), patienceOf(ctx)
	for try := 1; ; try++ {
		err := bounded(ctx, since, f)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return interrupted(ctx, what, last)
		case errors.Is(err, errImpatient):
			return impatient(ctx, what, last)
		case NotYet(ctx, err):
		case Final(err):
			return explainError(err, what)
		case errors.Is(err, io.EOF):
			closed++
		case !errors.Is(err, syscall.ECONNRESET): // the other form that a close takes
			closed = 0
		}
		if rebuffs > 0 && closed >= rebuffs {
			return &FinalError{
				Text: what +
					": brokers close the connection at once: is tls or sasl missing, given where brokers have none, or the password wrong?", Err: err}
		}
		last = err
		if !errors.Is(err, errNotYet) && (try == 1 || patience <= 0) { // the end of patience says the rest
			log.Warn().Str("error", err.Error()).Int("try", try).Msg(what + " is interrupted; it is tried again")
		}
		wait := backoff(try)
		if left := startLeft(ctx, err); left > 0 {
			wait = min(wait, left, startTick)
		}
		if patience > 0 {
			wait = max(0, min(wait, patience-time.Since(since)))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return interrupted(ctx, what, last)
		}
		if patience > 0 && time.Since(since) >= patience {
			return impatient(ctx, what, last)
		}
	}
}

// errNotYet is the error of brokers that do not yet know what was created a moment ago.
var errNotYet = errors.New("the brokers do not know it yet")

func interrupted(ctx context.Context, what string, last error) error {
	if last == nil || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %w; before that: %s", what, context.Cause(ctx), last)
}

// logger puts the client's log into the program's.
type logger struct {
	log      zerolog.Logger
	level    kgo.LogLevel
	loggedAt map[string]*atomic.Int64 // when each of unreachable was last logged, by elapsed
}

// unreachable are the messages that the client logs at each attempt to reach a broker. One a
// minute is enough.
var unreachable = []string{
	"unable to open connection to broker",
	"produce partition load error, bumping error count on first stored batch",
	"random error while producing, requeueing unattempted request",
	"group manage loop errored",
}

func newLogger(log zerolog.Logger) kgo.Logger {
	level := kgo.LogLevelWarn
	if log.Debug().Enabled() {
		level = kgo.LogLevelDebug
	}
	l := logger{log, level, map[string]*atomic.Int64{}}
	for _, msg := range unreachable {
		l.loggedAt[msg] = new(atomic.Int64)
	}
	return l
}

// Level implements kgo.Logger.
func (l logger) Level() kgo.LogLevel { return l.level }

// Log implements kgo.Logger. The client logs names, numbers, offsets and errors
// of the protocol; bytes, which could be content, are left out.
func (l logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	e := l.log.Debug()
	if level <= kgo.LogLevelWarn && !l.again(msg) {
		e = l.log.Warn()
	}
	for i := 0; i+1 < len(keyvals); i += 2 {
		key := fmt.Sprint(keyvals[i])
		switch v := keyvals[i+1].(type) {
		case []byte, kgo.Record, *kgo.Record, []*kgo.Record:
		case error:
			e = e.Str(key, v.Error())
		case string:
			e = e.Str(key, v)
		case time.Duration:
			e = e.Stringer(key, v)
		default:
			e = e.Str(key, fmt.Sprint(v))
		}
	}
	e.Str("from", "kafka client").Msg(msg)
}

// again reports whether a message is one of unreachable and was logged within the last minute.
func (l logger) again(msg string) bool {
	last := l.loggedAt[msg]
	if last == nil {
		return false
	}
	now := elapsed()
	before := last.Load()
	return before != 0 && now-before < int64(time.Minute) || !last.CompareAndSwap(before, now)
}
