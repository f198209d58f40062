package kafka

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// The client of a release commits nothing by itself, has a short linger, buffers as much as
// configured, and uses the configured codec.
func TestSettingsOfARelease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "out"))
	config := sinkOf(c, "out")
	config.Compression = "none"
	config.Abilities().SetPipeline("nightly")
	client := newRelease(t, config, 1).sink.(*sink).client
	for _, want := range []struct{ option, value any }{
		{kgo.TransactionalID, "sdlfilter-out-nightly"}, {kgo.TransactionTimeout, 15 * time.Minute},
		{kgo.ProducerLinger, 5 * time.Millisecond},
		{kgo.MaxBufferedRecords, int64(200_000)}, {kgo.MaxBufferedBytes, int64(64 << 20)},
		{kgo.ProducerBatchCompression, []kgo.CompressionCodec{kgo.NoCompression()}},
	} {
		if got := client.OptValue(want.option); fmt.Sprint(got) != fmt.Sprint(want.value) {
			t.Errorf("%v, want %v", got, want.value)
		}
	}
}

// The maximum length of a transaction is the smallest limit of all brokers. A broker's own setting
// overrides the cluster's setting, which also applies if brokers cannot be asked.
func TestEachBrokerLimitsTransactions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		own     map[string]string // of each broker; nil: brokers may not be asked
		cluster string
		want    time.Duration // 0: unknown
	}{
		"the least of two":             {map[string]string{"0": "70000", "1": "60000"}, "1000", time.Minute},
		"the least of two, first":      {map[string]string{"0": "60000", "1": "70000"}, "1000", time.Minute},
		"one does not say":             {map[string]string{"0": "", "1": "90000"}, "1000", 90 * time.Second},
		"longer than 31 bits":          {map[string]string{"0": "2147483648", "1": "90000"}, "1000", 90 * time.Second},
		"as long as is needed":         {map[string]string{"0": "900000", "1": "900001"}, "1000", 0},
		"brokers may not be asked":     {nil, "80000", 80 * time.Second},
		"nobody says":                  {map[string]string{"0": "", "1": ""}, "1000", 0},
		"another setting, which is no": {map[string]string{"0": "x", "1": "-1"}, "1000", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.NumBrokers(2))
			configured(c, func(name string) ([][2]string, error) {
				value := test.cluster
				if name != "" {
					if value = test.own[name]; test.own == nil {
						return nil, errors.New("closed")
					}
				}
				return [][2]string{{"message.max.bytes", "7"}, {"transaction.max.timeout.ms", value}}, nil
			})
			got, err := (&sink{client: newClient(t, c)}).allowed(limited(t), errors.New("refused"))
			if got != test.want || (err != nil) != (test.want == 0) {
				t.Errorf("%v, %v; want %v", got, err, test.want)
			}
		})
	}
}

// After a record was lost, the next record is refused when it is written, and not only at the end.
func TestReleaseEndsWithWhatIsLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in", "out"))
	fill(t, newClient(t, c), "in", 0, 0, 3)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	made := writeHeld(t, c)
	lost := func() bool { return made.(*sink).failure() != nil }
	eventually.True(t, "the brokers have refused a record", lost)
	for what, err := range map[string]error{"write": made.Write(limited(t), []kgo.Record{}),
		"finish": made.Finish(limited(t)), "commit": made.Commit(), "note": made.Abilities().Note(limited(t), "out", nil)} {
		if !Final(err) || !strings.HasPrefix(err.Error(), `writing to out: the user may not Write to topic "out"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
